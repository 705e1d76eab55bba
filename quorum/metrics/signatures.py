"""Signatures of content selection and of keywords, and the calls that they describe."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from quorum.numeric.signatures import (
    BadSignature,
    Call,
    Signature,
    Value,
    call_of_function,
    parse_version,
    placeholder_of_texts,
)

VERSION = "1.0"

# Fields that describe the data and are not options: "eval" in signatures of keywords (`evaluation_fields`), and "of",
# the two rankings, in those of "content-mean".
_DATA_FIELDS = ("eval", "of")


def measure_signature(name: str, **fields: Value) -> str:
    return str(Signature(name, fields, VERSION))


def vocabulary_name(vocabulary: Collection[str]) -> str:
    """Return the placeholder of a vocabulary in signatures, which has a digest of its words."""
    return placeholder_of_texts([[word] for word in sorted(vocabulary)])


def call_of_measure(text: str, functions: Mapping[str, Callable[..., Any]]) -> Call:
    """Return the call that a signature describes. `functions` (`CALLS` of a module) are by their names in signatures.

    Raise BadSignature if the signature names none of the functions, or has an option that its function lacks.
    """
    signature = parse_version(text, VERSION)
    if signature.name not in functions:
        raise BadSignature(f"{text!r} is of nothing known here, expected one of {', '.join(functions)}")
    options = {key: value for key, value in signature.fields.items() if key not in _DATA_FIELDS}
    return call_of_function(text, functions[signature.name], options)
