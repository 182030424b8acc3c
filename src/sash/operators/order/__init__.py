"""One order of time for the tuples of several inputs.

interleaved.py       tuples of several inputs in one order of time, as columns
scalegate.py         ScaleGate: sorted sources become one sorted stream that any number of readers share
scalegate_log.py     the log of a ScaleGate: items in one order, which readers go through
scalegate_source.py  a source of a ScaleGate: what it has added, and what of it is ready
"""
