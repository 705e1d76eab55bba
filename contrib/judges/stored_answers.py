"""Give other features the stored answers of judges, and say whether a study's pages of work must be kept for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.utils.translation import gettext as _

from contrib.judges.models import Judge, JudgeAnswer
from evaluation.data.judgment_sets.loaders import ROWS_PER_BATCH
from judgments.models import Study


def answers_of_judges(study: Study) -> Iterator[tuple[str, int, float | None]]:
    """Yield the judge's name, the unit's row id and the value of each answer; None for an open answer."""
    answers = JudgeAnswer.objects.filter(judge__study=study, state=JudgeAnswer.State.ANSWERED)
    yield from answers.order_by("pk").values_list("judge__name", "unit_id", "value").iterator(ROWS_PER_BATCH)


def reason_against_discarding(study: Study, **_signal: Any) -> str:
    """Return why the study's pages of work cannot be discarded, or "" if it has no judge. This receives a signal."""
    if not Judge.objects.filter(study=study).exists():
        return ""
    return _(
        "Study %(slug)r has answers of a judge, so its pages of work cannot be discarded. Remove the judge "
        "first, or duplicate the study."
    ) % {"slug": study.slug}
