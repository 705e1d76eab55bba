"""Kernels of plain loops, compiled by numba once per installation.

The compiled form lies beside the source or, where that cannot be written, in the user's cache folder. With
NUMBA_DISABLE_JIT=1 the same functions run as the Python they are, which is how their coverage is measured.
"""

import contextlib
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

_FOLDER = Path(__file__).parent


def _digest(package: str) -> str:
    """What a package's modules hold, in eight digits."""
    seen = hashlib.sha256()
    for path in sorted((_FOLDER / package).rglob("*.py")):
        seen.update(path.read_bytes())
    return seen.hexdigest()[:8]


# A kernel is compiled together with those it calls, but numba looks for changes in its own file alone. It names
# what it keeps after the function, so the name tells the state of the whole package.
_SOURCES = {package: _digest(package) for package in ("metrics", "statistics")}


def _forget_other_sources() -> None:
    """Remove what was compiled from other sources; where the folder is read-only there is nothing of the kind."""
    for package, digest in _SOURCES.items():
        for path in (_FOLDER / package).rglob("__pycache__/*.nb[ci]"):
            if digest not in path.name:
                with contextlib.suppress(OSError):
                    path.unlink()


_forget_other_sources()


def compiled(kernel: Kernel) -> Kernel:
    """The kernel in machine code, made at its first call for each kind of arguments.

    For the modules of evaluation.metrics and evaluation.statistics only.
    """
    kernel.__qualname__ = f"{kernel.__qualname__}-{_SOURCES[kernel.__module__.split('.')[1]]}"
    try:
        made = numba.njit(cache=True, nogil=True)(kernel)
    except RuntimeError:  # no folder can be written: it is compiled again in every process
        made = numba.njit(nogil=True)(kernel)
    return cast(Kernel, made)  # called like the function it was made of
