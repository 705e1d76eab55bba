"""The page "Dashboard" of a study, and its moving part, which the browser polls."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseNotModified
from django.template.response import TemplateResponse
from django.views.decorators.http import require_safe

from evaluation.dashboard.progress import (
    ChangeMark,
    change_mark,
    has_dashboard,
    is_stale,
    live_counters,
    request_snapshot,
)
from evaluation.follow_up.operations import reopen
from evaluation.models import BoardSnapshot
from evaluation.results.tables_page import as_markup, worker_note
from evaluation.results.unused import unused_context
from judgments.admin.operations import add_operation
from judgments.kinds import KINDS
from judgments.kinds.base import Kind
from judgments.models import Study
from judgments.studies.study_page import Context, Group, StudyPage, add_page, take_refusal

EVERY_SECONDS = 5
MEASURED_LATER = "Of answers in words, agreement is measured on the page Results."
STANDING = {"paused": "paused until somebody has looked", "excluded": "excluded"}


@require_safe
def show_dashboard(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    mark = _look(study)
    refusal = take_refusal(request, study)
    context |= _shown(request, study, mark) | {
        "every": EVERY_SECONDS,
        "refusal": refusal,
        "tag": mark.tag(study, *_asked(request, context)),
    }
    return TemplateResponse(request, "evaluation/study_board.html", context)


@require_safe
def show_live(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    """Render the moving part; 304 if nothing changed."""
    mark = _look(study)
    tag = mark.tag(study, *_asked(request, context))
    answer: HttpResponse
    if request.headers.get("If-None-Match") == tag:
        answer = HttpResponseNotModified()
    else:
        answer = TemplateResponse(
            request, "evaluation/parts/board_live.html", context | _shown(request, study, mark)
        )
    answer["ETag"] = tag
    answer["Cache-Control"] = "private, no-cache"
    return answer


def _look(study: Study) -> ChangeMark:
    mark = change_mark(study)
    if has_dashboard(study) and is_stale(study, mark):
        request_snapshot(study)
    return mark


def _asked(request: HttpRequest, context: Context) -> tuple[object, ...]:
    return request.GET.get("pairs", ""), context["may_change"]


def _shown(request: HttpRequest, study: Study, mark: ChangeMark) -> dict[str, Any]:
    kind = KINDS[study.protocol]
    snapshot = BoardSnapshot.objects.filter(study=study).values_list("result", flat=True).first()
    result: dict[str, Any] = snapshot or {}
    drawings = result.get("drawings", {})
    kinds = drawings.get("kinds", {})
    chosen = request.GET.get("pairs", "")
    if chosen not in kinds:
        chosen = "all" if "all" in kinds else ""
    growth = [row for row in result.get("growth", ()) if row["value"] is not None]
    threshold = result.get("threshold")
    return {
        "now": live_counters(study, mark, result),
        "made_at": mark.snapshot.made_at if mark.snapshot else None,
        "result": result,
        "agreement": growth[-1] if growth else None,
        # The plots escape every word.
        "signature": drawings.get("signature", ""),
        "growth_figure": as_markup(drawings.get("growth", "")),
        "growth_said": drawings.get("growth_said", ""),
        "kinds": list(kinds),
        "chosen": chosen,
        "now_figure": as_markup(kinds[chosen]["now"]) if chosen else "",
        "earlier_figure": as_markup(kinds[chosen]["earlier"]) if chosen else "",
        "verdict": kinds.get(chosen, {}),
        "no_metrics": _no_metrics(kind, result),
        "no_alpha": kind.aggregation.no_alpha or (MEASURED_LATER if kind.is_open else ""),
        "two_sided": kind.two_sided,
        **unused_context(result),
        "workers": [row | {"note": _note(row, threshold)} for row in result.get("workers", ())],
    }


def _no_metrics(kind: Kind, result: dict[str, Any]) -> str:
    if kind.comparison.refusal:
        return f"Metrics of captions are not held against these answers: {kind.comparison.refusal}"
    reason: str = result.get("evaluation", {}).get("reason", "")
    return reason


def _note(row: dict[str, Any], threshold: Any) -> str:
    notes = [worker_note(row, threshold), STANDING.get(row["standing"], "")]
    notes += [f"flagged by {rule}" for rule in row["rules"]]
    return "; ".join(note for note in notes if note)


add_page(
    StudyPage(
        name="board",
        label="Dashboard",
        order=1,
        view=show_dashboard,
        shown=has_dashboard,
        group=Group.LIVE,
    )
)
add_page(StudyPage(name="board-live", label="", order=2, view=show_live))
add_operation(
    reopen, name="reopen-units", label="Re-open units", fields=("units", "votes", "why"), needed=("units",)
)
