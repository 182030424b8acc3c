"""What a window operator keeps of every key between two batches: rings, their trees, timers, keys."""
