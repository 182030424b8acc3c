"""Windows on Spark, batch and streaming, against Spark's own.

    python -m benchmarks.spark [--quick] [--json PATH] [--rounds 2] [--only NAME …]

Each table is one comparison inside one run. Where Spark's own way is too slow for the whole input it gets a
part of it, and times are compared by the row; the table has a note.
"""
