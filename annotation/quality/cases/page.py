"""The page "Review" of a study: flags to confirm or dismiss, with a figure of each worker's answers, and exclusions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

from django.core.paginator import Paginator
from django.db.models import Count, F, Q
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import pgettext, pgettext_lazy

from annotation.models import Assignment, Case, Exclusion, Judgment, Participation, Worker
from annotation.quality.cases.figure import draw_case_figure, latest_answers, median_seconds
from annotation.quality.detectors import describe_evidence, installed_rule
from annotation.quality.operations import confirm_case, dismiss_case, exclude, readmit
from judgments.models import Study
from judgments.studies.designs import kind_of
from judgments.studies.pages import Context, StudySection
from judgments.studies.step_form import add_operation
from judgments.studies.study_page import study_page

PAGE_SIZE = 10  # flags on one page
MAX_EXCLUSIONS = 200
# the effect of each action of a detector on the worker
ACTION_WORDS = {
    "flag": pgettext_lazy("staff", "flagged, not paused"),
    "pause": pgettext_lazy("staff", "paused"),
    "exclude": pgettext_lazy("staff", "excluded"),
}


@study_page("review", "Review", order=45, section=StudySection.LIVE, help="quality.md#review")
def show_review(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    cases = Case.objects.filter(study=study).select_related("worker", "exclusion", "decided_by")
    flag_counts = cases.aggregate(open=Count("pk", filter=Q(state=Case.State.OPEN)), all=Count("pk"))
    shows_all = "all" in request.GET or not flag_counts["open"]
    cases_to_show = cases if shows_all else cases.filter(state=Case.State.OPEN)
    # "open" is the last state in the alphabet, so open flags come first
    page = Paginator(cases_to_show.order_by("-state", "-opened_at", "pk"), PAGE_SIZE).get_page(
        request.GET.get("page")
    )
    shown_cases = list(page.object_list)
    participations = Participation.objects.filter(study=study)
    standings = dict(
        participations.filter(worker__in={case.worker_id for case in shown_cases}).values_list(
            "worker_id", "standing"
        )
    )
    standing_counts = dict(participations.order_by().values_list("standing").annotate(people=Count("pk")))
    context |= {
        "flag_counts": flag_counts,
        "shows_all": shows_all,
        "page": page,
        "cases": _case_rows(study, shown_cases, standings),
        "paused_count": standing_counts.get(Participation.Standing.PAUSED, 0),
        "excluded_count": standing_counts.get(Participation.Standing.EXCLUDED, 0),
        "invalidated_count": Judgment.objects.filter(
            assignment__study=study, assignment__state=Assignment.State.INVALIDATED
        ).count(),
        "exclusions": list(
            Exclusion.objects.filter(study=study)
            .select_related("worker", "made_by", "lifted_by")
            .annotate(pages=Count("assignments"))
            .order_by(F("lifted_at").asc(nulls_first=True), "-made_at")[:MAX_EXCLUSIONS]
        ),
    }
    return TemplateResponse(request, "admin/annotation/study_review.html", context)


def _case_rows(study: Study, cases: Sequence[Case], standings: dict[int, str]) -> list[dict[str, Any]]:
    """Return template variables for each flag, with a figure of the worker's latest answers."""
    if not cases:
        return []
    kind = kind_of(study)
    answers_by_worker = latest_answers(study, {case.worker_id for case in cases})
    usual_seconds = median_seconds(study)
    names_of_authors = _names_of_authors(cases)
    rows = []
    for case in cases:
        answers = answers_by_worker.get(case.worker_id, [])
        row = _describe_case(case, names_of_authors)
        row["standing"] = standings.get(case.worker_id, "active")
        row["answer_count"] = len(answers)
        title = pgettext("staff", "The latest answers of %(name)s (%(n)s).") % {
            "n": len(answers),
            "name": case.worker.name,
        }
        row["figure"] = draw_case_figure(kind, answers, usual_seconds, label=f"{title} {row['sentence']}")
        rows.append(row)
    return rows


def _names_of_authors(cases: Sequence[Case]) -> dict[int, str]:
    """Return the names of the other workers whose texts are quoted as evidence, by row id."""
    quoted_texts = chain.from_iterable(_quoted_texts(case) for case in cases)
    author_ids = {text["by"] for text in quoted_texts if "by" in text}
    return dict(Worker.objects.filter(pk__in=author_ids).values_list("pk", "name"))


def _describe_case(case: Case, names_of_authors: dict[int, str]) -> dict[str, Any]:
    """Return template variables about a flag: its detector, the evidence, and the action taken."""
    rule = installed_rule(case.rule)
    numbers = case.evidence.get("numbers", {}).items()
    settings = case.evidence.get("settings", {}).items()
    return {
        "case": case,
        "rule_title": _(rule.title) if rule else case.rule,
        "only_flags": bool(rule and rule.only_flags),
        "false_alarms": _(rule.false_alarms) if rule and rule.false_alarms else "",
        "sentence": describe_evidence(case.rule, case.evidence),
        "numbers": [
            (name.replace("_", " "), value) for name, value in numbers if not isinstance(value, list)
        ],
        "texts": [
            {**text, "name": names_of_authors.get(text.get("by", 0), "")} for text in _quoted_texts(case)
        ],
        "settings": ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in settings),
        "action_taken": ACTION_WORDS.get(case.action, case.action),
    }


def _quoted_texts(case: Case) -> list[dict[str, Any]]:
    """Return the texts that a detector quotes, which the evidence stores among its numbers.

    An entry has the worker's text as "own" and, if it is similar to another one, that text as "other" and the row id of
    its author as "by".
    """
    texts: list[dict[str, Any]] = case.evidence.get("numbers", {}).get("texts", [])
    return texts


# fields=(): the template of the page has the forms
add_operation(confirm_case, label="Exclude", fields=())
add_operation(dismiss_case, label="Dismiss", fields=())
add_operation(readmit, name="lift-exclusion", label="Lift an exclusion", fields=())
add_operation(exclude, name="exclude-worker", label="Exclude a participant", fields=())
