"""Does a micro-batch cost the same, however much is held and however many keys are idle?

    python -m benchmarks.flat [--quick] [--json PATH] [--only operator idle spark counts] [--kinds …]

    operator   1,000 events per batch over 1,000 keys: 10⁷ events held against 10⁴, every window kind
    idle       the same beside 10⁶ keys that hold something and get nothing, against 10³
    spark      the same on Spark, through the public API: 4·10⁶ held against 10⁴, and the first batch itself
    counts     what is read, written and combined: counted, not timed

A batch is timed in a process that has never served the bucket before: another one has filled the arena and
is gone.
"""
