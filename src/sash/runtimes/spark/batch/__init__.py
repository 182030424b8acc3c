"""Static DataFrames: rows by bucket, and the whole query on each bucket."""
