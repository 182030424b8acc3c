"""Kernel templates of the sliding-window aggregation algorithms."""
