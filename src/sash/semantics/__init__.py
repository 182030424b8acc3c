"""What a window query means. Imports the standard library only.

asof.py            as-of joins: what they mean, and the oracle
condition.py       the condition of an aggregate
durations.py       durations: microseconds, or ticks where time is an integer
event.py           events, as the formulas see them
expression.py      a predicate over two rows as a tree, found by calling it with symbols instead of values
join.py            window joins: what they mean, and the oracle
look_back_rows.py  what `.rolling(…, emit="arrival")` and `.latest(…)` mean
monoid.py          what semantics needs of an aggregate: a monoid, seen from outside
predicate.py       calling a user's predicate, with an error that names the event
pyspark_names.py   what aggregates and windows are called in PySpark, for hints
query.py           a window query, as declared: frozen, validated, and the same for every runtime
reference.py       the oracle: what a query means, computed in the most obvious way
run_as_engine.py   the declared windows, reported as a SECRET profile prescribes
sql_words.py       SQL's words in a condition, and what is written for them here
time_format.py     times and lengths of time as an explanation writes them
watermark.py       watermarks and lateness: the definition
window.py          what every window kind is: an identifier w, an extent E(w), and a class
"""
