"""Operators in Spark's state store, the arenas beside it, and the query that a checkpoint belongs to."""
