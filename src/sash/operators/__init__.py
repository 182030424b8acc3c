"""What computes windows over columns: the layout of a batch, the windowers, the folder."""
