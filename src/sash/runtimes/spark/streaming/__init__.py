"""Streaming DataFrames: the stages of a query, its stateful step and its start."""
