"""Compiled loops over columns of elements. Numba is imported here and nowhere else.

    compiled(monoid)              a columnar monoid as machine code              compiled.py
    slide, slide_by_time          one count window over an array                 slide.py
    <name>_insert, _evict, _query windows that live on between calls             ring.py, fiba_window.py
    range_fold                    one fold per range, all keys in one call       range_fold.py
    lookback                      ranges of 'the last W units of time'           lookback.py
    rows_by_key                   rows into CSR layout                           csr.py
    candidates, matches           pairs of rows of two streams                   pairs.py, predicates.py
    hash_longs, hash_strings, …   Spark's hash over whole columns                murmur3.py

A kernel is a template: a plain loop in the words of `vocabulary.py` (two_stacks.py, daba.py, amta.py,
fiba.py, …), whose text `specialise.py` completes for one monoid and `machine.py` runs, from a cache on disk
(`module_cache.py`) that all processes share. Import the modules you need: this package imports none of
them, so that nothing loads Numba before there is something to compile.
"""
