"""What `import sash` gives, and what it costs."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pyarrow as pa
import pytest

import sash
from sash.aggregation import built_in
from sash.api.handle import QueryHandle
from sash.semantics import windows
from sash.semantics.pyspark_names import ELSEWHERE

SOURCE = Path(sash.__file__)
PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]


def test_every_exported_name_is_there() -> None:
    for name in sash.__all__:
        assert getattr(sash, name) is not None


def test_type_checkers_see_the_names_that_run_time_sees() -> None:
    (block,) = [node for node in ast.parse(SOURCE.read_text()).body if isinstance(node, ast.If)]
    typed = {
        alias.asname for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert typed | {"__version__"} == set(sash.__all__)


def test_every_built_in_aggregate_is_exported() -> None:
    assert set(built_in.__all__) <= set(sash.__all__)


def test_every_window_of_the_design_is_exported() -> None:
    functions = {name for name in windows.__all__ if not name.endswith("Window")} - {"time"}
    assert functions <= set(sash.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'wibble'"):
        sash.wibble


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("countDistinct", r"Did you mean sash\.count_distinct or sash\.distinct\?"),
        ("count_Distinct", r"sash\.count_distinct"),
        ("collect_list", r"Did you mean sash\.collect\?"),
        ("collect_set", r"sash\.first\(column, n, distinct=True\)"),
        ("approx_count_distinct", r"Did you mean sash\.distinct\?"),
        ("percentile_approx", r"Did you mean sash\.quantile\?"),
        ("stddev_samp", r"Did you mean sash\.stddev\?"),
        ("max_by", r"Did you mean sash\.argmax\?"),
        ("average", r"Did you mean sash\.avg\?"),
        ("mode", r"sash\.frequent_items\(column, k=1\)"),
        ("lag", r"sash\.last\(column, 2\), a list of the value before and this one"),
        ("sumDistinct", r"sash\.monoid, for an aggregate of your own"),
        ("product", r"sash\.monoid, for an aggregate of your own"),
        ("bool_and", r"sash\.min \(of booleans\)"),
        ("some", r"sash\.max \(of booleans\)"),
        ("any_value", r"Did you mean sash\.first\?"),
        ("lead", r"no attribute 'lead'$"),
        ("rank", r"no attribute 'rank'$"),
        ("grouping", r"no attribute 'grouping'$"),
        ("tumblng", r"Did you mean sash\.tumbling\?"),
    ],
)
def test_a_name_of_pyspark_or_a_slip_gets_a_hint(name: str, hint: str) -> None:
    with pytest.raises(AttributeError, match=hint):
        getattr(sash, name)


def test_every_hint_names_what_exists() -> None:
    for ours in ELSEWHERE.values():
        for name in ours.replace("sash.", "").split(" or "):
            assert re.split(r"\W", name)[0] in sash.__all__


@pytest.mark.parametrize("heavy", ["pyspark", "numba", "pandas", "polars", "pyarrow", "numpy"])
def test_importing_sash_is_light(heavy: str) -> None:
    script = f"import sash, sys; sys.exit({heavy!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_windowing_an_arrow_table_does_not_load_pyspark() -> None:
    script = (
        "import pyarrow as pa, sash, sys\n"
        "sash.stream(pa.table({'t': [1]}), time='t').window(sash.rows(2)).agg(n=sash.count()).collect()\n"
        "sys.exit('pyspark' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_a_name_means_one_thing() -> None:
    assert sash.count("x", "y").columns == ("x", "y")
    assert sash.rows(4, every=2) == windows.RowsWindow(4, 2)
    assert sash.session("10 minutes") == windows.session("10 minutes")
    assert sash.hopping(10, every=5) == sash.sliding(10, every=5)
    with pytest.raises(sash.errors.ArgumentError, match=r"sash\.rows\(100\)"):
        sash.count(100)


def test_every_query_has_one_base() -> None:
    table = pa.table({"t": [1, 2], "x": [1.0, 2.0]})
    stream: sash.Stream = sash.stream(table, time="t")
    operator = sash.operators.Stateful(
        advance=5, size=5, inputs=sash.operators.Input(table.schema, time="t")
    )
    windows, join = stream.window(sash.rows(2)).agg(n=sash.count()), stream.join(stream, within=1)
    queries = [windows, stream.rolling(5).agg(n=sash.count()), join, sash.operate(operator, table)]
    classes = [type(query) for query in queries]
    assert classes == [sash.WindowQuery, sash.WindowQuery, sash.JoinQuery, sash.OperatorQuery]
    for query in (*queries, windows.late(), join.late("left")):
        assert isinstance(query, QueryHandle)
        for method in ("collect", "head", "dataframe", "start", "explain"):
            assert getattr(type(query), method) is getattr(QueryHandle, method)
        assert query.head(1).total == query.collect().num_rows == query.dataframe().num_rows
        with pytest.raises(sash.errors.Unsupported, match="needs a streaming DataFrame"):
            query.start("sink", checkpoint="there")


@pytest.mark.parametrize(
    "command", [["-m", "sash"], [str(Path(sys.executable).with_name("sash"))]], ids=str
)
def test_the_command_line_answers_to_help(command: list[str]) -> None:
    run = [sys.executable, *command] if command[0] == "-m" else command
    answer = subprocess.run([*run, "--help"], capture_output=True, text=True, check=True)
    assert "demo" in answer.stdout


def test_a_users_mistake_is_one_sentence_and_exit_code_two(tmp_path: Path) -> None:
    # Without a Java in reach the demo cannot start Spark: that is the user's to mend, not a traceback.
    answer = subprocess.run(
        [sys.executable, "-m", "sash", "demo"], capture_output=True, text=True, check=False,
        env={"PATH": str(tmp_path)},
    )  # fmt: skip
    assert answer.returncode == 2
    assert "Java 17" in answer.stderr
    assert "Traceback" not in answer.stderr


WITHOUT_PYSPARK = """
import sys
sys.modules["pyspark"] = None
import pyarrow as pa, sash
query = sash.stream(pa.table({"t": [0, 1]}), time="t").window(sash.tumbling(2)).agg(n=sash.count())
assert query.collect()["n"].to_pylist() == [2]
for use in (
    lambda: sash.spark_session(), lambda: sash.read_stream_parquet("/data"), lambda: sash.progress(None)
):
    try:
        use()
    except sash.errors.MissingDependency as missing:
        assert str(missing).count("pip install 'pyspark>=4.1") == 1, missing
    else:
        raise SystemExit("no error")
"""


def test_without_pyspark_queries_run_in_process_and_spark_is_one_sentence() -> None:
    subprocess.run([sys.executable, "-c", WITHOUT_PYSPARK], check=True)


def test_a_pyspark_that_is_too_old_is_one_sentence() -> None:
    code = "import pyspark; pyspark.__version__ = '4.0.5'; import sash; sash.spark_session()"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    last = run.stderr.splitlines()[-1]
    assert last.endswith("MissingDependency: Sash needs PySpark 4.1 or later, and this is 4.0.5")


def test_a_command_that_needs_spark_is_one_sentence_without_it() -> None:
    code = "import sys; sys.modules['pyspark'] = None; from sash.cli import main; main()"
    run = subprocess.run([sys.executable, "-c", code, "demo"], capture_output=True, text=True, check=False)
    assert run.returncode == 2
    assert f"pip install {' '.join(map(repr, EXTRAS['spark']))}" in run.stderr + run.stdout
    assert "Traceback" not in run.stderr
