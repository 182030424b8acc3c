"""Elasticity: who computes which keys, and how that changes while the stream runs.

mapping.py       f_μ: shares of keys → instances
instances.py     threads that run one operator over shared state
epochs.py        control tuples, the barrier, reconfigurations and what they cost
metrics.py       what a controller sees
controllers.py   metrics → how many instances
declaration.py   `sash.Elastic`, what a user declares
"""
