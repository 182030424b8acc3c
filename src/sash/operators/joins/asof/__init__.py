"""As-of joins: each row of the left with the nearest row of the right."""
