"""What is called otherwise elsewhere: an AttributeError that names what to write here.

The nearest name is found by `errors.did_you_mean`. Names of `sash` itself and of aggregates in pipeline
files: `semantics/pyspark_names.py`; the words of a window: `api/window_parser.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sash.errors import did_you_mean

_FRAME = ".{name}(…) of the frame, before sash.stream(…)"
_AGAIN = "its rows as another stream: sash.stream(query.dataframe(), time=…, key=…)"
SHOWN = ("show", "display", "limit", "head")
"""Names that show rows."""
_ELSEWHERE = {
    "Stream": {
        **dict.fromkeys(["agg", "apply", "fold"], ".window(…), .rolling(…) or .latest(…) first"),
        **dict.fromkeys(["groupBy", "groupby", "group_by", "keyBy"], "sash.stream(…, key=…)"),
        **dict.fromkeys(["filter", "where", "select", "withColumn", "withWatermark"], _FRAME),
        **dict.fromkeys(["tumbling", "sliding", "session"], ".window(sash.{name}(…))"),
        **dict.fromkeys(["collect", "dataframe", "start", "explain"], "a query: .window(…).agg(…)"),
    },
    "Windowed": {
        **dict.fromkeys(["collect", "dataframe", "start", "explain"], ".agg(…) first"),
        **dict.fromkeys(["count", "sum", "mean", "min", "max"], ".agg(n=sash.{name}(…))"),
    },
    "Query": {
        **dict.fromkeys(["toPandas", "to_pandas"], ".collect().to_pandas()"),
        **dict.fromkeys(["toArrow", "to_arrow"], ".collect()"),
        **dict.fromkeys(["show", "display", "limit"], ".head(), or on Spark .dataframe().show()"),
        **dict.fromkeys(["window", "rolling", "latest", "agg", "apply", "fold"], _AGAIN),
        **dict.fromkeys(["write", "writeStream"], ".dataframe().write, or .start(…) for a stream"),
        **dict.fromkeys(["select", "filter", "where", "withColumn"], ".dataframe(), which is a frame"),
    },
}  # fmt: skip


class Hinted:
    """A step of a query: a name that it does not have is an error with a hint."""

    if not TYPE_CHECKING:  # type checkers refuse such names by themselves

        def __getattr__(self, name: str) -> Any:
            kind = type(self).__name__
            message = f"{kind!r} object has no attribute {name!r}"
            if name.startswith("_"):
                raise AttributeError(message)
            hint = self._hint(kind, name)
            raise AttributeError(f"{message}. {hint}" if hint else message)

    def _hint(self, kind: str, name: str) -> str:
        known = _ELSEWHERE.get(kind, _ELSEWHERE["Query"]).get(name)
        own = [one for one in dir(type(self)) if not one.startswith("_")]
        return f"Use {known.format(name=name)}." if known else did_you_mean(name, own)
