"""Parallel patterns: ways to cut windows into work for several workers, all with the same answer.

agnostic.py             agnostic workers: one owner triggers windows, whoever is free computes them
allowed.py              which pattern may compute which query
cores.py                how many workers can be at work on this machine at the same time
declared.py             the patterns as users declare them; every place that a new one needs
element_bytes.py        elements on their way between processes: what is not numbers travels as bytes
evaluate.py             a pattern as an evaluator: shares of windows, run, and their values in order
folding.py              all aggregates of a query at once: lift, fold and lower
key_farm.py             key farm: each worker owns a share of the keys, and all their windows
owner.py                the owner of a window buffer: which windows are complete, and who has which
pane_farm.py            pane farm: a pane is folded once, and a window is folded from its panes
process_workers.py      windows computed by other processes, which read the rows from shared memory
shared_panes.py         a window farm of pane farms in one process: panes are shared by all its replicas
stages.py               the stages of a pattern, before and after fusion: what `explain()` shows
thread_pool.py          a pool of threads, and patterns that run on it in stages
two_step_handover.py    what the first step of a pattern hands to the second
who_finds_windows.py    who finds the windows of an event on Spark, where workers share those of a key
win_farm.py             window farm, active workers: windows are dealt out round-robin
win_mapreduce.py        window map-reduce: one window is computed by several workers at once
window_share.py         a share of the work: windows of one worker, and the events that they hold
worker_pool.py          where windows are computed: by threads, or by other processes
worker_process_main.py  what a worker process does
written_pattern.py      a pattern from the text that `str` makes of it, as checkpoints keep it
"""
