"""Pipelines that are declared in a TOML file: source, stream, query, aggregates, sink.

read(path)              the file, checked as far as it can be without data; errors name the line
bound(pipeline, …)      its query, bound to the columns of its source; nothing runs
started(…), finished(…) its streaming queries, from the checkpoint on
"""

from sash.pipeline.reading import read
from sash.pipeline.schema import Pipeline

__all__ = ["Pipeline", "read"]
