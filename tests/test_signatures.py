"""A signature is a text from which the same call can be made again."""

import platform
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.numeric import signatures
from quorum.numeric.signatures import BadSignature, Signature, Value, parse, quorum_version, versions

WORDS = st.text(min_size=1, max_size=12)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=6,
)


def test_a_signature_reads_as_its_issue_writes_it() -> None:
    fields: dict[str, Value] = {"n": 4, "sigma": 6.0, "tok": "ptb", "refs": 5, "df": "corpus"}
    assert str(Signature("cider-d", fields, "1.0")) == "cider-d|n:4|sigma:6|tok:ptb|refs:5|df:corpus|v:1.0"


@given(name=WORDS, fields=st.dictionaries(WORDS.filter(lambda key: key != "v"), VALUES, max_size=4))
def test_whatever_a_signature_holds_it_parses_back_to_it(name: str, fields: dict[str, Value]) -> None:
    text = str(Signature(name, fields, "1.0"))
    back = parse(text)
    assert (back.name, dict(back.fields), back.version) == (name, fields, "1.0")
    assert str(back) == text


@pytest.mark.parametrize(
    "text", ["", "cider-d", "|v:1.0", "cider-d|n", "cider-d|n:4", "a|n:4|n:5|v:1", "a|v:1|n:4", "a|:4|v:1"]
)
def test_what_is_no_signature_is_refused_in_a_sentence(text: str) -> None:
    with pytest.raises(BadSignature, match="is no signature"):
        parse(text)


def test_an_object_is_read_as_the_text_it_is() -> None:
    assert parse('a|x:{"b"%3A1}|v:1').fields["x"] == '{"b":1}'


def test_the_version_is_that_of_the_clone_or_else_of_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert versions()["python"] == platform.python_version()
    assert f'version = "{versions()["quorum"]}"' in Path("pyproject.toml").read_text("utf-8")
    package = tmp_path / "quorum-9.8.7.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: quorum\nVersion: 9.8.7\n", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(signatures, "__file__", str(tmp_path / "quorum" / "numeric" / "signatures.py"))
    assert quorum_version.__wrapped__() == "9.8.7"
