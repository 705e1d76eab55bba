"""Signatures of content selection and keywords: how they are written, and the way back to the call.

Every option of a call stands in its signature under its own name. What only the caller has (a list of words,
a running random stream) is written as `given-<how many>-<digest>` or `given`.
"""

from collections.abc import Callable, Collection, Mapping
from numbers import Integral
from typing import Any

import numpy as np

from evaluation.metrics.errors import InvalidInput
from evaluation.signatures import (
    GIVEN,
    BadSignature,
    Call,
    Signature,
    Value,
    call_of_function,
    name_given,
    parse_version,
)

VERSION = "1.0"

# Fields that tell something of the data and are no options.
_TELLING = ("eval", "of")

Seed = np.random.Generator | int | None


def signature(name: str, **fields: Value) -> str:
    """The text form of a call of this version."""
    return str(Signature(name, fields, VERSION))


def given_words(words: Collection[str]) -> str:
    """How a signature names a set of words: its size and what it holds, in no order."""
    return name_given([[word] for word in sorted(words)])


def seed_field(seed: Seed) -> Value:
    """How a signature names a seed."""
    return GIVEN if isinstance(seed, np.random.Generator) else seed


def generator_of(seed: Seed, what: str) -> np.random.Generator:
    """The generator that a seed stands for; InvalidInput names `what` where it is none."""
    if isinstance(seed, np.random.Generator):
        return seed
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise InvalidInput(f"{what} is {seed!r}, expected a whole number from zero on or a numpy Generator")
    return np.random.default_rng(seed)


def check_collection(values: object, what: str, expected: str) -> None:
    """InvalidInput, saying what was `expected`, unless the values are a collection and no text."""
    if isinstance(values, str | bytes) or not isinstance(values, Collection):
        raise InvalidInput(f"{what} is a {type(values).__name__}, expected {expected}")


def whole_count(value: object, what: str) -> int:
    """The number, which InvalidInput names unless it is a whole number from 1 on."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < 1:
        raise InvalidInput(f"{what} is {value!r}, expected a whole number from 1 on")
    return int(value)


def call_of(text: str, functions: Mapping[str, Callable[..., Any]]) -> Call:
    """The call that a signature was made by, among the functions of those names.

    `functions` are `content.CALLS`, `content_baselines.CALLS`, `keywords.CALLS` or `keyword_baselines.CALLS`.
    Raises BadSignature for a text that is no signature, of another version, of an unknown name or field.
    """
    made = parse_version(text, VERSION)
    if made.name not in functions:
        raise BadSignature(f"{text!r} is of nothing known here, expected one of {', '.join(functions)}")
    options = {key: value for key, value in made.fields.items() if key not in _TELLING}
    return call_of_function(text, functions[made.name], options)
