"""Figures of the parallel patterns: scaling by workers, chunk size, and patterns against each other.

In the spirit of the two papers of the Pisa group that the patterns and worker models come from: Mencagli,
Torquati, Lucattini, Cuomo, Aldinucci, 'Harnessing Sliding-Window Execution Semantics for Parallel Stream
Processing' (JPDC 2018), and Mencagli, Torquati, Griebler, Danelutto, Fernandes, 'Raising the Parallel
Abstraction Level for Streaming Analytics Applications' (IEEE Access 2019). The applications are in
`examples/`.
"""
