"""What commands do: `sash state` is `state.py`; `run`, `check` and `explain` share `pipelines.py`.

Their options are declared in `cli/main.py`, except those of `secret.py`, which has commands of its own.
"""
