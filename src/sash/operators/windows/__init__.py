"""WHICH events: what window kinds share. The kinds themselves are in `operators/kinds`."""
