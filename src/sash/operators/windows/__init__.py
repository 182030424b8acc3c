"""WHICH events: from a layout to ranges, one class per window kind."""
