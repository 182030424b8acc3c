"""Kernel templates that lift, fold and lower whole columns."""
