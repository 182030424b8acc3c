"""`python -m sash`."""

from sash.cli import main

main()
