"""How fast a range is folded: monoids, algorithms, kernels and stores."""
