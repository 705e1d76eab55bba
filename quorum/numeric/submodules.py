"""Import the modules of a package when they are first used, as attributes of the package."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from types import ModuleType


def lazy_modules(
    package: str, folders: Iterable[str]
) -> tuple[Callable[[str], ModuleType], Callable[[], list[str]]]:
    """Return the functions ``__getattr__`` and ``__dir__`` of a package with the ``__path__`` ``folders``.

    A program that needs few modules of the package does not load the others.
    """

    def get_module(name: str) -> ModuleType:
        if name.startswith("_") or find_spec(f"{package}.{name}") is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return import_module(f"{package}.{name}")

    def list_names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *(module.name for module in iter_modules(folders))})

    return get_module, list_names
