"""Live engines, driven through SECRET's experiments: their parameters inferred, with the evidence."""
