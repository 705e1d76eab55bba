"""How many answers to a study's items do not count, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from django.db.models import Count
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.models import Assignment, Judgment
from common.amounts import thousands
from evaluation.judgment_sets.records import JudgmentTable
from judgments.models import Study


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
        _("%(people)s answered too few check questions right (%(n)s)")
        % {"people": _people(below), "n": thousands(below["answers"])}
        if below["answers"]
        else "",
        ngettext("%(people)s was excluded (%(n)s)", "%(people)s were excluded (%(n)s)", excluded["people"])
        % {"people": _people(excluded), "n": thousands(excluded["answers"])}
        if excluded["answers"]
        else "",
        _("the crowd or the source of the data does not confirm them (%(n)s)") % {"n": thousands(other)}
        if other
        else "",
    ]
    whole = found["answers"]
    return _("%(n)s of %(whole)s answers (%(share)s) are not used: %(reasons)s.") % {
        "n": thousands(unused),
        "whole": thousands(whole),
        "share": f"{100 * unused / whole:.0f} %",
        "reasons": _(", and ").join(filter(None, reasons)),
    }


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
    words = ngettext("%(n)s participant", "%(n)s participants", found["people"])
    return words % {"n": thousands(found["people"])}
