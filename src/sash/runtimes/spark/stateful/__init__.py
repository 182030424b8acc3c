"""O+ over DataFrames: tuples with sets of keys."""
