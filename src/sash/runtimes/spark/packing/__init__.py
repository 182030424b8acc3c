"""How rows travel between Spark's stages: which bucket a row goes to, and blocks of bytes for many rows."""
