"""The page "Disagreement" of a study."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.http import require_safe

from evaluation.disagreement.analysis import (
    ALWAYS,
    CROWD,
    EQUALLY,
    cached_disagreement,
    disagreement_in_words,
    has_soft_labels,
)
from evaluation.errors import EvaluationError
from evaluation.results.consensus import SIDES_IN_WORDS
from judgments.models import Study
from judgments.studies.studies import kind_of
from judgments.studies.study_page import Context, Group, StudyPage, add_page

JUDGES_SHOWN = 20
BASELINES = {
    EQUALLY: gettext_noop("Every answer equally likely"),
    ALWAYS: gettext_noop("The same shares for all items"),
}
KNOWN = {"country": gettext_noop("Country"), "source": gettext_noop("Where people came from")}


@require_safe
def show_disagreement(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    try:
        found = cached_disagreement(study, request.user)
    except EvaluationError as error:
        context["refused"] = _(str(error))
    else:
        context |= _shown(study, found)
    return TemplateResponse(request, "evaluation/study_soft_labels.html", context)


def _shown(study: Study, found: dict[str, Any]) -> dict[str, Any]:
    labels = _labels(study, found["labels"])
    judges = found.get("judges", [])
    groups = found.get("groups", {})
    return {
        "found": found,
        "sentence": disagreement_in_words(found),
        "labels": labels,
        "predictors": [
            row | {"name": _(BASELINES.get(row["name"], row["name"]))} for row in found["predictors"]
        ],
        "disputed": found["disputed"],
        "judges": judges[:JUDGES_SHOWN],
        "judges_left": max(0, len(judges) - JUDGES_SHOWN),
        "groups": groups,
        "tables": [
            one | {"number": number, "rows": list(zip(labels, one["confusion"], strict=True))}
            for number, one in enumerate(groups.get("groups", ()), start=1)
        ],
        "second": [row for row in groups.get("members", ()) if row["group"] == 2][:JUDGES_SHOWN],
        "known": [row | {"by": _by(row["by"])} for row in found.get("known", ())],
    }


def _by(name: str) -> str:
    return _(KNOWN[name]) if name in KNOWN else f"{_('Crowd')}: {name.removeprefix(CROWD)}"


def _labels(study: Study, values: list[Any]) -> list[str]:
    kind = kind_of(study)
    if kind.two_sided:
        return [str(SIDES_IN_WORDS[value]) for value in values]
    words = {choice.value: choice.words for choice in kind.choices}
    return [words.get(value, f"{value:g}") for value in values]


add_page(
    StudyPage(
        name="soft-labels",
        label="",
        order=55,
        view=show_disagreement,
        shown=has_soft_labels,
        group=Group.FINDINGS,
        under="results",
    )
)
