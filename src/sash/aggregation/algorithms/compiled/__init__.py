"""The algorithms over columns of numbers, in machine code: the structures live in numpy arrays.

Importing this package loads Numba; `aggregation.algorithm_form` does so when there is something to compile.
"""
