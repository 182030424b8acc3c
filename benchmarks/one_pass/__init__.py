"""One pass over a stream: folding in Spark, further outputs, small micro-batches, and the demo.

    python -m benchmarks.one_pass [--quick] [--only folding outputs demo]

folding    windows of the clock whose panes Spark folds, against Spark's own windows; rows shuffled, counted
outputs    late rows and ten queries in one pass, against one query; micro-batches of 100 rows
demo       watermark lag of three queries at 20,000 quotes a second, with bursts
"""
