"""`sash demo`: a market that is made up, and three streaming queries over it on Spark in local mode.

board.py       the latest numbers of the demo's queries, in a terminal
market.py      a market that is made up: quotes of several hundred symbols as a feed would bring them
queries.py     the three queries of the demo, which run together, and two of them as a pipeline file
quote_feed.py  a thread that writes the quotes to a folder, a parquet file every half second
run_demo.py    the course of the demo: start Spark, let the market run, show how the queries keep up, sum up
summary.py     what the demo leaves behind, and what to try next
"""

from sash.cli.demo.run_demo import run

__all__ = ["run"]
