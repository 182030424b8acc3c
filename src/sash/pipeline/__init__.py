"""Pipelines that are declared in a TOML file: source, stream, query, aggregates, sink.

`document.read` checks a file as far as it can be without data, `binding.bound` binds its query to the
columns of its source, `run_pipeline.run_stream` and `run_batch` run it: from its checkpoint on, or all at
once. Errors name the line of the file.

aggregates_and_patterns.py  aggregates and patterns as text, for files in which there is no Python to write
binding.py                  the queries of a pipeline, bound to the columns of their source
calls.py                    calls as text, parsed and never evaluated
contradictions.py           what does not go together in a pipeline file
csv_headers.py              whether a schema has the columns that a csv file's header names
document.py                 a TOML file as a `Pipeline`, or a `PipelineError` that names the line
formats.py                  the formats of sources and sinks, and what each cannot do without
line_errors.py              errors that name the line of the file with the mistake
line_numbers.py             which line of a TOML document each table, key and array element begins on
run_pipeline.py             its streaming queries from their checkpoint on, or its static ones at once
safety.py                   what of a pipeline file is code: `sash run --safe` refuses it
schema.py                   what a pipeline file may contain: tables and keys
sinks.py                    what a pipeline writes, as each sink can take it
sources.py                  the source of a pipeline as what `sash.stream` takes
value_readers.py            how single values of a pipeline file are read
"""

from sash.pipeline.document import read
from sash.pipeline.schema import Pipeline

__all__ = ["Pipeline", "read"]
