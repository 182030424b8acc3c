"""What Spark's generated code computes by itself, so that no row crosses to Python: see `pane_fold_sql`."""
