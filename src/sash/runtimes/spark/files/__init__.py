"""Files that Python reads instead of Spark."""
