"""Figures of the parallel patterns: scaling by workers, chunk size, and patterns against each other.

In the spirit of the two papers of the Pisa group that the patterns and worker models come from: Mencagli,
Torquati, Lucattini, Cuomo, Aldinucci, 'Harnessing sliding-window execution semantics for parallel stream
processing' (2018), and Mencagli, Torquati, Cardaci, Fais, Rinaldi, Danelutto, 'WindFlow: High-Speed
Continuous Stream Processing with Parallel Building Blocks' (2021). The applications are in `examples/`.
"""
