"""The background jobs that ask a model, and compare judges with people."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from contrib.judges.asking import ask_model
from contrib.judges.results.comparison import compare_judges_with_people, store_comparison
from judgments.jobs.runs import JobRun
from judgments.studies.studies import find_study


def ask_judge(
    run: JobRun, *, study: str, budget: str, price_in: str = "0", price_out: str = "0", **options: Any
) -> dict[str, Any]:
    """Ask a model. Budget and prices, of a million tokens, have one currency. A repeated job keeps stored answers."""
    result = ask_model(
        study=find_study(study),
        progress=run.progress,
        budget=Decimal(budget),
        price_in=Decimal(price_in),
        price_out=Decimal(price_out),
        **options,
    )
    return {
        "answered": result.answer_count,
        "failed": result.failure_count,
        "left": result.remaining_count,
        "why": result.reason,
    }


def compare_judges(run: JobRun, *, study: str, **settings: Any) -> None:
    """Compare all judges of a study with its people, and store the comparison."""
    comparison = compare_judges_with_people(study=find_study(study), progress=run.progress, **settings)
    with run.commit() as result:
        result |= {"analysis": store_comparison(comparison).pk, "judges": len(comparison.result["judges"])}
