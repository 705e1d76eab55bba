"""Array types of the numeric packages, operations both need, and loops over arrays that numba compiles.

Kernels are compiled once per installation. Machine code is cached beside the source, or in the user's cache folder if
that is read-only. With NUMBA_DISABLE_JIT=1 they run as plain Python, to measure coverage. Numba watches only the
kernel's own file, so the cached name carries a digest of it and of all modules of Quorum that it imports, directly or
not.
"""

import ast
import contextlib
import hashlib
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

ROWS_AT_ONCE = 1 << 16


def ratio(
    part: ArrayLike, whole: NDArray[Any], *, where: Flags | None = None, otherwise: float = math.nan
) -> Floats:
    """Return part / whole elementwise, or ``otherwise`` where whole <= 0 or ``where`` is false."""
    result = np.full(np.broadcast(part, whole).shape, otherwise)
    np.divide(part, whole, out=result, where=whole > 0 if where is None else where)
    return result


def pairs_of_equal(left: Ints, right: Ints) -> tuple[Ints, Ints]:
    """Return the positions in ``left`` and ``right`` of all pairs of equal values, by ``left``."""
    order = np.argsort(right, kind="stable")
    start, end = (np.searchsorted(right[order], left, side) for side in ("left", "right"))
    first = np.repeat(np.arange(len(left)), end - start)
    offset = np.arange(len(first)) - np.repeat(np.cumsum(end - start) - (end - start), end - start)
    return first, order[start[first] + offset]


def places_in(known: Ints, wanted: Ints) -> Ints:
    """Return the positions of ``wanted`` among the distinct ``known``; -1 if absent."""
    if not len(known):
        return np.full(len(wanted), -1, dtype=np.int64)
    low, high = int(known.min()), int(known.max())
    if high - low < 4 * len(known):  # row ids lie close together
        position = np.full(high - low + 2, -1, dtype=np.int64)  # the last one is for what lies outside
        position[known - low] = np.arange(len(known))
        # Without a sign, what lies below is far above.
        return position[np.minimum((wanted - low).view(np.uint64), np.uint64(high - low + 1)).view(np.int64)]
    order = np.argsort(known)
    nearest = order[np.minimum(np.searchsorted(known, wanted, sorter=order), len(known) - 1)]
    return np.where(known[nearest] == wanted, nearest, -1)


def parts_of(rows: int) -> Iterator[slice]:
    """Yield slices of ``rows`` so short that what is computed of one stays in the processor's cache."""
    yield from (slice(start, start + ROWS_AT_ONCE) for start in range(0, rows, ROWS_AT_ONCE))


def starts_of(lengths: Sequence[int] | NDArray[Any]) -> Ints:
    """Return (lists + 1,) int64: the starts of adjacent lists, and the last end."""
    return np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))


Kernel = TypeVar("Kernel", bound=Callable[..., Any])
_PACKAGE = __name__.partition(".")[0]


def compiled(kernel: Kernel) -> Kernel:
    """Compile a kernel when first called, once per argument types."""
    import numba  # slowly, and not for those who want the types alone

    kernel.__qualname__ = f"{kernel.__qualname__}-{_digest(kernel.__module__)}"
    try:
        dispatcher = numba.njit(cache=True, nogil=True)(kernel)
    except RuntimeError:  # no folder can be written: it is compiled again in every process
        dispatcher = numba.njit(nogil=True)(kernel)
    return cast(Kernel, dispatcher)  # called like the function it was made of


@cache
def _digest(module: str) -> str:
    """Return eight digits of a module's sources; delete outdated compiled files."""
    sources = {module}
    unread = [module]
    while unread:
        new = set(_imports(unread.pop())) - sources
        sources |= new
        unread += new
    content = hashlib.sha256()
    for name in sorted(sources):
        content.update(_file(name).read_bytes())
    digest = content.hexdigest()[:8]
    source = _file(module)
    for path in source.parent.glob(f"__pycache__/{source.stem}.*.nb[ci]"):
        if digest not in path.name:
            # The folder may not be writable, or another process was first.
            with contextlib.suppress(OSError):
                path.unlink()
    return digest


@cache
def _imports(module: str) -> frozenset[str]:
    return frozenset(name for name in _imported_names(module) if _file(name).exists())


def _imported_names(module: str) -> Iterator[str]:
    """Yield the dotted names of a module's imports; some name members of modules."""
    for node in ast.walk(ast.parse(_file(module).read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith(_PACKAGE))
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{module} imports relatively, expected whole names"
            if node.module and node.module.startswith(_PACKAGE):
                yield node.module
                yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _file(module: str) -> Path:
    name, *inner = module.split(".")
    path = Path(sys.modules[name].__path__[0], *inner)  # in a wheel, packages lie in several folders
    package = path / "__init__.py"
    # A folder of a former version may be left with its compiled files alone.
    return package if package.exists() else path.with_suffix(".py")
