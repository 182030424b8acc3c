"""The command line: commands with their options, which `cli/commands/` and `cli/doctor/` execute.

How errors are shown: `one_sentence_errors.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from sash._version import __version__
from sash.cli.commands import secret
from sash.cli.one_sentence_errors import OneSentenceErrors, debugging
from sash.errors import ArgumentError

# The backslash keeps Rich from reading the name of the table as markup.
SAFE = r"Refuse anything that can run code: \[spark], select, options not on the allow-list."


class _CleanOfNothing(TyperCommand):
    """`--clean` without a value means this machine."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        for at, arg in enumerate(args):
            if arg == "--clean" and (at + 1 == len(args) or args[at + 1].startswith("-")):
                args = [*args[: at + 1], "machine", *args[at + 1 :]]
                break
        return super().parse_args(ctx, args)


app = typer.Typer(
    name="sash",
    cls=OneSentenceErrors,
    help="Sliding-window analytics on PySpark: every kind of window, features for every event.",
    no_args_is_help=True,
    add_completion=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"sash {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
) -> None:
    """Sliding-window analytics on PySpark: every kind of window, features for every event."""


@app.command()
def demo(
    ctx: typer.Context,
    seconds: Annotated[float, typer.Option(min=1, help="How long quotes arrive.")] = 30,
    symbols: Annotated[int, typer.Option(help="How many symbols are quoted.")] = 400,
    rate: Annotated[float, typer.Option(help="Quotes per second, when there is no burst.")] = 10_000,
    out: Annotated[
        Path | None, typer.Option("--out", help="The folder to write to (default: a new temporary folder).")
    ] = None,
    page: Annotated[bool, typer.Option("--page/--no-page", help="Serve the live page.")] = True,
) -> None:
    """Stream a made-up market through three window queries on Spark in local mode, with live numbers."""
    from sash.cli.demo import run

    run(seconds=seconds, symbols=symbols, rate=rate, out=out, page=page, debug=debugging(ctx))


@app.command()
def run(
    ctx: typer.Context,
    pipeline: Annotated[Path, typer.Argument(help="A TOML file.")],
    safe: Annotated[bool, typer.Option("--safe", help=SAFE)] = False,
) -> None:
    """Run a pipeline file on Spark, resuming from its checkpoint.

    The exit code is 130 if a pipeline with an end is stopped before it.
    """
    from sash.cli.commands import pipelines

    raise typer.Exit(pipelines.run(pipeline, safe=safe, debug=debugging(ctx)))


@app.command()
def explain(
    ctx: typer.Context,
    pipeline: Annotated[Path, typer.Argument(help="A TOML file.")],
    plan: Annotated[bool, typer.Option("--plan", help="Print stages, plans and their costs.")] = False,
    safe: Annotated[bool, typer.Option("--safe", help=SAFE)] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Explain what a pipeline's query means, what it costs and what state it keeps."""
    from sash.cli.commands import pipelines

    pipelines.explain(pipeline, plan=plan, safe=safe, as_json=as_json, debug=debugging(ctx))


@app.command()
def check(
    ctx: typer.Context,
    pipeline: Annotated[Path, typer.Argument(help="A TOML file.")],
    safe: Annotated[bool, typer.Option("--safe", help=SAFE)] = False,
) -> None:
    """Check a pipeline file, its columns and its connectors, without running it."""
    from sash.cli.commands import pipelines

    pipelines.check(pipeline, safe=safe, debug=debugging(ctx))


@app.command()
def size(
    ctx: typer.Context,
    pipeline: Annotated[Path, typer.Argument(help="A TOML file.")],
    rate: Annotated[float, typer.Option("--rate", help="Events per second, such as 1e6.")],
    keys: Annotated[float, typer.Option("--keys", help="Number of distinct keys, such as 1e8.")],
    every: Annotated[
        float | None,
        typer.Option(
            "--every", help="Seconds between micro-batches (default: the trigger's interval, or 10)."
        ),
    ] = None,
    partitions: Annotated[
        int | None,
        typer.Option(
            "--partitions", min=1, help="spark.sql.shuffle.partitions (default: the number of cores)."
        ),
    ] = None,
    safe: Annotated[bool, typer.Option("--safe", help=SAFE)] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Estimate the cluster that a pipeline needs: cores, memory, disks and network, with the arithmetic."""
    from sash.cli.commands.size import run

    run(
        pipeline, rate=rate, keys=keys, every=every, partitions=partitions, safe=safe, as_json=as_json,
        debug=debugging(ctx),
    )  # fmt: skip


@app.command()
def bench(
    names: Annotated[list[str] | None, typer.Argument(help="Which benchmarks (default: all).")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes: seconds, not minutes.")] = False,
    listed: Annotated[bool, typer.Option("--list", help="List them without running them.")] = False,
    built_in: Annotated[
        bool, typer.Option("--built-in", help="The small comparison that needs no repository.")
    ] = False,
) -> None:
    """Run the repository's benchmarks, or a small comparison if only the package is installed."""
    from sash.cli.commands.bench import run

    raise typer.Exit(run(names or [], quick=quick, listed=listed, built_in=built_in))


@app.command()
def why(
    file: Annotated[
        Path, typer.Argument(help="Recorded events: Parquet, CSV or JSON, in order of arrival.")
    ],
    time: Annotated[str, typer.Option("--time", help="The column with the event time.")],
    at: Annotated[str, typer.Option("--at", help="The time of the event: '2026-01-05 10:05:00', or 42.")],
    window: Annotated[
        list[str], typer.Option("--window", help="In words: 'sliding 1 hour every 1 second'. Repeatable.")
    ],
    key: Annotated[
        list[str] | None, typer.Option("--key", help="The key of the event: 'symbol=ACME'. Repeatable.")
    ] = None,
    delay: Annotated[
        str, typer.Option("--delay", help="How far an event may lag behind the newest and be on time.")
    ] = "0",
    allowed_lateness: Annotated[
        str, typer.Option("--allowed-lateness", help="How much later it may arrive and correct a result.")
    ] = "0",
    as_of: Annotated[int | None, typer.Option("--as-of", help="Replay only the first N events.")] = None,
    at_once: Annotated[
        bool,
        typer.Option("--at-once", help="The file is a bounded input, as for collect(), not a stream."),
    ] = False,
    engine: Annotated[
        list[str] | None,
        typer.Option("--engine", help="An engine to compare with, or 'all' (default: none). Repeatable."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Explain why the windows that hold an event were emitted, or what they are waiting for."""
    from sash.cli.commands.why import run

    run(
        file,
        time=time,
        at=at,
        windows=window,
        keys=key or [],
        delay=delay,
        allowed_lateness=allowed_lateness,
        as_of=as_of,
        at_once=at_once,
        engines=engine or [],
        as_json=as_json,
    )


@app.command()
def calibrate(
    ctx: typer.Context,
    spark: Annotated[
        bool, typer.Option("--spark", help="Measure Spark instead of this process: about half a minute.")
    ] = False,
    master: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="With --spark: a cluster, such as spark://host:7077 (default: local)."
        ),
    ] = None,
    folder: Annotated[
        str | None,
        typer.Option(metavar="URL", help="With --master: a folder that all executors can write and read."),
    ] = None,
) -> None:
    """Measure this machine, once, to improve the planner's estimates. Optional."""
    from sash.cli.commands.calibrate import run, run_on_spark

    if spark:
        run_on_spark(master, folder=folder, debug=debugging(ctx))
        return
    for option, given in (("master", master), ("folder", folder)):
        if given is not None:
            raise ArgumentError(f"--{option}", given, "given with --spark")
    run()


@app.command()
def ui(
    host: Annotated[
        str, typer.Option("--host", help="The address to listen on; any but loopback needs a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="0 picks a free port.")] = 7274,
    watch: Annotated[
        Path | None,
        typer.Option("--watch", help="A folder to which running queries write their progress."),
    ] = None,
    browser: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
) -> None:
    """Serve the live page of running queries and the window lab; by default only to this machine."""
    from sash.cli.commands.ui import run

    run(host=host, port=port, watch=watch, open_browser=browser)


@app.command()
def serve(
    store: Annotated[
        str,
        typer.Argument(help="What q.start(…, online=…) publishes to: redis://host:port/db, or a folder."),
    ],
    query: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:NAME",
            help="The query, or a function that returns it, for aggregates of your own. Imports MODULE.",
        ),
    ] = None,
    host: Annotated[
        str, typer.Option("--host", help="The address to listen on; any but loopback needs a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="0 picks a free port.")] = 7275,
) -> None:
    """Serve published features as JSON: GET /features?key=…&at=…, or POST many keys."""
    from sash.cli.commands.serve import run

    run(store, query=query, host=host, port=port)


@app.command(cls=_CleanOfNothing)
def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    clean: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="List what deleted checkpoints have left on a Redis server (URL): state and features; "
            "without a URL, what killed processes have left on this machine.",
        ),
    ] = None,
    delete: Annotated[bool, typer.Option(help="With --clean: delete the leftovers.")] = False,
    idle: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            min=0,
            show_default=False,
            help="With --clean URL: for how long nobody has used what is left over; an hour if left out.",
        ),
    ] = None,
    master: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Also check a Spark cluster, such as spark://host:7077."),
    ] = None,
    warm: Annotated[
        bool,
        typer.Option("--warm", help="Compile kernels now, so that first queries start faster: a minute."),
    ] = False,
) -> None:
    """Check what Sash needs, and print the command that installs what is missing.

    The exit code is 0 if everything that is needed is there, and 1 otherwise.
    """
    from sash.cli.doctor import run
    from sash.cli.doctor.leftovers import clean as cleaned

    if warm:
        from sash.cli.doctor.warm_kernels import warm as warmed

        warmed()
        return
    if clean is not None:
        cleaned(clean, delete=delete, as_json=as_json, idle=idle)
        return
    if not run(as_json=as_json, master=master):
        raise typer.Exit(1)


@app.command()
def state(
    ctx: typer.Context,
    place: Annotated[
        str,
        typer.Argument(
            metavar="PLACE",
            help="A checkpoint of a streaming query, a store of files or LMDB, published features, or "
            "redis://host:port/db. Files may be on s3a://, hdfs:// and so on where pyarrow opens them; "
            "else copy the folder to this machine.",
        ),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    verify: Annotated[
        bool,
        typer.Option(
            "--verify",
            help="Print only what was checked and problems, also what keeps a query from going on; "
            "exit code 1 if any.",
        ),
    ] = False,
) -> None:
    """Show what a checkpoint or a store contains, without running the query; reads and checks all of it."""
    from sash.cli.commands.state import run

    raise typer.Exit(run(place, as_json=as_json, verify=verify, debug=debugging(ctx)))


app.add_typer(secret.app)


def main() -> None:
    """The entry point of `sash` and of `python -m sash`."""
    app()
