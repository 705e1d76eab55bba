"""The review page of a study: what the rules found, who was excluded, and what a person decides about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from annotation.admin.case_figures import case_figure, latest_answers, usual_seconds
from annotation.models import Assignment, Case, Exclusion, Judgment, Participation, Worker
from annotation.rules import RULES
from annotation.services.cases import confirm_case, dismiss_case, lift_by_hand
from annotation.services.exclusions import exclude_worker
from judgments.admin.base import signed_in
from judgments.admin.study_pages import Context, Group, StudyPage, StudyStep, add_page, add_step
from judgments.errors import WrongState
from judgments.kinds import KINDS
from judgments.models import Study
from judgments.roles import Right

ON_A_PAGE = 10
EXCLUSIONS_SHOWN = 200
DONE = {"flag": "flagged, goes on", "pause": "paused", "exclude": "excluded"}


def show_review(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    """Cases with their evidence, open ones first; exclusions; and a form to exclude by hand."""
    cases = Case.objects.filter(study=study).select_related("worker", "exclusion", "decided_by")
    counts = cases.aggregate(open=Count("pk", filter=Q(state=Case.State.OPEN)), all=Count("pk"))
    shows_all = "all" in request.GET or not counts["open"]
    shown = cases if shows_all else cases.filter(state=Case.State.OPEN)
    page = Paginator(shown.order_by("-state", "-opened_at", "pk"), ON_A_PAGE).get_page(
        request.GET.get("page")
    )
    shown_cases = list(page.object_list)
    joined = Participation.objects.filter(study=study)
    standings = dict(
        joined.filter(worker__in={case.worker_id for case in shown_cases}).values_list(
            "worker_id", "standing"
        )
    )
    people = dict(joined.order_by().values_list("standing").annotate(people=Count("pk")))
    context |= {
        "counts": counts,
        "shows_all": shows_all,
        "page": page,
        "cases": _cases(study, shown_cases, standings),
        "paused": people.get(Participation.Standing.PAUSED, 0),
        "excluded": people.get(Participation.Standing.EXCLUDED, 0),
        "invalidated": Judgment.objects.filter(
            assignment__study=study, assignment__state=Assignment.State.INVALIDATED
        ).count(),
        "exclusions": list(
            Exclusion.objects.filter(study=study)
            .select_related("worker", "made_by", "lifted_by")
            .annotate(pages=Count("assignments"))
            .order_by("lifted_at", "-made_at")[:EXCLUSIONS_SHOWN]
        ),
        "rule_titles": {name: rule.title for name, rule in RULES.items()},
    }
    return TemplateResponse(request, "admin/annotation/study_review.html", context)


def _cases(study: Study, cases: Sequence[Case], standings: dict[int, str]) -> list[dict[str, Any]]:
    """Each case with what its card shows."""
    if not cases:
        return []
    kind = KINDS[study.protocol]
    answers = latest_answers(study, {case.worker_id for case in cases})
    usual = usual_seconds(study)
    shown = []
    for case in cases:
        rule = RULES.get(case.rule)
        words = case.evidence.get("words", "")
        dots = answers.get(case.worker_id, [])
        shown.append(
            {
                "case": case,
                "title": rule.title if rule else case.rule,
                "words": words,
                "numbers": [
                    (name.replace("_", " "), value)
                    for name, value in case.evidence.get("numbers", {}).items()
                ],
                "settings": ", ".join(
                    f"{name.replace('_', ' ')} {value}"
                    for name, value in case.evidence.get("settings", {}).items()
                ),
                "did": DONE.get(case.action, case.action),
                "standing": standings.get(case.worker_id, "active"),
                "latest": len(dots),
                "figure": case_figure(
                    kind, dots, usual, about=f"The latest {len(dots)} answers of {case.worker.name}. {words}"
                ),
            }
        )
    return shown


def _case(request: HttpRequest, study: Study) -> Case:
    key = request.POST.get("case", "")
    case = Case.objects.filter(study=study, pk=key).first() if key.isdecimal() else None
    if case is None:
        raise WrongState("Nothing was changed: there is no such case in this study.")
    return case


def _confirm(request: HttpRequest, study: Study) -> None:
    case = confirm_case(case=_case(request, study), why=request.POST.get("why", ""), by=signed_in(request))
    messages.success(
        request,
        f"{case.worker} is excluded. Their answers stay, but do not count, and their places are open again.",
    )


def _dismiss(request: HttpRequest, study: Study) -> None:
    case = dismiss_case(case=_case(request, study), why=request.POST.get("why", ""), by=signed_in(request))
    messages.success(
        request, f"The case of {case.worker} is dismissed; the rule says nothing more about this worker."
    )


def _lift(request: HttpRequest, study: Study) -> None:
    key = request.POST.get("exclusion", "")
    found = Exclusion.objects.filter(study=study, pk=key).first() if key.isdecimal() else None
    if found is None:
        raise WrongState("Nothing was changed: there is no such exclusion in this study.")
    lift_by_hand(exclusion=found, why=request.POST.get("why", ""), by=signed_in(request))
    messages.success(request, f"The answers of {found.worker} count again as they did before.")


def _exclude(request: HttpRequest, study: Study) -> None:
    name, why = request.POST.get("worker", "").strip(), request.POST.get("why", "").strip()
    worker = Worker.objects.filter(participations__study=study, name=name).first()
    if worker is None:
        raise WrongState(f"Nobody was excluded: no worker {name!r} joined this study.")
    if not why:
        raise WrongState("Nobody was excluded: say why, in a sentence that others can read.")
    exclude_worker(study=study, worker=worker, why=why, by=signed_in(request))
    messages.success(
        request,
        f"{worker} is excluded. Their answers stay, but do not count, and their places are open again.",
    )


add_page(StudyPage(name="review", label="Review", order=45, view=show_review, group=Group.CHECK))
add_step(StudyStep(name="confirm-case", label="Exclude", run=_confirm, permission=Right.REVIEW))
add_step(StudyStep(name="dismiss-case", label="Dismiss", run=_dismiss, permission=Right.REVIEW))
add_step(StudyStep(name="lift-exclusion", label="Take an exclusion back", run=_lift, permission=Right.REVIEW))
add_step(StudyStep(name="exclude-worker", label="Exclude a worker", run=_exclude, permission=Right.REVIEW))
