"""Compute parts of one result in several threads or processes.

`map_parts` yields the results of the parts in order, so the whole result does not depend on which process computed a
part. By default the calling process computes all parts. `use_pool` sets another pool, such as `LocalPool`.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from multiprocessing import get_context
from threading import Thread
from typing import Any, Protocol

# Computes a part: `function(shared, part)`. `shared` is the same for all parts.
PartFunction = Callable[[Any, Any], Any]
# Close the generator to stop the computation of further parts.
Results = Generator[Any, None, None]
POOL_RESTARTS = 3  # largest number of restarts of a pool after one of its processes was killed


class Pool(Protocol):
    """Something that computes parts, as `map_parts` describes."""

    def map(
        self, function: PartFunction, shared: Any, parts: Sequence[Any], *, threads: bool = False
    ) -> Results: ...


class Serial:
    """A pool that computes all parts in the calling process."""

    def map(
        self, function: PartFunction, shared: Any, parts: Sequence[Any], *, threads: bool = False
    ) -> Results:
        return (function(shared, part) for part in parts)


_pool: ContextVar[Pool] = ContextVar("pool", default=Serial())  # noqa: B039 - without state


def map_parts(function: PartFunction, shared: Any, parts: Sequence[Any], *, threads: bool = False) -> Results:
    """Yield `function(shared, part)` for each part, in order.

    The function must be importable by name, and may depend only on its arguments and on stored data. Parts and results
    are sent to and from child processes, which inherit `shared`. Workers on other machines compute parts only if
    `quorum.numeric.packing` can write the function, `shared` and the parts to a file.

    Args:
        threads: whether the function spends its time in compiled code, which several threads can run at once.
    """
    return _pool.get().map(function, shared, parts, threads=threads)


@contextmanager
def use_pool(pool: Pool) -> Iterator[None]:
    """Let `map_parts` use a pool within the `with` block."""
    token = _pool.set(pool)
    try:
        yield
    finally:
        _pool.reset(token)


class LocalPool:
    """A pool of threads, or of processes that are forked at each `map` and so share what is loaded.

    Args:
        before_fork: a function that is called before forking, to close what children must not share.
    """

    def __init__(self, workers: int, before_fork: Callable[[], object] = lambda: None) -> None:
        self._workers, self._before_fork = workers, before_fork

    def map(
        self, function: PartFunction, shared: Any, parts: Sequence[Any], *, threads: bool = False
    ) -> Results:
        """Yield the results in order. If a process is killed, compute the remaining parts with a new pool."""
        if min(self._workers, len(parts)) < 2:
            yield from Serial().map(function, shared, parts)
            return
        if threads:
            with ThreadPoolExecutor(self._workers) as executor:
                yield from executor.map(partial(function, shared), parts)
            return
        done_count = 0
        for attempt in range(POOL_RESTARTS + 1):
            try:
                for result in self._results(function, shared, parts[done_count:]):
                    done_count += 1
                    yield result
                return
            except BrokenProcessPool:
                if attempt == POOL_RESTARTS:
                    raise

    def _results(self, function: PartFunction, shared: Any, parts: Sequence[Any]) -> Iterator[Any]:
        self._before_fork()
        executor = ProcessPoolExecutor(
            min(self._workers, len(parts)), get_context("fork"), _start_child, (os.getpid(), function, shared)
        )
        futures: deque[Future[Any]] = deque()
        try:
            for part in parts:
                futures.append(executor.submit(_compute, part))
                if len(futures) > 2 * self._workers:  # do not compute far ahead, as results wait in memory
                    yield futures.popleft().result()
            while futures:
                yield futures.popleft().result()
        finally:
            executor.shutdown(cancel_futures=True)


_task: tuple[PartFunction, Any] | None = None  # the function and shared value, in a child process


def _start_child(parent: int, function: PartFunction, shared: Any) -> None:
    global _task
    _task = function, shared
    _pool.set(Serial())
    Thread(target=_exit_with_parent, args=(parent,), daemon=True).start()


def _exit_with_parent(parent: int) -> None:
    """Exit when the parent process has ended, so that this process does not wait forever for parts."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def _compute(part: Any) -> Any:
    assert _task is not None
    function, shared = _task
    return function(shared, part)
