"""Signatures: one-line texts that say how a number was computed, like sacrebleu's for BLEU (Post 2018).

`cider-d|n:4|sigma:6|tok:ptb|refs:5|df:corpus|v:1.0` has a name, fields, and a version. A value is a bare word or JSON;
the marks | : % and line breaks in it are percent-encoded. When you report a result, state its signature and the
versions of Quorum and its libraries.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import inspect
import json
import platform
import tomllib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import scipy

Value = None | bool | int | float | str | tuple["Value", ...]

# Stands in signatures for a value that only the caller has, such as a random generator or a function. For lists of
# words or captions it is `given-<number>-<digest>` (`placeholder_of_texts`).
PLACEHOLDER = "given"

_MARKS = {"%": "%25", "|": "%7C", ":": "%3A", "\n": "%0A", "\r": "%0D"}


class BadSignature(ValueError):
    """The text is not a signature, or it is the signature of an unknown function or option."""


@dataclass(frozen=True, slots=True)
class Signature:
    """A parsed signature: the name of a function or metric, its options as fields, and a version."""

    name: str
    fields: Mapping[str, Value]
    version: str

    def with_field(self, name: str, value: Value) -> Signature:
        return Signature(self.name, {**self.fields, name: value}, self.version)

    def without_fields(self, *names: str) -> Signature:
        fields = {name: value for name, value in self.fields.items() if name not in names}
        return Signature(self.name, fields, self.version)

    def __str__(self) -> str:
        parts = [f"{_encode_text(key)}:{_encode_text(_as_text(value))}" for key, value in self.fields.items()]
        return "|".join([_encode_text(self.name), *parts, f"v:{_encode_text(self.version)}"])


def parse(text: str) -> Signature:
    """Parse a text such as `name|key:value|v:1.0`. Raise BadSignature if it is no signature."""
    name, *parts = text.split("|")
    fields: dict[str, Value] = {}
    version = None
    for part in parts:
        key, colon, value = part.partition(":")
        key = unquote(key)
        # The version is last, so no part may follow it.
        if version is not None or not colon or not key or key in fields:
            raise BadSignature(
                f"{text!r} is no signature: found {part!r}, expected name|key:value|...|v:version"
            )
        if key == "v":
            version = unquote(value)
        else:
            fields[key] = _parse_value(unquote(value))
    if not name or not version:
        raise BadSignature(f"{text!r} is no signature: expected name|key:value|...|v:version")
    return Signature(unquote(name), fields, version)


def parse_version(text: str, version: str) -> Signature:
    """Parse a signature. Raise BadSignature if its version is not `version`."""
    signature = parse(text)
    if signature.version != version:
        raise BadSignature(f"{text!r} was made by version {signature.version}, expected version {version}")
    return signature


@dataclass(frozen=True, slots=True)
class Call:
    """A function with the options of a signature, to be called with the data.

    missing_options: names of the options whose values the signature does not have; they must be passed by name.
    """

    function: Callable[..., Any]
    options: Mapping[str, Value]
    missing_options: tuple[str, ...]

    def __call__(self, *data: Any, **options: Any) -> Any:
        missing_names = [name for name in self.missing_options if name not in options]
        if missing_names:
            raise BadSignature(
                f"the signature leaves {', '.join(missing_names)} to its caller, expected it by name"
            )
        return self.function(*data, **{**self.options, **options})


def call_of_function(text: str, function: Callable[..., Any], fields: Mapping[str, Value]) -> Call:
    """Return the call of `function` with the options `fields` of the signature `text`.

    Raise BadSignature if the function has no such option.
    """
    parameters = inspect.signature(function).parameters
    for key in fields:
        if key not in parameters:
            raise BadSignature(f"{text!r} has a field {key!r} that {text.partition('|')[0]} does not know")
    missing_keys = tuple(key for key, value in fields.items() if str(value).partition("-")[0] == PLACEHOLDER)
    return Call(function, {key: fields[key] for key in fields if key not in missing_keys}, missing_keys)


def placeholder_of_texts(lists: Collection[Collection[str]]) -> str:
    """Return the placeholder that stands in signatures for the caller's lists of texts: their number and a digest."""
    digest = hashlib.sha256()
    for texts in lists:
        # Two bytes that UTF-8 does not have separate texts and lists, so no text can contain them.
        digest.update(b"".join([text.encode("utf-8", "surrogatepass") + b"\xff" for text in texts]) + b"\xfe")
    return f"{PLACEHOLDER}-{len(lists)}-{digest.hexdigest()[:8]}"


def _encode_text(text: str) -> str:
    return "".join(_MARKS.get(character, character) for character in text)


def _as_text(value: Value) -> str:
    """Return a value as a bare word if `_parse_value` turns it into the same value again, otherwise as JSON."""
    if isinstance(value, str):
        return value if _parse_value(value) == value else json.dumps(value, ensure_ascii=False)
    # 6.0 is written as 6. From 2 ** 53 on, a float stands for several whole numbers.
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _parse_value(text: str) -> Value:
    try:
        return _freeze_value(json.loads(text))
    except ValueError:
        return text


def _freeze_value(value: object) -> Value:
    """Return a value of JSON with tuples in place of lists. Raise ValueError if it has an object."""
    if isinstance(value, list):
        return tuple(_freeze_value(item) for item in value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise ValueError("an object is no value of a field")


@cache
def quorum_version() -> str:
    """Return the version of Quorum: of the clone that runs, or of the installed package."""
    root = Path(__file__).resolve().parents[2]
    is_clone = (root / "manage.py").exists()
    if not is_clone:
        return importlib.metadata.version("quorum")
    with (root / "pyproject.toml").open("rb") as file:
        return str(tomllib.load(file)["project"]["version"])


def versions() -> dict[str, str]:
    """Return the versions of Quorum and its numeric libraries."""
    return {
        "quorum": quorum_version(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }


def signature(name: str, settings: dict[str, Any]) -> str:
    """Return the signature ``name|key:value|...|v:version``, with fields in the order of ``settings``."""
    return str(Signature(name, settings, quorum_version()))
