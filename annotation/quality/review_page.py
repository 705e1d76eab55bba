"""A case as a small picture: a worker's latest answers one by one, and the time each took beside the others'."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.paginator import Paginator
from django.db.models import Count, F, Q, Window
from django.db.models.functions import RowNumber
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from annotation.models import Assignment, Case, Exclusion, Judgment, Participation
from annotation.quality.detectors import RULES
from annotation.quality.detectors.chances import median
from annotation.quality.operations import confirm_case, dismiss_case, exclude, readmit
from judgments.admin.operations import add_operation
from judgments.kinds import KINDS, Kind
from judgments.models import Study
from judgments.studies.study_page import Context, Group, StudyPage, add_page

SHOWN = 100  # answers in a picture
SAMPLE = 1_000  # of the study's latest times, for what is usual
STEP, TOP, BASE, FLOOR, LEFT = 6, 8, 34, 76, 62
TALLEST = 34


@dataclass(frozen=True, slots=True)
class Dot:
    """An answer: its height from 0 to 1 (None for open answers), and its seconds."""

    level: float | None
    seconds: float | None


def latest_answers(study: Study, workers: Collection[int]) -> dict[int, list[Dot]]:
    """Return the latest answers of each worker, oldest first, excluded ones too; one query."""
    kind = KINDS[study.protocol]
    place = Window(RowNumber(), partition_by=[F("assignment__worker_id")], order_by=F("pk").desc())
    rows = (
        Judgment.objects.filter(
            assignment__study=study, assignment__worker__in=workers, replaced_by__isnull=True
        )
        .annotate(place=place)
        .filter(place__lte=SHOWN)
        .order_by("pk")
        .values_list("assignment__worker_id", "value", "presented", "seconds")
    )
    found: defaultdict[int, list[Dot]] = defaultdict(list)
    for worker, value, presented, seconds in rows:
        side = presented == Judgment.Presented.SECOND_LEFT
        level = None if value is None else _level(kind, kind.sides.seen(value, side=side))
        found[worker].append(Dot(level, seconds))
    return dict(found)


def _level(kind: Kind, seen: Any) -> float:
    low, high = min(kind.values), max(kind.values)
    height = (seen - low) / (high - low) if high > low else 0.5
    return 1 - height if kind.two_sided else height


def usual_seconds(study: Study) -> float | None:
    """Return the median seconds of the study's latest answers, or None."""
    times = Judgment.objects.filter(assignment__study=study, seconds__isnull=False).order_by("-pk")
    found = median([one for one in times.values_list("seconds", flat=True)[:SAMPLE] if one is not None])
    return None if math.isnan(found) else found


def case_figure(kind: Kind, dots: Sequence[Dot], usual: float | None, *, about: str) -> SafeString:
    """Draw a worker's answers as SVG; '' without answers. ``about`` is its description."""
    if not dots:
        return SafeString("")
    width = LEFT + STEP * SHOWN + 8
    high, low = _ends(kind)
    parts = [
        format_html('<text x="0" y="{}">{}</text>', TOP + 4, high),
        format_html('<text x="0" y="{}">{}</text>', BASE, low),
        format_html('<text x="0" y="{}">seconds</text>', FLOOR),
        format_html('<line class="q-case-line" x1="{}" x2="{}" y1="{}" y2="{}"/>', LEFT, width, FLOOR, FLOOR),
    ]
    scale = _scale(dots, usual)
    for place, dot in enumerate(dots):
        x = LEFT + STEP * place
        if dot.level is not None:
            y = BASE - 3 - (BASE - TOP - 4) * dot.level
            parts.append(
                format_html(
                    '<rect class="q-case-answer" x="{}" y="{}" width="4" height="4" rx="1"/>', x, f"{y:.1f}"
                )
            )
        if dot.seconds is not None:
            tall = min(TALLEST, max(1.0, dot.seconds * scale))
            parts.append(
                format_html(
                    '<rect class="q-case-time" x="{}" y="{}" width="4" height="{}"/>',
                    x, f"{FLOOR - tall:.1f}", f"{tall:.1f}",
                )
            )  # fmt: skip
    if usual is not None:
        y = FLOOR - min(TALLEST, usual * scale)
        line = '<line class="q-case-usual" x1="{}" x2="{}" y1="{}" y2="{}"/>'
        parts.append(format_html(line, LEFT, width, f"{y:.1f}", f"{y:.1f}"))
        words = '<text x="{}" y="{}" text-anchor="end">usual {} s</text>'
        parts.append(format_html(words, width, f"{y - 5:.1f}", f"{usual:.1f}"))
    return format_html(
        '<svg class="q-case-figure" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>',
        width, FLOOR + 4, about, format_html_join("", "{}", ((part,) for part in parts)),
    )  # fmt: skip


def _ends(kind: Kind) -> tuple[str, str]:
    if kind.two_sided:
        return "left", "right"
    return ("", "") if kind.is_open else (f"{max(kind.values)}", f"{min(kind.values)}")


def _scale(dots: Sequence[Dot], usual: float | None) -> float:
    """Return pixels per second, so that the usual time is at half of the height."""
    middle = usual or median([dot.seconds if dot.seconds is not None else math.nan for dot in dots])
    return TALLEST / (2 * middle) if middle and not math.isnan(middle) else 1.0


ON_A_PAGE = 10
EXCLUSIONS_SHOWN = 200
DONE = {"flag": "flagged, goes on", "pause": "paused", "exclude": "excluded"}


def show_review(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    """Show flags with their evidence, pending ones first, exclusions, and a form to exclude a worker."""
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


add_page(StudyPage(name="review", label="Review", order=45, view=show_review, group=Group.CHECK))
add_operation(confirm_case, label="Exclude", fields=())
add_operation(dismiss_case, label="Dismiss", fields=())
add_operation(readmit, name="lift-exclusion", label="Take an exclusion back", fields=())
add_operation(exclude, name="exclude-worker", label="Exclude a worker", fields=())
