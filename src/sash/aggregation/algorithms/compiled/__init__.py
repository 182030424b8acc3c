"""The algorithms over columns of numbers, in machine code: the structures live in numpy arrays.

Importing this package loads Numba; `aggregation.algorithm_form` does so when there is something to compile.

build.py          the compiled form of each algorithm, by name
fiba.py           the finger B-tree in arrays: elements in any order of time
input_columns.py  what goes into a compiled structure: events and elements as columns of the element's types
recalculate.py    recalculate with its elements in columns
time_codecs.py    times as 64-bit integers in the same order, for trees that keep them in arrays
"""
