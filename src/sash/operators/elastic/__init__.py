"""Elasticity: who computes which keys, and how that changes while the stream runs.

instance_of_share.py    f_μ: shares of keys → instances
instances.py            threads that run one operator over shared state
mapping_epochs.py       control tuples, the barrier, reconfigurations and what they cost
controller_samples.py   what a controller sees
controllers.py          samples → how many instances
declaration.py          `sash.Elastic`, what a user declares
"""
