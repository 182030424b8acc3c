"""Parallel patterns: ways to cut windows into work for several workers, all with the same answer."""
