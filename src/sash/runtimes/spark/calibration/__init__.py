"""The constants of the cost model on Spark, measured by small jobs: `sash calibrate --spark`.

generated_input.py  the input of a calibration: events as parquet files
measured_costs.py   all constants of Spark on the machine or the cluster of a session: about half a minute
micro_batches.py    what a micro-batch costs, however little it brings: streams of a few rows each
static_jobs.py      what a row, a stage and a task cost on Spark
"""
