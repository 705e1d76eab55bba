"""Signatures: the text form of how a number was made, as sacrebleu writes it for BLEU (Post 2018).

`cider-d|n:4|sigma:6|tok:ptb|refs:5|df:corpus|v:1.0` is a name, then fields, then the version of what
computed it. A value is a bare word or JSON; the marks | : % and line breaks inside it are percent-encoded,
so that every signature parses back to what it was made of.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from urllib.parse import unquote

Value = None | bool | int | float | str | tuple["Value", ...]

_MARKS = {"%": "%25", "|": "%7C", ":": "%3A", "\n": "%0A", "\r": "%0D"}


class BadSignature(ValueError):
    """A text that is no signature, or one of something unknown here."""


@dataclass(frozen=True)
class Signature:
    """What a number is called, the settings it was made with, and the version of what made it."""

    name: str
    fields: Mapping[str, Value]
    version: str

    def __str__(self) -> str:
        parts = [f"{_encoded(key)}:{_encoded(_text(value))}" for key, value in self.fields.items()]
        return "|".join([_encoded(self.name), *parts, f"v:{_encoded(self.version)}"])


def parse(text: str) -> Signature:
    """The signature that a text stands for. Raises BadSignature."""
    name, *parts = text.split("|")
    fields: dict[str, Value] = {}
    version = None
    for part in parts:
        key, mark, value = part.partition(":")
        key = unquote(key)
        if version is not None or not mark or not key or key in fields:
            raise BadSignature(
                f"{text!r} is no signature: found {part!r}, expected name|key:value|...|v:version"
            )
        if key == "v":
            version = unquote(value)
        else:
            fields[key] = _value(unquote(value))
    if not name or not version:
        raise BadSignature(f"{text!r} is no signature: expected name|key:value|...|v:version")
    return Signature(unquote(name), MappingProxyType(fields), version)


def _encoded(text: str) -> str:
    return "".join(_MARKS.get(mark, mark) for mark in text)


def _text(value: Value) -> str:
    """A word as it is unless it would be read as something else; a whole float without its zero."""
    if isinstance(value, str):
        return value if _value(value) == value else json.dumps(value, ensure_ascii=False)
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _value(text: str) -> Value:
    try:
        return _frozen(json.loads(text))
    except ValueError:
        return text


def _frozen(value: object) -> Value:
    if isinstance(value, list):
        return tuple(_frozen(item) for item in value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise ValueError("an object is no value of a field")
