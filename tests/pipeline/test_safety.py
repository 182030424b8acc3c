"""`sash run --safe`: what of a pipeline file is code is refused, with its line, before Spark is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from sash.errors import PipelineError
from sash.pipeline import read
from sash.pipeline.safety import require_safe
from tests.pipeline.pipeline_files import PIPELINE, SEVERAL, run_command, written

KAFKA = 'format = "kafka"\noptions = { "kafka.bootstrap.servers" = "host:9092", subscribe = "trades"'


def test_a_file_of_data_is_safe(tmp_path: Path) -> None:
    require_safe(read(written(tmp_path)))
    require_safe(read(written(tmp_path, text=SEVERAL)))
    kafka = ('format = "parquet"\npath = "events"', KAFKA + " }")
    require_safe(read(written(tmp_path, kafka)))
    conditions = ('"sum(x)"', "\"sum(x, where='x > 10')\"")
    require_safe(read(written(tmp_path, conditions)))


@pytest.mark.parametrize(
    ("before", "after", "line", "what"),
    [
        ("[run]", '[spark]\n"spark.jars.packages" = "a:b:1"\n[run]', 25, "spark.jars.packages"),
        ('path = "events"', 'path = "events"\nselect = ["reflect(\'a.B\', \'c\')"]', 4, "SQL"),
        ('path = "events"', 'path = "events"\nschema = "ts timestamp, x int DEFAULT f()"', 4, "DEFAULT"),
        ('path = "events"', 'path = "events"\noptions = { class = "x" }', 4, "'class'"),
        (
            'format = "parquet"\npath = "events"',
            KAFKA + ', "kafka.sasl.jaas.config" = "com.sun.security.auth.module.JndiLoginModule" }',
            3, "'kafka.sasl.jaas.config'",
        ),
        ('path = "reports"', 'path = "reports"\noptions = { "parquet.crypto.class" = "x" }', 23, "class"),
        (
            'format = "parquet"\npath = "reports"',
            'format = "delta"\ntable = "t USING x s ON true; DROP TABLE u"', 22, "more than a name",
        ),
        (
            'format = "parquet"\npath = "reports"',
            'format = "delta"\ntable = "t"\nkeys = ["a` <=> s.`a` OR true --"]', 23, "more than a name",
        ),
        ('format = "parquet"\npath = "reports"', 'format = "delta"\npath = "t` x"', 22, "quote"),
    ],
)  # fmt: skip
def test_code_is_refused_with_its_line(
    tmp_path: Path, before: str, after: str, line: int, what: str
) -> None:
    assert PIPELINE.count(before) == 1
    pipeline = read(written(tmp_path, (before, after)))
    with pytest.raises(PipelineError, match="--safe refuses") as refusal:
        require_safe(pipeline)
    assert refusal.value.line == line
    assert what in str(refusal.value)


def test_one_of_several_queries_is_to_blame_by_its_own_line(tmp_path: Path) -> None:
    changed = ('path = "bars"', 'path = "bars"\noptions = { unknown = 1 }')
    with pytest.raises(PipelineError, match="'unknown'") as refusal:
        require_safe(read(written(tmp_path, changed, text=SEVERAL)))
    assert refusal.value.line == SEVERAL[: SEVERAL.index('path = "bars"')].count("\n") + 2


@pytest.mark.parametrize("command", ["run", "check", "explain", "size --rate 1 --keys 1"])
def test_the_command_refuses_before_spark_is_started(tmp_path: Path, command: str) -> None:
    file = written(tmp_path, ("[run]", '[spark]\n"spark.jars" = "theirs.jar"\n[run]'))
    name, *options = command.split()
    result = run_command(name, file, "--safe", *options)
    assert result.exit_code == 2
    assert "line 25: --safe refuses settings of Spark" in result.output
