"""Errors of the metrics, and checks of their arguments."""

from collections.abc import Collection, Iterable
from itertools import chain
from numbers import Integral
from typing import Any

from quorum.numeric.names import nearest_name


class MetricsError(ValueError):
    pass


class UnknownName(MetricsError):
    """An unknown metric, tokenizer or option. The message names the nearest known one."""

    def __init__(self, what: str, name: object, known_names: Iterable[str]) -> None:
        known_names = list(known_names)
        suggestion = nearest_name(name, known_names)
        hint = f"did you mean {suggestion!r}? " if suggestion else ""
        super().__init__(f"unknown {what} {name!r}; {hint}known: {', '.join(known_names) or 'none'}")


class InvalidInput(MetricsError):
    pass


class MissingTables(MetricsError):
    """METEOR's tables are missing. The message says how to get them, and which stages work without them."""


class PackageFailed(MetricsError):
    """A metric of another package cannot be loaded or computed."""


class InvalidFile(MetricsError):
    pass


def check_collection(values: object, what: str, expected: str) -> None:
    if isinstance(values, str | bytes) or not isinstance(values, Collection):
        raise InvalidInput(f"{what} is a {type(values).__name__}, expected {expected}")


def check_lists_of(
    lists: Any, what: str, members: str, expected: str = "", kinds: tuple[type, ...] = (list, tuple)
) -> None:
    check_collection(lists, what, expected or f"lists of {members}")
    for position, texts in enumerate(lists):
        if isinstance(texts, str) or not isinstance(texts, kinds):
            raise InvalidInput(
                f"{what}[{position}] is a {type(texts).__name__}, expected a list of {members}"
            )
    if not are_texts(chain.from_iterable(lists)):
        position = next(position for position, texts in enumerate(lists) if not are_texts(texts))
        raise InvalidInput(f"{what}[{position}] holds something that is no text, expected {members}")


def are_texts(values: Iterable[Any]) -> bool:
    # Checking the distinct types is faster than checking each value.
    return all(issubclass(kind, str) for kind in set(map(type, values)))


def whole_count(value: object, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < 1:
        raise InvalidInput(f"{what} is {value!r}, expected a whole number from 1 on")
    return int(value)
