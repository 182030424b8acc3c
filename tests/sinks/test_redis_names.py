"""Names of entries in a Redis sink: one for each key."""

from __future__ import annotations

from hypothesis import given, strategies as st

from sash.runtimes.spark.sinks.redis import _name

KEYS = st.none() | st.text(alphabet="\\nul", max_size=6) | st.sampled_from(["null", "\\null", "\\\\null"])


def test_a_text_is_its_own_name_unless_it_looks_like_a_null():
    names = [_name({"key": key}) for key in ("a", "", "null", None, "\\null", "\\n", "nulls")]
    assert names == ["a", "", "\\null", "null", "\\\\null", "\\n", "nulls"]


@given(KEYS, KEYS)
def test_two_keys_have_two_names(one, other):
    assert (_name({"key": one}) == _name({"key": other})) == (one == other)
