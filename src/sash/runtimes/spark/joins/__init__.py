"""Window joins of two DataFrames, static or streaming."""
