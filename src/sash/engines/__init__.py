"""Live engines, driven through SECRET's experiments: their parameters inferred, with the evidence.

crash_recovery.py    duplicates after an engine is killed in the middle of a run and started again
edge_questions.py    what SECRET leaves open, measured on a live engine with one small run each
findings.py          what a probe found out about one engine, as data
hypotheses.py        what an engine's parameters could be, and which of it survives a run
inference.py         the parameters of an engine from its answers
keyed_runs.py        random runs with keys and disorder, on a live engine and on Sash as that engine
parameter_runs.py    the experiments, in the order of the method
peers.py             engines in environments of their own, each driven over a subprocess
probe.py             probe a live engine: infer its parameters, check them, and look beyond the model
probe_run.py         one experiment: what is fed to an engine, and what it shows
random_runs.py       random runs with keys and disorder
sash_engine.py       Sash itself as an engine: the streaming window operator, in process
simulated.py         a profile as an engine: it shows what the model computes
spark_structured.py  Spark Structured Streaming's own windows: one file per micro-batch, append mode
table.py             the table of engines and their parameters
table_formats.py     the table of engines as text, Markdown or HTML; the notes follow the grids
verification.py      whether the inferred profile holds on fresh random runs
"""
