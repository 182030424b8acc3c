"""How fast a range is folded: monoids, algorithms, kernels and stores.

aggregator.py      a sliding-window aggregator as users see it
algorithm_form.py  which form of an algorithm a window runs: the one place where that is decided
define.py          a user's monoid: a plain class whose functions have no `self`
elements.py        elements of a window, and the one that is not there
encoding.py        Python values ⇄ bytes, for elements that are not plain numbers
interpreted.py     kernel templates over objects: the monoid's own Python functions
monoid.py          the algebra of an aggregate: lift → combine → lower, and its properties
result_types.py    the result type of a user's monoid, from one sample event
sliding.py         a count window over whole columns: the value after every event, in one call
sql_form.py        an aggregate in SQL: how Spark's generated code folds rows into an element, and lowers it
"""
