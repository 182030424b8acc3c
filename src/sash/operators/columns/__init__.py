"""Batches as columns: the layout by key, Arrow to numpy and back, times as integers."""
