"""Compile loops over arrays ("kernels") with numba.

Kernels are compiled once per installation. Machine code is cached next to the source, or in the user's cache folder if
the source is read-only. With NUMBA_DISABLE_JIT=1 kernels run as plain Python, so that coverage can be measured. Numba
notices changes only in the kernel's own file, so the name of the cache has a digest of that file and of all modules of
the package `quorum` that it imports, directly or indirectly.
"""

import ast
import contextlib
import hashlib
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from threading import Timer
from time import monotonic
from typing import Any, TypeVar, cast

Kernel = TypeVar("Kernel", bound=Callable[..., Any])
SECONDS_BEFORE_MESSAGE = 1.0
_PACKAGE = __name__.partition(".")[0]


def compiled(kernel: Kernel) -> Kernel:
    """Compile a kernel at its first call, once for each combination of argument types."""
    import numba  # imported late, since it loads slowly, and modules that only need the types do not need it

    _announce_compiling()
    # numba names the files of its cache by the qualified name.
    kernel.__qualname__ = f"{kernel.__qualname__}-{_prepare_cache(kernel.__module__)}"
    try:
        dispatcher = numba.njit(cache=True, nogil=True)(kernel)
    except RuntimeError:  # no folder for the cache is writable, so every process compiles again
        dispatcher = numba.njit(nogil=True)(kernel)
    return cast(Kernel, dispatcher)  # has the signature of the kernel


@cache
def _announce_compiling() -> None:
    """Let numba write a line to the terminal, once, if compiling kernels takes long."""
    if not sys.stderr.isatty():
        return
    from numba.core import event

    class Announcer(event.Listener):
        def __init__(self) -> None:
            self.depth = 0  # compiling a kernel also compiles those that it calls
            self.seconds_left = SECONDS_BEFORE_MESSAGE  # until the message, summed over all kernels
            self.has_announced = False

        def on_start(self, event: Any) -> None:
            self.depth += 1
            if self.depth == 1:
                self.began, self.timer = monotonic(), Timer(self.seconds_left, self.announce)
                self.timer.daemon = True
                self.timer.start()

        def on_end(self, event: Any) -> None:
            self.depth -= 1
            if self.depth == 0:
                self.timer.cancel()
                self.seconds_left = max(0.0, self.seconds_left - (monotonic() - self.began))

        def announce(self) -> None:
            if not self.has_announced:
                self.has_announced = True
                sys.stderr.write("Compiling metrics and statistics (once) ...\n")

    event.register("numba:compile", Announcer())


@cache
def _prepare_cache(module: str) -> str:
    """Return the name of the module's cache, and delete the module's compiled files that have another name."""
    modules = {module}
    unread_modules = [module]
    while unread_modules:
        new_modules = set(_imports(unread_modules.pop())) - modules
        modules |= new_modules
        unread_modules += new_modules
    checksum = hashlib.sha256()
    for name in sorted(modules):
        checksum.update(_source_file(name).read_bytes())
    digest = checksum.hexdigest()[:8]
    source = _source_file(module)
    for path in source.parent.glob(f"__pycache__/{source.stem}.*.nb[ci]"):
        if digest not in path.name:
            # The folder may be read-only, or another process may have deleted the file.
            with contextlib.suppress(OSError):
                path.unlink()
    return digest


@cache
def _imports(module: str) -> frozenset[str]:
    return frozenset(name for name in _imported_names(module) if _source_file(name).exists())


def _imported_names(module: str) -> Iterator[str]:
    """Yield the dotted names that a module imports. Some of them are names of members of a module."""
    for node in ast.walk(ast.parse(_source_file(module).read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith(_PACKAGE))
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{module} imports relatively, expected whole names"
            if node.module and node.module.startswith(_PACKAGE):
                yield node.module
                yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _source_file(module: str) -> Path:
    name, *inner_names = module.split(".")
    # Top-level packages need not lie side by side: a wheel has `contrib` in `quorum/platform`.
    path = Path(sys.modules[name].__path__[0], *inner_names)
    package = path / "__init__.py"
    # A folder of an earlier version may still exist, with nothing but compiled files.
    return package if package.exists() else path.with_suffix(".py")
