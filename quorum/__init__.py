"""The library of Quorum, which evaluates captions, summaries and translations by people's judgments and by metrics.

The package offers the functions of `quorum.tables`, as in ``quorum.alpha(judgments, "ordinal")``. The same functions
with all options, and further ones, are in `quorum.metrics` and `quorum.statistics`. None needs Django or a database.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quorum import metrics, statistics, tables
    from quorum.tables import alpha, bradley_terry, dawid_skene, glad, kappa, mace, majority_vote, score

__all__ = [
    "alpha",
    "bradley_terry",
    "dawid_skene",
    "glad",
    "kappa",
    "mace",
    "majority_vote",
    "metrics",
    "score",
    "statistics",
    "tables",
]


def __getattr__(name: str) -> Any:
    # Import at first use: the command `quorum` imports this package, and should start without loading numpy.
    if name == "metrics":
        return import_module("quorum.metrics")
    if name == "statistics":
        return import_module("quorum.statistics")
    if name == "tables":
        return import_module("quorum.tables")
    if name in __all__:
        return getattr(import_module("quorum.tables"), name)
    raise AttributeError(f"module 'quorum' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
