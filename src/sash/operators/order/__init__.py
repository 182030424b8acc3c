"""One order of time for the tuples of several inputs."""
