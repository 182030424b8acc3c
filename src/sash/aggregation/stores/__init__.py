"""Key-value stores that move from epoch to epoch as a whole: memory, files, LMDB, Redis."""
