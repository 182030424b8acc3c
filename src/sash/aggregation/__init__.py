"""How fast a range is folded: monoids, algorithms, kernels, the window buffer and its stores."""
