"""What a pattern costs: constants of the machine, and the steps of a pattern on each runtime.

calibration.py      measure the constants of the cost model in this process
constants.py        the constants of the cost model: what one row, one combine, one job costs
in_process.py       what a pattern costs in process, step by step
seen_in_queries.py  what running queries show of the constants
spark_batch.py      what a pattern costs on Spark, over a static DataFrame, step by step
spark_estimate.py   what estimates on Spark have in common, over static DataFrames and over streams
spark_stream.py     what a pattern costs on a stream, over so many events, step by step
step.py             what a candidate does, as steps one after the other
"""
