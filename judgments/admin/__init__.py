"""The designer's pages in the admin, and the rows behind them to look at."""

from judgments.admin import (
    accounts,
    datasets,
    jobs,
    presets,
    rows,
    studies,
    study_design,
    study_hits,
    study_people,
    study_reuse,
    tokens,
)

__all__ = [
    "accounts",
    "datasets",
    "jobs",
    "presets",
    "rows",
    "studies",
    "study_design",
    "study_hits",
    "study_people",
    "study_reuse",
    "tokens",
]
