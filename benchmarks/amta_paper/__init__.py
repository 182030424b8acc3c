"""The five experiments of the AMTA paper, in kernels and as the paper has them, with a figure each.

    python -m benchmarks.amta_paper [--quick] [--only N] [--to DIRECTORY]

    1  latency         time and combines of one event, by window size
    2  bulk_eviction   evicting k of 2²³ elements at once
    3  six_monoids     six aggregates, and slide policies beyond count and time (of max and of LIS)
    4  memory          what stays in memory when the window is in a key-value store
    5  dimensions      elements of 1 to 64 fields
    6  decoupled       1, 2 and 5 over LMDB and Redis, with the paper's monoid and policy
    7  analytics       3 as the paper has it: six aggregates with its policies, timed

Villalba, Berral, Carrera: 'Constant-Time Sliding Window Framework with Reduced Memory Footprint and
Efficient Bulk Evictions' (IEEE TPDS, 2019). What is *timed* runs in compiled kernels; what is *counted*
(combines, node reads) is counted in the interpreted classes, for counts do not depend on the machine.
"""
