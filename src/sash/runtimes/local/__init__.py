"""In process: Arrow, pandas and polars. Spark's executors run the same code on each bucket."""
