"""What commands do, a module each; `run`, `check` and `explain` share one.

Their options are declared in `cli/main.py`, except those of `sash secret`, which has commands of its own.

bench.py             `sash bench`: the benchmarks of the repository, or a small comparison
bench_comparison.py  rolling features in process against every window from scratch with numpy
calibrate.py         `sash calibrate`: measure what the planner's estimates are made of
serve.py             `sash serve`: published features over HTTP, from the command line
pipelines.py         `sash run`, `sash explain` and `sash check`: a pipeline file on Spark
secret.py            `sash secret`: what engines report
size.py              `sash size`: how large a cluster a pipeline needs, with the arithmetic
state.py             `sash state`: what a checkpoint or a store holds
ui.py                `sash ui`: the live page, from the command line
why.py               `sash why`: why a window over recorded events was reported, or has not been yet
"""
