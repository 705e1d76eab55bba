"""Limits of this process that stand for those of a machine."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def longest_file(size: int) -> Iterator[None]:
    """Let no file grow beyond ``size`` bytes, as a full disk does."""
    before, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (before, most))
