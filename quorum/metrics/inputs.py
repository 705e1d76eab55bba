"""Errors of the metrics, and checks of their arguments."""

from collections.abc import Collection, Iterable, Sequence
from itertools import chain
from numbers import Integral
from typing import Any

import numpy as np

from quorum.numeric.names import nearest_name


class MetricsError(ValueError):
    """The base class of the errors of metrics."""


class UnknownName(MetricsError):
    """An unknown metric, tokenizer or option. The message names the nearest known one."""

    def __init__(self, what: str, name: object, known_names: Iterable[str]) -> None:
        known_names = list(known_names)
        suggestion = nearest_name(name, known_names)
        hint = f"did you mean {suggestion!r}? " if suggestion else ""
        super().__init__(f"unknown {what} {name!r}; {hint}known: {', '.join(known_names) or 'none'}")


class InvalidInput(MetricsError):
    """An argument of a metric cannot be used."""


class MissingTables(MetricsError):
    """METEOR's tables are missing. The message says how to get them, and which stages work without them."""


class PackageFailed(MetricsError):
    """A metric of another package cannot be loaded or computed."""


class InvalidFile(MetricsError):
    """A file cannot be read, or does not hold what is expected."""


def check_lists(lists: object, what: str) -> None:
    """Raise InvalidInput if `lists`, which messages call `what`, is no sequence or is empty. Do not read the lists."""
    if isinstance(lists, str | bytes) or not isinstance(lists, Sequence | np.ndarray):
        raise InvalidInput(f"{what} is a {type(lists).__name__}, expected a sequence of lists of str")
    if len(lists) == 0:
        raise InvalidInput(f"{what} is empty, expected a list of references for each image")


def check_texts(texts: object, what: str) -> None:
    """Raise InvalidInput unless `texts`, which messages call `what`, is a sequence of one str or more."""
    if isinstance(texts, str | bytes) or not isinstance(texts, Sequence | np.ndarray):
        raise InvalidInput(f"{what} is a {type(texts).__name__}, expected a sequence of str")
    if len(texts) == 0:
        raise InvalidInput(f"{what} is empty, expected at least one text")
    if set(map(type, texts)) != {str}:
        for position, text in enumerate(texts):
            if not isinstance(text, str):
                raise InvalidInput(f"{what}[{position}] is a {type(text).__name__}, expected str")


def check_collection(values: object, what: str, expected: str) -> None:
    """Raise InvalidInput if `values`, which messages call `what`, is no collection or is a text."""
    if isinstance(values, str | bytes) or not isinstance(values, Collection):
        raise InvalidInput(f"{what} is a {type(values).__name__}, expected {expected}")


def check_lists_of(
    lists: Any, what: str, members: str, expected: str = "", list_types: tuple[type, ...] = (list, tuple)
) -> None:
    """Raise InvalidInput unless `lists`, which messages call `what`, is a collection of lists of texts.

    `members` is what messages call the texts, such as "labels".
    """
    check_collection(lists, what, expected or f"lists of {members}")
    for position, texts in enumerate(lists):
        if isinstance(texts, str) or not isinstance(texts, list_types):
            raise InvalidInput(
                f"{what}[{position}] is a {type(texts).__name__}, expected a list of {members}"
            )
    if not are_texts(chain.from_iterable(lists)):
        position = next(position for position, texts in enumerate(lists) if not are_texts(texts))
        raise InvalidInput(f"{what}[{position}] holds something that is no text, expected {members}")


def are_texts(values: Iterable[Any]) -> bool:
    # Checking the distinct types is faster than checking each value.
    return all(issubclass(kind, str) for kind in set(map(type, values)))


def checked_count(value: object, what: str) -> int:
    """Return the value as an int. Raise InvalidInput if it, which messages call `what`, is no whole number above 0."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < 1:
        raise InvalidInput(f"{what} is {value!r}, expected a whole number from 1 on")
    return int(value)
