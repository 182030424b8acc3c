"""Rows by key, by cell and by share, and the hash of a key."""
