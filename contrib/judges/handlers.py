"""The jobs that ask judges and compare them with people."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from contrib.judges.asking import ask_model
from contrib.judges.comparison import compare_judges_with_people as judges_beside_people
from contrib.judges.comparison import store_comparison
from judgments.jobs.runs import JobRun
from judgments.studies.studies import find_study


def ask_judge(
    run: JobRun, *, study: str, budget: str, price_in: str = "0", price_out: str = "0", **values: Any
) -> dict[str, Any]:
    """Ask a model. A repeated job continues where an interrupted job stopped."""
    answers = ask_model(
        study=find_study(study),
        progress=run.progress,
        budget=Decimal(budget),
        price_in=Decimal(price_in),
        price_out=Decimal(price_out),
        **values,
    )
    return {
        "answered": answers.answer_count,
        "failed": answers.failure_count,
        "left": answers.remaining_count,
        "why": answers.reason,
    }


def compare_judges(run: JobRun, *, study: str, **values: Any) -> None:
    comparison = judges_beside_people(study=find_study(study), progress=run.progress, **values)
    with run.commit() as result:
        result |= {"analysis": store_comparison(comparison).pk, "judges": len(comparison.result["judges"])}
