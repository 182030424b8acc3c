"""How state outlives processes: entries of the journal, snapshots, and what later versions make of them.

changed_aggregates.py           a saved operator under another list of aggregates
journal_entries.py              the entries of a journal, and the chunks of a store that they lie in
operator_journal.py             the journal of an operator: inputs of batches, and when a snapshot is taken
recent_entries.py               the newest entries of the journal, in the arena
rows_under_other_aggregates.py  what was saved under one list of aggregates, as another has it
snapshot_contents.py            the whole state of an operator as tables, and back: what is in a snapshot
snapshot_names.py               what the words of a snapshot mean, by name
"""
