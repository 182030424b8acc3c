"""What `explain()` returns: an explanation as data, as text and as HTML for notebooks."""
