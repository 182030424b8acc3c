"""What Spark's generated code computes by itself, so that no row crosses to Python: see `pane_fold_sql`.

conditions_in_sql.py  the condition of an aggregate in SQL, where SQL and Python mean the same by it
epoch_fold.py         the rows of a micro-batch as blocks of panes that Spark's generated code has folded
first_rows.py         how many rows of a key share a pane, by the first rows of a scan
numbers_in_sql.py     columns as the numbers that elements are made of, and back, in SQL
pane_fold_sql.py      panes folded by Spark's generated code: a row of the input never reaches Python
when_spark_folds.py   whether Spark folds: where it can, and where there are fewer panes than rows
"""
