"""The monoid trees: Log MTA and Amortized MTA, over memory or a store."""
