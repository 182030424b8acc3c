"""Window joins of two DataFrames, static or streaming.

dataframe_join.py  joins of two DataFrames of Spark: static ones, or streams
enrichment.py      a DataFrame, static or streaming, with the columns of a static one
join_routes.py     which buckets the rows of a join go to, so that every pair meets in exactly one
static_join.py     a join of two static DataFrames
streaming_join.py  a join of two streaming DataFrames
"""
