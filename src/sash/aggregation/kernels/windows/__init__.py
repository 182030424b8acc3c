"""Which windows there are: passes over the times or attributes of all keys."""
