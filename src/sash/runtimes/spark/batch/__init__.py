"""Static DataFrames: rows by bucket, and the whole query on each bucket.

bucket_query.py          a static query over the rows of one bucket, as Spark's Python stages hand them over
driver_memory.py         rows of a DataFrame in this process, with a warning when they become many
first_rows_of_answer.py  the first rows of an answer and how many it has
static_source.py         a PySpark DataFrame as input, and a DataFrame as answer
"""
