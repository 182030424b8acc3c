"""The planner: which pattern and which algorithm compute a query, what each would cost, and why.

    facts        what is known: the query, its algebra, the events, the machine      facts.py, sampling.py
    candidates   the patterns that could compute it, the simplest first              candidates.py
    costs        seconds of each, from constants that a calibration measures         process.py, spark.py
    plan         the cheapest; the simplest of those that are as good                plan.py
    explanation  all of it, as data and as text                              explanation.py, rendering.py

The WindFlow paper (Mencagli et al., IEEE Access 2019) leaves the choice to a programmer who tries several
patterns. Here it is a function: equal facts and equal constants give an equal plan. Nothing here computes a
window.
"""
