"""How state outlives processes: entries of the journal, snapshots, and what later versions make of them."""
