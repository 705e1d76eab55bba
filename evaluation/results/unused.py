"""Count a study's unused answers by reason."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from django.db.models import Count
from django.utils.translation import gettext, ngettext

from annotation.models import Assignment, Judgment
from common.amounts import thousands
from evaluation.judgment_sets.records import JudgmentTable
from evaluation.report.content import percent
from judgments.models import Study


def unused_answers(study: Study, table: JudgmentTable) -> dict[str, Any]:
    """Count unused answers by reason, except on control items."""
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
    """Describe unused answers; "" without any."""
    below, excluded, other = found["below"], found["excluded"], found["other"]
    unused = below["answers"] + excluded["answers"] + other
    if not unused:
        return ""
    reasons = []
    if below["answers"]:
        reasons.append(
            ngettext(
                "%(n)s participant answered too few check questions right (%(answers)s)",
                "%(n)s participants answered too few check questions right (%(answers)s)",
                below["people"],
            )
            % _numbers(below)
        )
    if excluded["answers"]:
        reasons.append(
            ngettext(
                "%(n)s participant was excluded (%(answers)s)",
                "%(n)s participants were excluded (%(answers)s)",
                excluded["people"],
            )
            % _numbers(excluded)
        )
    if other:
        reasons.append(
            gettext("the crowd or the source of the data does not confirm them (%(answers)s)")
            % {"answers": thousands(other)}
        )
    return gettext("%(unused)s of %(whole)s answers (%(share)s) are not used: %(reasons)s.") % {
        "unused": thousands(unused),
        "whole": thousands(found["answers"]),
        "share": percent(unused / found["answers"]),
        "reasons": gettext(", and ").join(reasons),
    }


def unused_context(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return a result's context for pages; {} from earlier versions."""
    found = result.get("unused")
    if not found:
        return {}
    return {
        "unused": unused_sentence(found),
        "unused_below": found["below"]["answers"],
        "unused_excluded": found["excluded"]["answers"],
    }


def _numbers(found: Mapping[str, int]) -> dict[str, str]:
    return {"n": thousands(found["people"]), "answers": thousands(found["answers"])}
