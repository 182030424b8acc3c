"""What is kept of each key of a bucket, in tables of an arena: rings of elements, folds, objects."""
