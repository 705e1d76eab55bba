"""The pages "Review" (flags, exclusions; a figure of each worker's answers) and "Adjudication" (disputed units)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.contrib import messages
from django.contrib.admin.views.decorators import staff_member_required
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db.models import Count, F, Q, Window
from django.db.models.functions import RowNumber
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.response import TemplateResponse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import pgettext, pgettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from annotation.errors import AnswerProblem
from annotation.models import Adjudication, Assignment, Case, Exclusion, Judgment, Participation, Worker
from annotation.quality import reviews as services
from annotation.quality.detectors import RULES, describe_evidence
from annotation.quality.operations import confirm_case, dismiss_case, exclude, readmit
from annotation.views.common import see_other
from annotation.work.answers.form_answers import answers_of_form, undecided_positions
from annotation.work.sheet.pictures import preview_picture_url
from annotation.work.sheet.texts import translated_text
from annotation.work.worksheet import steps_of
from common.errors import NotThere, QuorumError
from common.files import can_be_stored
from common.markup import render_markdown
from judgments.admin.base import signed_in
from judgments.design.numbers import display_number
from judgments.kinds import KINDS, Kind
from judgments.models import Study
from judgments.studies.designs import design_of, kind_of
from judgments.studies.pages import Context, StudyPlace
from judgments.studies.step_form import add_operation
from judgments.studies.study_page import study_page

ANSWERS_DRAWN = 100
TIMES_SAMPLED = 1_000  # latest times of the study, for their median
# lengths in the figure: from answer to answer, then the places of the highest and the lowest answer, of the foot of the
# bars of seconds, and of the first answer
STEP, TOP, BASE, FLOOR, LEFT = 6, 8, 34, 76, 62
LONGEST_BAR = 34  # length of the longest bar
ON_A_PAGE = 10  # cases
EXCLUSIONS_SHOWN = 200
# action of a detector -> what it did to the worker
ACTION_WORDS = {
    "flag": pgettext_lazy("staff", "flagged, not paused"),
    "pause": pgettext_lazy("staff", "paused"),
    "exclude": pgettext_lazy("staff", "excluded"),
}


@dataclass(frozen=True, slots=True)
class DrawnAnswer:
    """``level`` is the height from 0 to 1; None for open answers."""

    level: float | None
    seconds: float | None


def latest_answers(study: Study, workers: Collection[int]) -> dict[int, list[DrawnAnswer]]:
    """Return each worker's latest answers, oldest first."""
    kind = kind_of(study)
    number = Window(RowNumber(), partition_by=[F("assignment__worker_id")], order_by=F("pk").desc())
    rows = (
        Judgment.objects.filter(
            assignment__study=study, assignment__worker__in=workers, replaced_by__isnull=True
        )
        .annotate(rank=number)
        .filter(rank__lte=ANSWERS_DRAWN)
        .order_by("pk")
        .values_list("assignment__worker_id", "value", "presented", "seconds")
    )
    by_worker: defaultdict[int, list[DrawnAnswer]] = defaultdict(list)
    for worker, value, presented, seconds in rows:
        side = presented == Judgment.Presented.SECOND_LEFT
        level = None if value is None else _height_on_scale(kind, kind.sides.from_canonical(value, side=side))
        by_worker[worker].append(DrawnAnswer(level, seconds))
    return dict(by_worker)


def _height_on_scale(kind: Kind, seen: Any) -> float:
    if kind.two_sided:  # the values are in the order of the scale
        return 1 - kind.values.index(seen) / (len(kind.values) - 1)
    low, high = min(kind.values), max(kind.values)
    return (seen - low) / (high - low) if high > low else 0.5


def median_seconds(study: Study) -> float | None:
    times = Judgment.objects.filter(assignment__study=study, seconds__isnull=False).order_by("-pk")
    latest = [
        seconds for seconds in times.values_list("seconds", flat=True)[:TIMES_SAMPLED] if seconds is not None
    ]
    return float(np.median(latest)) if latest else None


def draw_case_figure(
    kind: Kind, dots: Sequence[DrawnAnswer], usual: float | None, *, about: str
) -> SafeString:
    """Draw a worker's answers as SVG; ``about`` is its description."""
    if not dots:
        return SafeString("")
    width = LEFT + STEP * ANSWERS_DRAWN + 8
    high, low = _axis_labels(kind)
    parts = [
        format_html('<text x="0" y="{}">{}</text>', TOP + 4, high),
        format_html('<text x="0" y="{}">{}</text>', BASE, low),
        format_html('<text x="0" y="{}">{}</text>', FLOOR, pgettext("staff", "seconds")),
        format_html('<line class="q-case-line" x1="{}" x2="{}" y1="{}" y2="{}"/>', LEFT, width, FLOOR, FLOOR),
    ]
    scale = _pixels_per_second(dots, usual)
    for index, dot in enumerate(dots):
        x = LEFT + STEP * index
        if dot.level is not None:
            y = BASE - 3 - (BASE - TOP - 4) * dot.level
            parts.append(
                format_html(
                    '<rect class="q-case-answer" x="{}" y="{}" width="4" height="4" rx="1"/>', x, f"{y:.1f}"
                )
            )
        if dot.seconds is not None:
            tall = min(LONGEST_BAR, max(1.0, dot.seconds * scale))
            parts.append(
                format_html(
                    '<rect class="q-case-time" x="{}" y="{}" width="4" height="{}"/>',
                    x, f"{FLOOR - tall:.1f}", f"{tall:.1f}",
                )
            )  # fmt: skip
    if usual is not None:
        y = FLOOR - min(LONGEST_BAR, usual * scale)
        line = '<line class="q-case-usual" x1="{}" x2="{}" y1="{}" y2="{}"/>'
        parts.append(format_html(line, LEFT, width, f"{y:.1f}", f"{y:.1f}"))
        caption = pgettext("staff", "usual %(seconds)s s") % {"seconds": f"{usual:.1f}"}
        markup = '<text x="{}" y="{}" text-anchor="end">{}</text>'
        parts.append(format_html(markup, width, f"{y - 5:.1f}", caption))
    return format_html(
        '<svg class="q-case-figure" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>',
        width, FLOOR + 4, about, format_html_join("", "{}", ((part,) for part in parts)),
    )  # fmt: skip


def _axis_labels(kind: Kind) -> tuple[str, str]:
    if kind.two_sided:
        return pgettext("staff", "left"), pgettext("staff", "right")
    return ("", "") if kind.is_open else (display_number(max(kind.values)), display_number(min(kind.values)))


def _pixels_per_second(dots: Sequence[DrawnAnswer], usual: float | None) -> float:
    """Return pixels per second, with the usual time at half of the height."""
    times = [dot.seconds for dot in dots if dot.seconds is not None]
    middle = usual or (float(np.median(times)) if times else 0.0)
    return LONGEST_BAR / (2 * middle) if middle else 1.0


@study_page("review", "Review", order=45, group=StudyPlace.LIVE, help="quality.md#review")
def show_review(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
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
        "cases": _case_rows(study, shown_cases, standings),
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
        "rule_titles": {name: _(rule.title) for name, rule in RULES.items()},
    }
    return TemplateResponse(request, "admin/annotation/study_review.html", context)


def _case_rows(study: Study, cases: Sequence[Case], standings: dict[int, str]) -> list[dict[str, Any]]:
    if not cases:
        return []
    kind = kind_of(study)
    answers = latest_answers(study, {case.worker_id for case in cases})
    usual = median_seconds(study)
    writers = {text["by"] for case in cases for text in _texts_of(case) if "by" in text}
    names = dict(Worker.objects.filter(pk__in=writers).values_list("pk", "name"))
    shown = []
    for case in cases:
        rule = RULES.get(case.rule)
        sentence = describe_evidence(case.rule, case.evidence)
        dots = answers.get(case.worker_id, [])
        latest = pgettext("staff", "The latest %(n)s answers of %(name)s.") % {
            "n": len(dots),
            "name": case.worker.name,
        }
        shown.append(
            {
                "case": case,
                "title": _(rule.title) if rule else case.rule,
                "only_flags": bool(rule and rule.only_flags),
                "measured": _(rule.false_alarms) if rule and rule.false_alarms else "",
                "words": sentence,
                "numbers": [
                    (name.replace("_", " "), value)
                    for name, value in case.evidence.get("numbers", {}).items()
                    if not isinstance(value, list)
                ],
                "texts": [text | {"name": names.get(text.get("by", 0), "")} for text in _texts_of(case)],
                "settings": ", ".join(
                    f"{name.replace('_', ' ')} {value}"
                    for name, value in case.evidence.get("settings", {}).items()
                ),
                "did": ACTION_WORDS.get(case.action, case.action),
                "standing": standings.get(case.worker_id, "active"),
                "latest": len(dots),
                "figure": draw_case_figure(kind, dots, usual, about=f"{latest} {sentence}"),
            }
        )
    return shown


def _texts_of(case: Case) -> list[dict[str, Any]]:
    texts: list[dict[str, Any]] = case.evidence.get("numbers", {}).get("texts", [])
    return texts


def _require_adjudicator(request: HttpRequest) -> None:
    if not services.may_adjudicate(signed_in(request)):
        raise PermissionDenied


@never_cache
@require_safe
@staff_member_required
def list_waiting(request: HttpRequest) -> HttpResponse:
    _require_adjudicator(request)
    user = signed_in(request)
    waiting_in = services.waiting_adjudications(user).order_by().values_list("study").annotate(n=Count("pk"))
    counts = dict(waiting_in.values_list("study", "n"))
    first = services.waiting_adjudications(user).values_list("pk", flat=True).first()
    decided = Adjudication.objects.filter(adjudicator=user, state=Adjudication.State.DECIDED).count()
    context = {
        "studies": [
            {"study": study, "n": counts[study.pk]}
            for study in Study.objects.filter(pk__in=counts).order_by("name")
        ],
        "first": first,
        "decided": decided,
    }
    return render(request, "annotation/adjudication/waiting.html", context)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@staff_member_required
def decide(request: HttpRequest, pk: int) -> HttpResponse:
    _require_adjudicator(request)
    try:
        adjudication = services.own_adjudication(user=signed_in(request), pk=pk)
    except NotThere as error:
        raise Http404(str(error)) from None
    if request.method == "POST":
        try:
            return _store_decision(request, adjudication)
        except AnswerProblem as error:
            return _adjudication_page(request, adjudication, problem=str(error))
        except QuorumError as error:
            messages.error(request, str(error))
            return see_other("annotation:adjudicate")
    if adjudication.state != Adjudication.State.WAITING:
        messages.info(request, _("This one is decided. Whoever sent it to you can take it back."))
        return redirect("annotation:adjudicate")
    return _adjudication_page(request, adjudication)


def _store_decision(request: HttpRequest, adjudication: Adjudication) -> HttpResponse:
    kind, page_units = kind_of(adjudication.study), [services.page_unit_of(adjudication)]
    if not can_be_stored(dict(request.POST.lists())):
        raise AnswerProblem(_("Nothing was saved: a text holds signs that cannot be stored."))
    answers = answers_of_form(request.POST, page_units, kind=kind, final=True, saved={})
    if not answers or undecided_positions(request.POST, page_units, kind):
        raise AnswerProblem(_("Nothing was decided: choose an answer."))
    services.decide_adjudication(
        adjudication=adjudication, answer=answers[0]["value"], reason=request.POST.get("reason", "")
    )
    left = services.waiting_adjudications(signed_in(request))
    following = left.filter(study=adjudication.study, pk__gt=adjudication.pk).first() or left.first()
    if following is None:
        messages.success(request, _("Decided. Nothing else waits for you."))
        return see_other("annotation:adjudicate")
    return see_other("annotation:adjudication", following.pk)


def _adjudication_page(request: HttpRequest, adjudication: Adjudication, problem: str = "") -> HttpResponse:
    study, unit = adjudication.study, adjudication.unit
    design = design_of(study)
    (step,) = steps_of(
        [services.page_unit_of(adjudication)],
        design=design,
        picture_url=lambda page_unit: preview_picture_url(unit.item),
        answers={},
    )
    left = services.waiting_adjudications(signed_in(request))
    later = left.filter(pk__gt=adjudication.pk).first() or left.exclude(pk=adjudication.pk).first()
    context = {
        "adjudication": adjudication,
        "study": study,
        "kind": KINDS[study.protocol].for_design(design),
        "step": step,
        "left": left.count(),
        "later": later,
        "problem": problem,
        "reason": request.POST.get("reason", ""),
        "design": design,
        "instructions": render_markdown(translated_text(design.instructions)) if design.instructions else "",
    }
    return render(request, "annotation/adjudication/decide.html", context, status=400 if problem else 200)


add_operation(confirm_case, label="Exclude", fields=())
add_operation(dismiss_case, label="Dismiss", fields=())
add_operation(readmit, name="lift-exclusion", label="Lift an exclusion", fields=())
add_operation(exclude, name="exclude-worker", label="Exclude a participant", fields=())
