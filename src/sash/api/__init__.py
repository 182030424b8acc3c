"""What users call.

enrichment.py         a stream with the columns of a static table: `sash.stream(…).join(table, on=…)`
explain_window.py     `q.explain_window(key=…, at=…)`: recorded events in, a `Why` out
handle.py             what every query can do, whatever it computes
head_rows.py          the first rows of an answer, readable in terminals and notebooks
hints_for_methods.py  what is called otherwise elsewhere: an AttributeError that names what to write here
join_query.py         pairs of events of two streams: `sash.stream(…).join(…)` and `.join_asof(…)`
join_text.py          joins in words, for `explain`, reprs and notebooks
operator_query.py     a stateful operator (O+) over its inputs: `sash.operate(operator, *data)`
runtime_of_input.py   the type of the input picks the runtime
stream.py             `sash.stream(…).window(…).agg(…)`: a query, step by step
together.py           `sash.together(name=query, …)`: several queries over one stream, which is read once
window_parser.py      windows in words, for command lines and configuration files
window_query.py       windows and aggregates over an input: `.window(…).agg(…)`, `.rolling(…).agg(…)`
windowed.py           a stream cut into windows, waiting for `.agg(…)`, `.apply(…)` or `.fold(…)`
"""
