"""Windows that are kept in the same way, each group over its lane: which are due, and their values."""
