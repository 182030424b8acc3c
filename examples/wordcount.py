"""Wordcount and paircount: how many tweets of the last hour hold a word, or two words near each other?

    tweet ─▶ a *set* of keys: its words, or its pairs of near words
    one window for each key, 60 minutes, every 30

    python examples/wordcount.py [--events 2000] [--distance 3]

A tuple with several keys is what an ordinary `groupBy` cannot say without copying it for each. O+, the
generalised stateful operator of the STRETCH paper (Gulisano et al., IEEE TPDS 2022), can: a tweet
reaches each instance once, whatever the number of its keys there. The queries are the paper's; words
are drawn here, as often as natural language has them: the n-th most frequent one with a frequency of
1/n.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from itertools import combinations, pairwise

import numpy as np
import pyarrow as pa

import sash
from sash.operators import Aggregate, ByRow, Input
from sash.semantics.event import Row

TWEETS = Input(pa.schema([("time", pa.timestamp("us")), ("words", pa.list_(pa.string()))]), time="time")
OPENING = 1_767_609_000_000_000  # 2026-01-05 10:30 UTC, in microseconds
VOCABULARY = ("the", "to", "and", "of", "a", "in", "is", "it", "you", "that", "for", "on", "with", "not")


def tweet_table(events: int, *, hours: int = 3, seed: int = 6) -> pa.Table:
    """Tweets of 3 to 9 words, evenly over some hours."""
    random = np.random.default_rng(seed)
    odds = 1 / np.arange(1, len(VOCABULARY) + 1)
    ends = np.concatenate(([0], np.cumsum(random.integers(3, 10, events))))
    words = np.array(VOCABULARY)[random.choice(len(VOCABULARY), ends[-1], p=odds / odds.sum())]
    times = OPENING + np.arange(events) * (hours * 3_600_000_000 // max(events, 1))
    tweets = [words[lo:hi].tolist() for lo, hi in pairwise(ends)]
    return pa.table({"time": times, "words": tweets}, schema=TWEETS.schema)


def wordcount() -> Aggregate:
    """Tweets that hold a word. The elements of a list column are keys, each once."""
    return Aggregate(
        advance="30 minutes", size="60 minutes", inputs=TWEETS, keys="words", key="word", n=sash.count()
    )


def paircount(distance: int) -> Aggregate:
    """Tweets that hold two different words at most `distance` apart: f_MK is a plain function of a row."""

    def near(tweet: Row) -> list[str]:
        once = list(dict.fromkeys(tweet.words))
        near = combinations(range(len(once)), 2)
        return [" ".join(sorted((once[i], once[j]))) for i, j in near if j - i <= distance]

    return Aggregate(
        advance="30 minutes", size="60 minutes", inputs=TWEETS,
        keys=ByRow(near, keys=pa.string()), key="pair", n=sash.count(),
    )  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Words and pairs of words in the tweets of an hour.")
    parser.add_argument("--events", type=int, default=2_000)
    parser.add_argument("--distance", type=int, default=3, help="of two words that make a pair")
    arguments = parser.parse_args(argv)
    tweets = tweet_table(arguments.events)
    for operator in (wordcount(), paircount(arguments.distance)):
        begin = time.perf_counter()
        counts = sash.operate(operator, tweets).collect()
        seconds = time.perf_counter() - begin
        print(f"\n{operator.key}s: {counts.num_rows:,} windows with a {operator.key} in {seconds:.2f} s")
        top = counts.sort_by([("time", "ascending"), ("n", "descending")])
        print(top.slice(0, 4).to_pandas().to_string(index=False))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
