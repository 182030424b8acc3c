"""Compiled loops over columns of elements. Numba is imported here and nowhere else.

    compiler/       from a template and a monoid to machine code: `compiled(monoid)`
    aggregators/    the sliding-window algorithms: <name>_insert, _evict, _query; `slide_by_any_algorithm`
    folds/          lift, fold by range, group or pane, lower
    windows/        which windows there are: clock, cuts, deltas
    state/          what is kept of every key: rings, their trees, timers, the index of keys
    rows/           keys as numbers, rows by key, by cell, by share; Spark's hash over whole columns
    joins/          pairs of rows of two streams

A kernel is a template: a plain loop in the words of `compiler/template_words.py`, whose text
`compiler/specialise.py` completes for one monoid and `compiler/numba_compilation.py` runs, from a cache on
disk (`compiler/module_cache.py`) that all processes share. Import the modules you need: this package
imports none of them, so that nothing loads Numba before there is something to compile.
"""
