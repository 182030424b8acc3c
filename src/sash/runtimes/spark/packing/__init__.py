"""How rows travel between Spark's stages: which bucket a row goes to, and blocks of bytes for many rows.

answers.py              how an answer leaves the stateful step: as it is, or in blocks
balanced_bucket_ids.py  bucket numbers that Spark spreads evenly
blocks.py               rows on their way through Spark: one binary block for a bucket
bucket_of_key_arrow.py  which bucket the key of a row belongs to, on Arrow columns
bucket_of_key_sql.py    the same in SQL
columns.py              columns of a DataFrame as Spark's Python stages want them: by position
hashed_packer.py        rows that a Python stage has at hand, packed in that very stage
outputs.py              the tables that one pass over a stream produces: reports, and late rows
pane_blocks.py          panes on their way through Spark, in blocks beside those of rows
row_packing.py          from the rows of a micro-batch to the step: through a shuffle, or in one task
time_of_batch.py        how far time has come in a micro-batch, known to every task behind a shuffle
"""
