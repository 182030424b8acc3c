"""What a pattern costs: constants of the machine, and the steps of a pattern on each runtime."""
