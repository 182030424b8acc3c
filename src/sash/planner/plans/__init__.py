"""The candidates for a query, and the plan: the cheapest of them.

candidates.py         the patterns that could compute a query, the simplest first
cheapest_pattern.py   the plan: the cheapest candidate, or the simplest of those that are as good
choice_reason.py      why a pattern wins, in one sentence
degrees.py            with how many workers a pattern is tried
function_trial.py     functions over whole windows: what they cost is known once they have run for a moment
interpreted_trial.py  aggregates that Python computes: what a call costs is known once some of them have run
"""
