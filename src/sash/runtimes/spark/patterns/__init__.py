"""Patterns on Spark: a worker is a partition, and what it computes is sent to it."""
