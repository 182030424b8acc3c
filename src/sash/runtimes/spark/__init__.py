"""On Spark: the same windower and folder, run by Python workers on buckets of keys."""
