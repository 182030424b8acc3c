"""HOW FAST: from ranges to values, events or panes."""
