"""Figures of the parallel patterns, and those of the two papers that they come from.

    1–3  workers, chunk_size, by_pattern                 patterns against each other, on sizes of our own
    4–6  time_windows, buffer_chunks, slide_by_tuple     the JPDC paper, figures 11 to 16
    7–8  windflow_skyline, windflow_ysb                  the WindFlow paper, figures 15 to 22

Mencagli, Torquati, Lucattini, Cuomo, Aldinucci, 'Harnessing Sliding-Window Execution Semantics for Parallel
Stream Processing' (JPDC 2018), and Mencagli, Torquati, Griebler, Danelutto, Fernandes, 'Raising the
Parallel Abstraction Level for Streaming Analytics Applications' (IEEE Access 2019). The applications are in
`examples/`.
"""
