"""Files that Python reads instead of Spark.

declared_files.py  files of which only the columns are known: to check and explain a pipeline without Spark
open_files.py      files as Spark names them, opened without Spark
parquet_files.py   parquet files as record batches of a schema that all of them must have
parquet_stream.py  a folder of parquet files as a stream, read by Python instead of by Spark
same_place.py      whether Python finds a folder where Spark does
"""
