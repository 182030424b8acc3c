"""A pipeline file is understood as a whole, or refused with the line that is to blame."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest

import sash
from sash.errors import PipelineError, PipelineErrors
from sash.pipeline import read
from sash.runtimes.trigger import Trigger
from sash.semantics.query import Emit, When
from tests.pipeline.pipeline_files import PIPELINE, SEVERAL, refused, run_command, written


def test_words_are_understood_when_they_are_read(tmp_path: Path) -> None:
    pipeline = read(written(tmp_path, ('time = "ts"', 'time = "ts"\nallowed_lateness = "1 minute"')))
    (declared,) = pipeline.queries
    assert declared.stream.key == ("who",)
    assert declared.stream.allowed_lateness == "1 minute"
    assert [window.label for window in declared.query.windows] == ["ten", "three"]
    assert declared.query.windows[0] == sash.tumbling("10 seconds").named("ten")
    assert declared.aggregates["total"].columns == ("x",)
    assert not pipeline.together
    assert pipeline.run.trigger == Trigger("available now")
    assert pipeline.name == "pipeline"
    assert pipeline.located("events") == str(tmp_path / "events")
    assert pipeline.located("s3a://bucket/events") == "s3a://bucket/events"


def test_every_key_can_be_said(tmp_path: Path) -> None:
    file = tmp_path / "every key.toml"
    file.write_text("""
        source = { format = "csv", path = "/in", schema = "a bigint", select = ["a"], options.sep = ";" }
        stream = { time = "a", key = ["b", "c"], delay = 5, allowed_lateness = 2, order = "event-time" }
        sink = { format = "kafka", options = { kafka.bootstrap.servers = "host:9092", topic = "out" } }
        late = { format = "delta", table = "late" }
        run = { name = "it", mode = "stream", trigger = "processing_time 2 seconds", checkpoint = "there" }
        spark = { "spark.sql.shuffle.partitions" = 8, spark.ui.enabled = true }
        [query]
        windows = "sliding 10 every 5"
        emit = "every 5"
        empty = true
        flat = true
        semantics = "flink"
        parallel = "WinFarm(2)"
        [aggregates]
        n = "count()"
    """)
    pipeline = read(file)
    assert pipeline.source.options == {"sep": ";"}
    (declared,) = pipeline.queries
    assert declared.stream.key == ("b", "c")
    assert declared.query.emit == Emit.parse("every 5")
    assert declared.query.parallel == sash.WinFarm(2)
    assert declared.sink.options == {"kafka.bootstrap.servers": "host:9092", "topic": "out"}
    assert declared.late is not None
    assert declared.late.table == "late"
    assert pipeline.run.trigger.given == timedelta(seconds=2)
    assert pipeline.spark == {"spark.sql.shuffle.partitions": "8", "spark.ui.enabled": "true"}
    assert pipeline.name == "it"


def line_of(words: str) -> int:
    return PIPELINE[: PIPELINE.index(words)].count("\n") + 1


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('time = "ts"', "time = ", "this is not TOML: Invalid value"),
        ('time = "ts"', "time = ts", 'this is not TOML: text needs quotes: time = "ts"'),
        ('time = "ts"', 'tme = "ts"', "[stream] has no key 'tme'. Did you mean 'time'?"),
        ('delay = "5 seconds"', 'delay = "5 parsecs"', "delay must be in one of the units"),
        ('delay = "5 seconds"', "delay = -1", "delay must be zero or longer"),
        ('key = "who"', "key = 5", "key must be a text, or a list of texts"),
        ('time = "ts"', 'time = ""', "time must be a text"),
        ('"tumbling 10 seconds as ten"', '"tumblin 10 seconds"', "Did you mean 'tumbling <duration>"),
        ('"rows 3 as three"', '"rows"', "It lacks a size"),
        ('"rows 3 as three"', '"policy x"', "a kind that needs no Python function"),
        ('"rows 3 as three"', "3", "words such as 'sliding 1 hour every 1 second'"),
        ('n = "count()"', 'n = "cuont()"', "Did you mean 'count'"),
        ('total = "sum(x)"', 'total = "sum(x"', "'(' was never closed"),
        ('format = "parquet"\npath = "events"', 'format = "parket"', "Did you mean 'parquet'?"),
        ('checkpoint = "checkpoint"', 'trigger = "hourly"', "'available now', 'once' or a duration"),
        ('checkpoint = "checkpoint"', 'trigger = "avilable now"', "Did you mean 'available now'?"),
        ('checkpoint = "checkpoint"', 'trigger = "processing_time 0 s"', "longer than zero"),
        ('checkpoint = "checkpoint"', 'mode = "both"', "mode must be one of stream, batch"),
        ("[sink]", "[snk]", "there is no table [snk]. Did you mean 'sink'?"),
    ],
)  # fmt: skip
def test_bad_words_are_refused_at_their_line(tmp_path: Path, before: str, after: str, message: str) -> None:
    printed = refused("check", written(tmp_path, (before, after)))
    assert printed.startswith(f"{tmp_path / 'pipeline.toml'}, line {line_of(before)}: ")
    assert message in printed


RUN = "[run]\ncheckpoint"
SAME_PLACE = '[late]\nformat = "parquet"\npath = "./reports/"'


@pytest.mark.parametrize(
    ("changes", "line", "message"),
    [
        ([('path = "events"', "")], "[source]", "[source] lacks path for parquet"),
        ([('time = "ts"', "")], "[stream]", "[stream] lacks the key 'time'"),
        ([('checkpoint = "checkpoint"', "")], "[run]", "[run] lacks checkpoint"),
        ([("[query]", '[query]\nrolling = "1 s"')], "[query]", "one of windows, rolling and latest"),
        ([('n = "count()"\n', ""), ('total = "sum(x)"', "")], "[aggregates]", "must have at least one"),
        ([(RUN, '[run]\nmode = "batch"\ncheckpoint')], "checkpoint =", "must be left out when mode"),
        ([('path = "reports"', 'table = "t"')], "[sink]", "[sink] lacks path for parquet"),
        ([('path = "reports"', 'path = "r"\noverwrite = true')], "overwrite", "which only adds"),
        ([(RUN, f'{SAME_PLACE}\n{RUN}')], 'path = "./r', "another one than that of [sink]"),
        ([('"parquet"\npath = "events"', '"rate"')], "[run]", "for rate, which never ends"),
        ([('"parquet"\npath = "events"', '"socket"')], "[source]", "options must have 'host' for socket"),
        ([('"parquet"\npath = "reports"', '"kafka"')], "[sink]", "options must have 'kafka.bootstrap"),
        ([('"parquet"\npath = "events"', '"delta"')], "[source]", "[source] lacks path or table"),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_refused(
    tmp_path: Path, changes: list[tuple[str, str]], line: str, message: str
) -> None:
    file = written(tmp_path, *changes)
    with pytest.raises(PipelineError) as wrong:
        read(file)
    text = file.read_text()
    assert wrong.value.line == text[: text.index(line)].count("\n") + 1
    assert message in wrong.value.reason


LOOK_BACKS = 'rolling = ["1 minute", "lifetime"]\n'
LATEST = 'latest = ["1 minute", "1 hour"]\n'


def with_query(folder: Path, words: str) -> Path:
    """The pipeline with other words in [query], from line 11 on."""
    return written(folder, (PIPELINE[PIPELINE.index("windows = ") : PIPELINE.index("[aggregates]")], words))


def test_look_backs_can_be_answered_on_arrival_and_published(tmp_path: Path) -> None:
    words = f'{LOOK_BACKS}emit = "arrival"\nonline = "redis://localhost:6379/0#cards"\n'
    (query,) = read(with_query(tmp_path, words)).queries
    assert query.query.emit == Emit(When.ARRIVAL)
    assert query.query.online == "redis://localhost:6379/0#cards"
    assert query.query.kind == "rolling"


def test_latest_rows_can_be_declared(tmp_path: Path) -> None:
    (query,) = read(with_query(tmp_path, f'{LATEST}every = "10 seconds"\ndecay = "clock"\n')).queries
    assert query.query.latest == ("1 minute", "1 hour")
    assert (query.query.every, query.query.decay, query.query.kind) == ("10 seconds", "clock", "latest")


@pytest.mark.parametrize(
    ("words", "line", "message"),
    [
        (LOOK_BACKS + 'emit = "change"\n', 12, "emit must be 'close' or 'arrival' with rolling"),
        (LOOK_BACKS + 'emit = "arival"\n', 12, "or 'arrival' with rolling; got 'arival'"),
        (LOOK_BACKS + "empty = true\n", 12, "empty must be left out with rolling: there is one"),
        (LOOK_BACKS + 'every = "1 minute"\n', 12, "every must be left out: it is for latest"),
        (LOOK_BACKS + 'online = "http://host"\n', 12, "online must be 'redis://host:port/db' or"),
        (LOOK_BACKS + "online = 5\n", 12, "online must be a text"),
        (LATEST + 'emit = "change"\n', 12, "emit must be left out with latest, whose rows come when they"),
        (LATEST + 'decay = "slow"\n', 12, "decay must be one of watermark, clock"),
        (LATEST + 'online = "features"\n', 12, "online must be left out: it is for rolling"),
        ('latest = ["1 minute", "soon"]\n', 11, "'soon'"),
        ('windows = "rows 3"\nemit = "arrival"\n', 12, "with windows: 'arrival' is for rolling"),
        (LATEST + LOOK_BACKS, 10, "[query] must have one of windows, rolling and latest, and no"),
    ],
)  # fmt: skip
def test_look_backs_refuse_what_they_have_no_use_for(
    tmp_path: Path, words: str, line: int, message: str
) -> None:
    with pytest.raises(PipelineError) as wrong:
        read(with_query(tmp_path, words))
    assert message in wrong.value.reason
    assert wrong.value.line == line


def test_a_batch_run_publishes_nothing(tmp_path: Path) -> None:
    file = with_query(tmp_path, f'{LOOK_BACKS}online = "features"\n')
    file.write_text(file.read_text().replace('checkpoint = "checkpoint"', 'mode = "batch"'))
    with pytest.raises(PipelineError, match="online must be left out when mode is 'batch'"):
        read(file)


def test_two_queries_are_not_published_in_one_store(tmp_path: Path) -> None:
    file, second = tmp_path / "several.toml", SEVERAL[SEVERAL.index("[[query]]  # the second") :]
    third = second[: second.index("[run]")].replace("features", "more")
    several = SEVERAL.replace("[run]", third + "[run]")
    file.write_text(several.replace('rolling = "1 hour"', 'rolling = "1 hour"\nonline = "store"'))
    with pytest.raises(PipelineError, match="online must be another one, of this query alone"):
        read(file)


def test_a_table_that_is_missing_is_named(tmp_path: Path) -> None:
    aggregates = PIPELINE[PIPELINE.index("[aggregates]") : PIPELINE.index("[sink]")]
    assert "the table [aggregates] is missing" in refused("check", written(tmp_path, (aggregates, "")))


def test_a_late_output_is_of_any_source_since_it_is_read_once(tmp_path: Path) -> None:
    changes = [
        ('"parquet"\npath = "events"', '"rate"'),
        ("[run]\n", '[late]\nformat = "noop"\n[run]\ntrigger = "processing_time 1 second"\n'),
    ]
    assert read(written(tmp_path, *changes)).queries[0].late is not None


SECOND_QUERY = "[[query]]  # the second"


def test_several_queries_have_what_is_their_own_and_share_the_rest(tmp_path: Path) -> None:
    file = tmp_path / "several.toml"
    file.write_text(SEVERAL)
    pipeline = read(file)
    bars, features = pipeline.queries
    assert pipeline.together
    assert (bars.name, features.name) == ("bars", "features")
    assert bars.stream.key == ("who",)
    assert (features.stream.key, features.stream.delay) == (("who", "where"), "1 minute")
    assert features.stream.time == "ts"
    assert bars.late is not None
    assert features.late is None
    assert list(features.aggregates) == ["mean"]
    assert [pipeline.name_of(query) for query in pipeline.queries] == ["several_bars", "several_features"]


@pytest.mark.parametrize(
    ("before", "after", "line", "message"),
    [
        ('name = "features"\n', "", SECOND_QUERY, "[[query]] lacks the key 'name'"),
        ('name = "features"', 'name = "bars"', -1, "bars is the name of two"),
        ('name = "features"', 'name = "my features"', "my", "letters, digits and underscores"),
        (
            'delay = "1 minute"',
            'dely = "1 minute"',
            "dely",
            "[[query]] has no key 'dely'. Did you mean 'delay'",
        ),
        ('delay = "1 minute"', "delay = -1", "delay = -1", "delay must be zero or longer"),
        ('mean = "mean(x)"', 'mean = "maen(x)"', "maen", "Did you mean 'mean'"),
        (
            'path = "features"',
            'path = "bars"',
            -1,
            "path must be another one than that of [query.sink] of bars",
        ),
        ('path = "features"', 'path = "late"', -1, "that of [query.late] of bars, which is written there"),
        (
            'rolling = "1 hour"',
            'rolling = "1 hour"\nempty = true',
            "empty",
            "must be left out with rolling",
        ),
        (
            'rolling = "1 hour"',
            'rolling = "1 hour"\nparallel = "KeyFarm(2)"',
            "parallel",
            "they share the buckets",
        ),
        ('[query.aggregates]\nmean = "mean(x)"', "", SECOND_QUERY, "[query.aggregates] is missing"),
        ("[run]", '[sink]\nformat = "noop"\n[run]', "[sink]", "[sink] must be [query.sink]"),
        ("[query.late]", "[query.lat]", "[query.lat]", "[[query]] has no key 'lat'. Did you mean 'late'"),
    ],
)
def test_what_is_wrong_with_one_of_several_is_refused_at_its_line(
    tmp_path: Path, before: str, after: str, line: str | int, message: str
) -> None:
    assert SEVERAL.count(before) == 1
    text = SEVERAL.replace(before, after)
    file = tmp_path / "several.toml"
    file.write_text(text)
    with pytest.raises(PipelineError) as wrong:
        read(file)
    assert message in wrong.value.reason
    at = text.index(line) if isinstance(line, str) else text.rindex(after)
    assert wrong.value.line == text[:at].count("\n") + 1


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "the file cannot be read: No such file"), (b"\xff\xfe", "it is not UTF-8"), (b"x = 1", "[x]")],
)
def test_a_file_that_is_no_pipeline_is_one_sentence(
    tmp_path: Path, content: bytes | None, message: str
) -> None:
    file = tmp_path / "other.toml"
    if content is not None:
        file.write_bytes(content)
    assert message in refused("run", file)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('path = "events"', 'path = "events'),
        ('path = "events"', "path = 'events"),
        ('"rows 3 as three"', '"rows 3 as three'),
        ('checkpoint = "checkpoint"', 'checkpoint = "checkpoint'),
    ],
)
def test_a_quote_that_is_not_closed_is_called_that(tmp_path: Path, before: str, after: str) -> None:
    with pytest.raises(PipelineError) as wrong:
        read(written(tmp_path, (before, after)))
    assert "a quote is not closed" in wrong.value.reason
    assert wrong.value.line == line_of(before)


def test_all_mistakes_of_a_file_are_found_at_once_in_the_order_of_its_lines(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        ('path = "events"', 'pth = "events"'),
        ('delay = "5 seconds"', 'delay = "5 secnds"'),
        ('"tumbling 10 seconds as ten"', '"tumblng 10 seconds as ten"'),
        ('"rows 3 as three"', '"rows three"'),
        ('total = "sum(x)"', 'total = "smu(x)"'),
        ('checkpoint = "checkpoint"', 'trigger = "hourly"'),
    )
    outcome = run_command("check", file)
    assert outcome.exit_code == 2
    found = [line.removeprefix(f"error: {file}, line ") for line in outcome.output.splitlines()]
    assert [sentence.partition(":")[0] for sentence in found] == ["3", "8", "12", "13", "18", "25"]
    assert "Did you mean 'path'?" in found[0]
    assert found[4].endswith("there is no aggregate 'smu'. Did you mean 'sum'?")


@pytest.mark.parametrize(
    ("before", "after"), [("[sink]", "[snk]"), ("[stream]", "[strem]"), ('time = "ts"', 'tme = "ts"')]
)
def test_what_has_a_wrong_name_is_not_called_missing_too(tmp_path: Path, before: str, after: str) -> None:
    file = written(tmp_path, (before, after), ("windows = [", "empty = 7\nwindows = ["))
    with pytest.raises(PipelineErrors) as wrong:
        read(file)
    reasons = [error.reason for error in wrong.value.errors]
    assert len(reasons) == 2
    assert sum("Did you mean" in reason for reason in reasons) == 1
    assert sum(reason.startswith("empty must be") for reason in reasons) == 1


def test_mistakes_in_several_queries_are_found_at_once(tmp_path: Path) -> None:
    file = written(
        tmp_path, ('"sum(x)"', '"smu(x)"'), ('rolling = "1 hour"', 'rolling = "1 hur"'), text=SEVERAL
    )
    with pytest.raises(PipelineErrors) as wrong:
        read(file)
    assert [error.line for error in wrong.value.errors] == [16, 30]


@pytest.mark.parametrize(
    "name", ["source", "stream", "query", "aggregates", "sink", "late", "run", "spark"]
)
def test_a_value_in_the_place_of_a_table_is_refused_beside_other_mistakes(
    tmp_path: Path, name: str
) -> None:
    lines = re.sub(rf"(?ms)^\[{name}\]\n.*?(?=^\[|\Z)", "", PIPELINE).replace("5 seconds", "5 secnds")
    file = tmp_path / "pipeline.toml"
    file.write_text(f"{name} = 5\n{lines}")
    with pytest.raises(PipelineError) as wrong:
        read(file)
    assert str(wrong.value).startswith(f"{file}, line 1: {name} must be a table: [{name}]")
    assert ("secnds" in str(wrong.value)) == (name != "stream")
