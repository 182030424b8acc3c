"""Yahoo's streaming benchmark: how often was each advertising campaign viewed, every ten seconds?

    events → filter (views) → join (ad → campaign) → 10 s tumbling count by campaign

    python examples/ysb.py [--events 1000000] [--campaigns 100]

Events come as columns, with ads and event types in dictionaries, as Parquet stores them. So the filter
compares small integers, and the join looks up each ad once, not each event. The benchmark is from
Chintapalli et al., 'Benchmarking streaming computation engines' (2016): ten ads a campaign, a third views.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import sash

ADS_OF_A_CAMPAIGN = 10
EVENT_TYPES = ("view", "click", "purchase")
OPENING = 1_767_609_000_000_000  # 2026-01-05 10:30 UTC, in microseconds


def campaign_table(campaigns: int) -> pa.Table:
    """Which campaign each ad belongs to."""
    ads = range(campaigns * ADS_OF_A_CAMPAIGN)
    return pa.table(
        {
            "ad_id": [f"ad-{ad:05d}" for ad in ads],
            "campaign_id": [f"campaign-{ad // ADS_OF_A_CAMPAIGN:04d}" for ad in ads],
        }
    )


def event_table(events: int, campaigns: pa.Table, *, rate: int = 100_000, seed: int = 1) -> pa.Table:
    """Events at `rate` a second, each of a random ad and type."""
    random = np.random.default_rng(seed)
    ads = random.integers(0, campaigns.num_rows, events, dtype=np.int32)
    kinds = random.integers(0, len(EVENT_TYPES), events, dtype=np.int32)
    times = OPENING + np.arange(events) * (1_000_000 // rate)
    return pa.table(
        {
            "ad_id": pa.DictionaryArray.from_arrays(ads, campaigns["ad_id"].combine_chunks()),
            "event_type": pa.DictionaryArray.from_arrays(kinds, list(EVENT_TYPES)),
            "event_time": pa.array(times, pa.timestamp("us")),
        }
    )


def views(events: pa.Table, campaigns: pa.Table) -> pa.Table:
    """The views among the events, each with its campaign; ads of no campaign have none, which is null."""
    kinds, ads = (events[name].combine_chunks() for name in ("event_type", "ad_id"))
    viewed = pc.equal(kinds.indices, kinds.dictionary.index("view"))
    names = pc.dictionary_encode(campaigns["campaign_id"].combine_chunks())
    campaign_of_entry = names.indices.take(pc.index_in(ads.dictionary, campaigns["ad_id"]))
    campaign = campaign_of_entry.take(ads.indices.filter(viewed))
    return pa.table(
        {
            "campaign_id": pa.DictionaryArray.from_arrays(campaign, names.dictionary),
            "event_time": events["event_time"].filter(viewed),
        }
    )


def query(events: pa.Table, campaigns: pa.Table) -> sash.WindowQuery:
    """Views of each campaign in each ten seconds."""
    return (
        sash.stream(views(events, campaigns), time="event_time", key="campaign_id")
        .window(sash.tumbling("10 seconds"))
        .agg(views=sash.count())
    )


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Views of each campaign, every ten seconds.")
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--campaigns", type=int, default=100)
    arguments = parser.parse_args(argv)
    campaigns = campaign_table(arguments.campaigns)
    events = event_table(arguments.events, campaigns)
    begin = time.perf_counter()
    counts = query(events, campaigns).collect()
    seconds = time.perf_counter() - begin
    print(counts.slice(0, 5).to_pandas().to_string(index=False))
    print(
        f"{counts.num_rows:,} windows of {arguments.events:,} events in {seconds:.2f} s, with compilation"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
