"""Pipelines that are declared in a TOML file: source, stream, query, aggregates, sink.

`document.read` checks a file as far as it can be without data, `binding.bound` binds its query to the
columns of its source, `run_pipeline.run_stream` and `run_batch` run it: from its checkpoint on, or all at
once. Errors name the line of the file.
"""

from sash.pipeline.document import read
from sash.pipeline.schema import Pipeline

__all__ = ["Pipeline", "read"]
