"""What commands do: `sash state` is `state.py`; `run`, `check` and `explain` share `pipelines.py`."""
