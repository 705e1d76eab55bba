"""Kernels of plain loops, compiled by numba once per installation.

The compiled form lies beside the source or, where that cannot be written, in the user's cache folder. With
NUMBA_DISABLE_JIT=1 the same functions run as the Python they are, which is how their coverage is measured.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def compiled(kernel: Kernel) -> Kernel:
    """The kernel in machine code, made at its first call for each kind of arguments."""
    try:
        made = numba.njit(cache=True, nogil=True)(kernel)
    except RuntimeError:  # no folder can be written: it is compiled again in every process
        made = numba.njit(nogil=True)(kernel)
    return cast(Kernel, made)  # called like the function it was made of
