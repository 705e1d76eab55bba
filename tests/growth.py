"""How the work of a service grows with its study: lines are counted, so a busy machine changes nothing.

Three sizes, each twice the one before. The work is taken apart into what does not depend on the size (which the
differences drop) and what does: the second step up is twice the first one for linear work, four times for quadratic.
"""

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from django.db import connection

from tests.fetching import questions

ROOT = Path(__file__).resolve().parent.parent
OWN = tuple(
    f"{ROOT / name}/" for name in ("annotation", "common", "config", "contrib", "evaluation", "judgments")
)
DATABASE_STEP = 20  # instructions of SQLite's machine between two looks
LINEAR, MOST = 2.0, 2.5  # n log n stays below 2.3 at the sizes of these tests; quadratic is 4


@dataclass(frozen=True)
class Work:
    """What a call cost.

    Attributes:
        python: lines that Quorum's own modules ran, one for each pass of a loop or comprehension, and where they
            were: "module:function" -> count.
        database: instructions of SQLite's virtual machine, in units of ``DATABASE_STEP``; 0 on other databases.
        rows: fetched from the database.
    """

    python: int
    places: Counter[str]
    database: int
    rows: int


def work_of(call: Callable[[], Any]) -> Work:
    """Do ``call`` once and count."""
    places: Counter[Any] = Counter()
    database = 0

    own: dict[str, bool] = {}

    def step(frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            places[frame.f_code] += 1
        return step

    def enter(frame: FrameType, event: str, argument: Any) -> Any:
        name = frame.f_code.co_filename
        if name not in own:
            own[name] = name.startswith(OWN)
        return step if own[name] else None

    def tick() -> int:
        nonlocal database
        database += 1
        return 0

    connection.ensure_connection()
    on_sqlite = connection.vendor == "sqlite"
    before = sys.gettrace()
    with questions() as asked:
        if on_sqlite:
            connection.connection.set_progress_handler(tick, DATABASE_STEP)
        sys.settrace(enter)
        try:
            call()
        finally:
            sys.settrace(before)
            if on_sqlite:
                connection.connection.set_progress_handler(None, 0)
    named: Counter[str] = Counter()
    for code, count in places.items():
        named[f"{Path(code.co_filename).relative_to(ROOT)}:{code.co_qualname}"] += count
    return Work(named.total(), named, database, sum(one.rows for one in asked))


def growth(counts: Sequence[int]) -> float:
    """The second step up of three counts, at n, 2n and 4n, over the first; 2 is linear. 0 where nothing grows."""
    small, middle, large = counts
    return (large - middle) / (middle - small) if middle > small else float(large > middle) * MOST * 2


def check_linear(works: Sequence[Work]) -> None:
    """Fail where the work of three calls, at n, 2n and 4n, grows faster than n log n; name the functions that do."""
    python = growth([work.python for work in works])
    steepest = sorted(
        works[2].places, key=lambda name: works[2].places[name] - 4 * works[0].places[name], reverse=True
    )
    named = ", ".join(
        f"{name} ({' '.join(str(work.places[name]) for work in works)})" for name in steepest[:3]
    )
    assert python <= MOST, f"lines grow {python:.2f}-fold where linear is {LINEAR:g}: {named}"
    for what in ("database", "rows"):
        counts = [getattr(work, what) for work in works]
        assert growth(counts) <= MOST, f"{what}: {counts}"
