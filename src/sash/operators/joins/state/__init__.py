"""What a join holds between batches: rows of both sides, their keys, and which are unmatched."""
