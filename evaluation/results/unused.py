"""How many answers to a study's items do not count, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from django.db.models import Count

from annotation.models import Assignment, Judgment
from evaluation.judgment_sets.records import JudgmentTable
from judgments.models import Study
from judgments.templatetags.judgments_tags import percent


def unused_answers(study: Study, table: JudgmentTable) -> dict[str, Any]:
    """Count the answers that do not count, by reason; check questions are not among them."""
    below = np.array([worker for worker, record in table.records.items() if not record.used], dtype=np.int64)
    unused = ~table.used & ~table.control
    of_below = unused & np.isin(table.worker, below)
    gone = Judgment.objects.filter(assignment__study=study, replaced_by__isnull=True, unit__control=False)
    excluded = gone.filter(assignment__state=Assignment.State.INVALIDATED).aggregate(
        answers=Count("pk"), people=Count("assignment__worker", distinct=True)
    )
    apart = gone.filter(assignment__state=Assignment.State.APART).count()
    return {
        "answers": int((~table.control).sum()) + excluded["answers"] + apart,
        "below": {"answers": int(of_below.sum()), "people": len(np.unique(table.worker[of_below]))},
        "excluded": excluded,
        "other": int((unused & ~of_below).sum()) + apart,
    }


def unused_sentence(found: Mapping[str, Any]) -> str:
    """Say it; "" where all answers count."""
    below, excluded, other = found["below"], found["excluded"], found["other"]
    unused = below["answers"] + excluded["answers"] + other
    if not unused:
        return ""
    reasons = [
        f"{_people(below)} answered too few check questions right ({below['answers']:,})"
        if below["answers"]
        else "",
        f"{_people(excluded)} {'was' if excluded['people'] == 1 else 'were'} excluded ({excluded['answers']:,})"
        if excluded["answers"]
        else "",
        f"the crowd or the source of the data does not confirm them ({other:,})" if other else "",
    ]
    whole = found["answers"]
    return (
        f"{unused:,} of {whole:,} answers ({percent(unused / whole)}) are not used: "
        f"{', and '.join(filter(None, reasons))}."
    )


def unused_context(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the pages show of a result; those of earlier versions do not say it."""
    found = result.get("unused")
    if not found:
        return {}
    return {
        "unused": unused_sentence(found),
        "unused_below": found["below"]["answers"],
        "unused_excluded": found["excluded"]["answers"],
    }


def _people(found: Mapping[str, int]) -> str:
    return f"{found['people']:,} participant{'s' if found['people'] != 1 else ''}"
