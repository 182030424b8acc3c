"""Pairs of rows of two streams: candidates, matches and their order."""
