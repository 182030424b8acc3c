"""Algorithmic trading: what do the last quotes of each symbol say, and where is its price going?

    quotes ─┬→ last 1,000 quotes, every 25   indicators: mean, volatility, trend        folded
            ├→ each second                   candlestick: open, high, low, close        folded
            └→ last 1,000 quotes, every 100  p(t) = a + b·t + c·t², fitted to them      whole windows

    python examples/algo_trader.py [--events 20000] [--symbols 4] [--workers 2]

The fit is by Levenberg and Marquardt's method (SciPy) and cannot be folded: each window is computed alone,
by worker processes, also where all windows are of one symbol. The application is that of Mencagli et al.,
'Harnessing Sliding-Window Execution Semantics for Parallel Stream Processing' (JPDC 2018). Quotes are
generated.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

import sash

OPENING = 1_767_609_000_000_000  # 2026-01-05 10:30 UTC, in microseconds


def quote_table(events: int, symbols: int, *, rate: int = 2_000, seed: int = 3) -> pa.Table:
    """Quotes at `rate` a second; the price of a symbol is a random walk of its own."""
    random = np.random.default_rng(seed)
    symbol = random.integers(0, symbols, events)
    price = np.empty(events)
    for each in range(symbols):
        mine = symbol == each
        price[mine] = 100.0 + 10.0 * each + np.cumsum(random.normal(0.0, 0.02, int(mine.sum())))
    seconds = np.arange(events) / rate
    return pa.table(
        {
            "time": pa.array(OPENING + (1e6 * seconds).astype(np.int64), pa.timestamp("us")),
            "symbol": np.array([f"SYM{each}" for each in range(symbols)])[symbol],
            "second": seconds,
            "price": price,
            "size": random.integers(1, 500, events),
        }
    )


def indicators(quotes: pa.Table) -> sash.WindowQuery:
    """Of the last 1,000 quotes of a symbol, every 25."""
    return (
        sash.stream(quotes, time="time", key="symbol")
        .window(sash.rows(1_000, every=25))
        .agg(
            mean=sash.mean("price"),
            volatility=sash.stddev("price"),
            trend=sash.linear_regression("price", "second"),
            volume=sash.sum("size"),
        )
    )


def candlesticks(quotes: pa.Table) -> sash.WindowQuery:
    """Of each second of a symbol."""
    return (
        sash.stream(quotes, time="time", key="symbol")
        .window(sash.tumbling("1 second"))
        .agg(
            open=sash.first("price"),
            high=sash.max("price"),
            low=sash.min("price"),
            close=sash.last("price"),
        )
    )


def fits(quotes: pa.Table, *, every: int = 100) -> sash.WindowQuery:
    """A parabola through the last 1,000 quotes of a symbol, and the price it leads to a second later."""
    windows = sash.stream(quotes, time="time", key="symbol").window(sash.rows(1_000, every=every))
    return windows.apply(fitted, schema="level double, slope double, bend double, forecast double")


def fitted(quotes: pa.Table) -> dict[str, Any]:
    """a + b·t + c·t² by Levenberg and Marquardt, with t in seconds before the last quote."""
    from scipy.optimize import least_squares

    second, price = quotes["second"].to_numpy(), quotes["price"].to_numpy()
    t = second - second[-1]

    def residuals(p: np.ndarray) -> np.ndarray:
        return p[0] + p[1] * t + p[2] * t * t - price

    if len(t) < 3:  # fewer points than parameters determine nothing
        return {"level": float(price[-1]), "slope": 0.0, "bend": 0.0, "forecast": float(price[-1])}
    a, b, c = least_squares(residuals, [price[-1], 0.0, 0.0], method="lm").x
    return {"level": float(a), "slope": float(b), "bend": float(c), "forecast": float(a + b + c)}


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Indicators, candlesticks and fitted curves of quotes.")
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--symbols", type=int, default=4)
    parser.add_argument("--workers", type=int, default=2, help="processes that fit curves")
    arguments = parser.parse_args(argv)
    quotes = quote_table(arguments.events, arguments.symbols)
    farm = sash.WinFarm(arguments.workers, model="agnostic")
    for title, query in (
        ("indicators of the last 1,000 quotes", indicators(quotes)),
        ("candlesticks of a second", candlesticks(quotes)),
        (f"curves fitted to the last 1,000 quotes, by {farm}", fits(quotes).parallel(farm)),
    ):
        begin = time.perf_counter()
        answer = query.collect()
        print(f"\n{title}: {answer.num_rows:,} windows in {time.perf_counter() - begin:.2f} s")
        print(answer.slice(0, 3).drop_columns(["window"]).to_pandas().to_string(index=False))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
