"""What `explain()` returns: an explanation as data, as text and as HTML for notebooks.

advice.py            what the user could change to make a query cheaper
algorithm.py         which algorithm folds the windows of a plan, and where panes are folded
explanation.py       what `explain()` knows, as data
explanation_text.py  an explanation as text, for people: in a few lines, or with the whole plan
notebook.py          an explanation for notebooks
report_rule_text.py  when windows are reported, in one sentence
state_size.py        what is held between two batches, for each key, and how it grows
"""
