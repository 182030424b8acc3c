"""The planner: which pattern and which algorithm compute a query, what each would cost, and why.

    facts.py, sampling.py   what is known: the query, its algebra, the events, the machine
    auto_declaration.py     `.parallel("auto")`: the user's own facts
    costs/                  seconds of a pattern, from constants that a calibration measures
    plans/                  the patterns that could compute it; the cheapest, and why it is
    explain/                all of it, as data, as text and for notebooks

The WindFlow paper (Mencagli et al., IEEE Access 2019) leaves the choice to a programmer who tries several
patterns. Here it is a function: equal facts and equal constants give an equal plan. Nothing here computes a
window.
"""
