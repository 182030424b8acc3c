"""One module for each command: `sash state` is `state.py`."""
