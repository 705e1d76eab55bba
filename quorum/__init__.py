"""Judge captions, summaries and translations: a library, and the command ``quorum``.

The functions of `quorum.tables` are here, as in ``quorum.alpha(judgments, "ordinal")``. `quorum.metrics` and
`quorum.statistics` have all of them with all options. None needs Django or a database.
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
    # Loaded at first use, as the command starts with this package.
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
