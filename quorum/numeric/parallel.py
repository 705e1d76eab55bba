"""Compute parts of one result in several processes.

`map_parts` yields the results of the parts in their order, so that a result does not depend on who computed it.
By default this process computes all; `using` sets another pool, such as `LocalPool` for this machine.
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

# Computes a part from what all parts share: `function(shared, part)`, a function of a module.
PartFunction = Callable[[Any, Any], Any]
# Closing them ends the work on parts that are under way.
Results = Generator[Any, None, None]
RESTARTS = 3  # of a pool whose process was killed


class Pool(Protocol):
    def map(
        self, function: PartFunction, shared: Any, parts: Sequence[Any], *, threads: bool = False
    ) -> Results: ...


class Serial:
    """The pool of one process: this one."""

    def map(
        self, function: PartFunction, shared: Any, parts: Sequence[Any], *, threads: bool = False
    ) -> Results:
        return (function(shared, part) for part in parts)


_pool: ContextVar[Pool] = ContextVar("pool", default=Serial())  # noqa: B039 - without state


def map_parts(function: PartFunction, shared: Any, parts: Sequence[Any], *, threads: bool = False) -> Results:
    """Yield `function(shared, part)` for each part, in order.

    The function must be importable by its name, and depend on nothing but its arguments and stored data. Parts and
    results go to child processes and back, which inherit `shared`. Workers compute what `packing` can write.

    Args:
        threads: the function spends its time in compiled code that other threads can run beside.
    """
    return _pool.get().map(function, shared, parts, threads=threads)


@contextmanager
def using(pool: Pool) -> Iterator[None]:
    """Let `map_parts` use a pool within the block."""
    before = _pool.set(pool)
    try:
        yield
    finally:
        _pool.reset(before)


class LocalPool:
    """Processes of this machine, forked at each `map`, so that they share the memory of what is loaded, or threads.

    Args:
        before_fork: called in this process first, to close what children must not share.
    """

    def __init__(self, workers: int, before_fork: Callable[[], object] = lambda: None) -> None:
        self._workers, self._before_fork = workers, before_fork

    def map(
        self, function: PartFunction, shared: Any, parts: Sequence[Any], *, threads: bool = False
    ) -> Results:
        """Yield results in order. Parts of a killed process are computed again, by a new pool."""
        if min(self._workers, len(parts)) < 2:
            yield from Serial().map(function, shared, parts)
            return
        if threads:
            with ThreadPoolExecutor(self._workers) as executor:
                yield from executor.map(partial(function, shared), parts)
            return
        done = 0
        for attempt in range(RESTARTS + 1):
            try:
                for result in self._results(function, shared, parts[done:]):
                    done += 1
                    yield result
                return
            except BrokenProcessPool:
                if attempt == RESTARTS:
                    raise

    def _results(self, function: PartFunction, shared: Any, parts: Sequence[Any]) -> Iterator[Any]:
        self._before_fork()
        executor = ProcessPoolExecutor(
            min(self._workers, len(parts)), get_context("fork"), _start_child, (os.getpid(), function, shared)
        )
        waiting: deque[Future[Any]] = deque()
        try:
            for part in parts:
                waiting.append(executor.submit(_compute, part))
                if len(waiting) > 2 * self._workers:  # results wait in memory
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            executor.shutdown(cancel_futures=True)


_task: tuple[PartFunction, Any] | None = None  # of a child


def _start_child(parent: int, function: PartFunction, shared: Any) -> None:
    global _task
    _task = function, shared
    _pool.set(Serial())
    Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    """End this process if its parent was killed: it would wait for parts without end."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def _compute(part: Any) -> Any:
    assert _task is not None
    function, shared = _task
    return function(shared, part)
