"""`sash demo`: a market that is made up, and three streaming queries over it on Spark in local mode."""

from sash.cli.demo.run_demo import run

__all__ = ["run"]
