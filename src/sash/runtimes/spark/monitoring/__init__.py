"""How far jobs and streaming queries have come."""
