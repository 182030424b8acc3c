"""Where a query runs: in process over Arrow, or on Spark. The type of the input decides."""
