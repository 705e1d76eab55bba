"""Serialise values for other processes, which may run on other machines.

A value is written as a line of JSON with its plain values, followed by its arrays. Declared functions, classes and
objects are written with their dotted names. Unlike unpickling, reading runs no code of the sender: it imports modules
of given packages, and calls only functions and classes that are declared in this module or by `declare`. Attributes of
objects are set without calling methods of their classes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from datetime import datetime
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, TypeVar
from uuid import UUID

import numpy as np

PLAIN_TYPES = {type(None), bool, int, float, str}
Declared = TypeVar("Declared", bound=Callable[..., Any])

_declared: dict[str, Any] = {}  # functions and classes, by dotted name
# Functions that convert objects to simpler values, and back, by the dotted name of the class.
_simplifiers: dict[str, Callable[[Any], Any]] = {}
_restorers: dict[str, Callable[[Any], Any]] = {}


class NotPackable(Exception):
    """The value contains something that cannot be sent to another process, such as a nested function."""


def declare(declared: Declared) -> Declared:
    """Allow a function or class, and the objects of a class, to be sent to other processes by name, and return it."""
    _declared[_dotted_name(declared)] = declared
    return declared


def declare_kind(kind: type | str, to: Callable[[Any], Any], back: Callable[[Any], Any]) -> None:
    """Allow objects of a class to be sent as simpler values: `to` converts an object, and `back` restores it.

    `kind` may be the name of a class that is not loaded yet, such as "scipy.sparse._csr:csr_array".
    """
    name = kind if isinstance(kind, str) else _dotted_name(kind)
    _simplifiers[name], _restorers[name] = to, back


def _dotted_name(declared: Any) -> str:
    return f"{declared.__module__}:{declared.__qualname__}"


def _restore_generator(state: dict[str, Any]) -> np.random.Generator:
    bits = {"PCG64": np.random.PCG64, "Philox": np.random.Philox}[state["bit_generator"]]()
    bits.state = state
    return np.random.Generator(bits)


declare_kind(tuple, list, tuple)
declare_kind(set, list, set)
declare_kind(frozenset, list, frozenset)
declare_kind(dict, lambda value: [list(pair) for pair in value.items()], dict)
declare_kind(range, lambda value: [value.start, value.stop, value.step], lambda ends: range(*ends))
declare_kind(bytes, lambda value: np.frombuffer(value, np.uint8), lambda array: array.tobytes())
declare_kind(datetime, datetime.isoformat, datetime.fromisoformat)
declare_kind(UUID, str, UUID)
declare_kind(np.random.Generator, lambda value: value.bit_generator.state, _restore_generator)
declare_kind(
    partial,
    lambda value: [value.func, value.args, value.keywords],
    lambda parts: partial(parts[0], *parts[1], **parts[2]),
)
declare_kind(type(Path()), str, Path)  # the class of paths of this system


def write(value: Any, file: BinaryIO) -> None:
    """Write a value for another process. Raise NotPackable, before anything is written, if it cannot be serialised."""
    arrays: list[Any] = []
    line = json.dumps(_pack_value(value, arrays))
    file.write(f"{line}\n".encode())
    for array in arrays:
        np.save(file, array, allow_pickle=False)


def read(file: BinaryIO, packages: Collection[str]) -> Any:
    """Return the value that `write` wrote. Raise ValueError if it names an object outside `packages`."""
    return _Reader(file, packages).unpack_value(json.loads(file.readline()))


def _pack_value(value: Any, arrays: list[Any]) -> Any:
    """Return a value for JSON, and add its arrays, for each of which it has a placeholder, to `arrays`.

    For example, a tuple of 1 and an array is {"builtins:tuple": [1, {"array": None}]}.
    """
    kind = type(value)
    if kind in PLAIN_TYPES:
        return value
    if kind is list:
        return (
            value if set(map(type, value)) <= PLAIN_TYPES else [_pack_value(item, arrays) for item in value]
        )
    if isinstance(value, np.ndarray | np.generic) and not value.dtype.hasobject:
        arrays.append(value)
        return {"array": None}
    name = _dotted_name(value if hasattr(value, "__qualname__") else kind)
    if name in _simplifiers:
        return {name: _pack_value(_simplifiers[name](value), arrays)}
    declared = _declared.get(name)
    if declared is value:
        return {name: None}
    if declared is kind:
        return {name: _pack_value(_attributes(value), arrays)}
    raise NotPackable(f"{kind.__module__}.{kind.__qualname__} is not declared")


def _attributes(value: Any) -> list[Any]:
    """Return the fields of a named tuple, or the pairs of name and value of another object's attributes."""
    if isinstance(value, tuple):
        return list(value)
    slots = [name for base in type(value).__mro__ for name in getattr(base, "__slots__", ())]
    pairs = [[name, getattr(value, name)] for name in slots if hasattr(value, name)]
    return pairs + [list(pair) for pair in getattr(value, "__dict__", {}).items()]


class _Reader:
    """A reader of a packed value, and of its arrays, which follow in the file in the order of the value."""

    def __init__(self, file: BinaryIO, packages: Collection[str]) -> None:
        self._file, self._packages = file, packages

    def unpack_value(self, value: Any) -> Any:
        if isinstance(value, list):
            return (
                value if set(map(type, value)) <= PLAIN_TYPES else [self.unpack_value(item) for item in value]
            )
        if not isinstance(value, dict):
            return value
        ((name, content),) = value.items()
        if name == "array":
            array = np.load(self._file, allow_pickle=False)
            return array if array.ndim else array[()]  # a single number has no dimensions
        if name in _restorers:
            return _restorers[name](self.unpack_value(content))
        # Import this class first, as its module may declare the objects in the value.
        declared = self._import_declared(name)
        if content is None:
            return declared
        if issubclass(declared, tuple):
            return declared(*self.unpack_value(content))
        instance = object.__new__(declared)
        for attribute, attribute_value in self.unpack_value(content):
            object.__setattr__(instance, attribute, attribute_value)
        return instance

    def _import_declared(self, name: str) -> Any:
        module = name.partition(":")[0]
        if name not in _declared and module.partition(".")[0] in self._packages:
            import_module(module)
        if name not in _declared:
            raise ValueError(f"{name!r} is not declared for other processes")
        return _declared[name]
