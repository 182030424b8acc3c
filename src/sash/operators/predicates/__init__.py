"""Conditions of users as columns: over one row, and over the aggregates of a slide policy."""
