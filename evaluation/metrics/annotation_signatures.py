"""Signatures of content selection and keywords: how they are written, and the way back to the call.

Every option of a call stands in its signature under its own name. What only the caller has (a list of words,
a running random stream) is written as `given-<how many>-<digest>` or `given`.
"""

import hashlib
import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from evaluation.metrics.errors import InvalidInput
from evaluation.signatures import BadSignature, Signature, Value, parse

VERSION = "1.0"
GIVEN = "given"

# Fields that tell something of the data and are no options.
_TELLING = ("eval", "of")

Seed = np.random.Generator | int | None


def signature(name: str, **fields: Value) -> str:
    """The text form of a call of this version."""
    return str(Signature(name, fields, VERSION))


def given_words(words: Collection[str]) -> str:
    """How a signature names a set of words: its size and what it holds, in no order."""
    digest = hashlib.sha256()
    for word in sorted(words):
        digest.update(word.encode("utf-8", "surrogatepass") + b"\n")
    return f"{GIVEN}-{len(words)}-{digest.hexdigest()[:8]}"


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


def whole_count(value: object, what: str) -> int:
    """The number, which InvalidInput names unless it is a whole number from 1 on."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < 1:
        raise InvalidInput(f"{what} is {value!r}, expected a whole number from 1 on")
    return int(value)


@dataclass(frozen=True, slots=True)
class AnnotationCall:
    """A measure or a baseline with its options, waiting for data: `call(*data)` gives the result again.

    `missing` names the options that only their first caller had; they are to be handed in by name.
    """

    function: Callable[..., Any]
    options: Mapping[str, Value]
    missing: tuple[str, ...]

    def __call__(self, *data: Any, **options: Any) -> Any:
        left_out = [name for name in self.missing if name not in options]
        if left_out:
            raise BadSignature(
                f"the signature leaves {', '.join(left_out)} to its caller, expected it by name"
            )
        return self.function(*data, **{**self.options, **options})


def call_of(text: str, functions: Mapping[str, Callable[..., Any]]) -> AnnotationCall:
    """The call that a signature was made by, among the functions of those names.

    `functions` are `content.CALLS`, `content_baselines.CALLS`, `keywords.CALLS` or `keyword_baselines.CALLS`.
    Raises BadSignature for a text that is no signature, of another version, of an unknown name or field.
    """
    made = parse(text)
    if made.version != VERSION:
        raise BadSignature(f"{text!r} was made by version {made.version}, expected version {VERSION}")
    if made.name not in functions:
        raise BadSignature(f"{text!r} is of nothing known here, expected one of {', '.join(functions)}")
    function = functions[made.name]
    known = inspect.signature(function).parameters
    options = {key: value for key, value in made.fields.items() if key not in _TELLING}
    for key in options:
        if key not in known:
            raise BadSignature(f"{text!r} has a field {key!r} that {made.name} does not know")
    missing = tuple(key for key, value in options.items() if str(value).partition("-")[0] == GIVEN)
    return AnnotationCall(function, {key: options[key] for key in options if key not in missing}, missing)
