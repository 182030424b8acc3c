"""The constants of the cost model on Spark, measured by small jobs: `sash calibrate --spark`."""
