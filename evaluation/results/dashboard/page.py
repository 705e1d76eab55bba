"""The page "Dashboard" and its live part, which the browser polls."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseNotModified
from django.template.response import TemplateResponse
from django.utils.translation import get_language, gettext_noop
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from evaluation.models import BoardSnapshot
from evaluation.results.aggregation import unused_context
from evaluation.results.dashboard.progress import (
    ChangeMark,
    change_mark,
    has_dashboard,
    is_stale,
    live_counters,
    request_snapshot,
)
from evaluation.results.dashboard.snapshot import draw_plots
from evaluation.results.tables_page import as_markup, cached_drawing, worker_note
from judgments.kinds import KINDS
from judgments.kinds.base import Kind
from judgments.models import Study
from judgments.studies.study_page import Context, Group, StudyPage, add_page, take_refusal

EVERY_SECONDS = 5
MEASURED_LATER = gettext_noop("Of answers in words, agreement is measured on the page Results.")
STANDING = {"paused": gettext_noop("paused until somebody has looked"), "excluded": gettext_noop("excluded")}


@require_safe
def show_dashboard(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    mark = _current_mark(study)
    refusal = take_refusal(request, study)
    context |= _dashboard_context(request, study, mark) | {
        "every": EVERY_SECONDS,
        "refusal": refusal,
        "tag": mark.tag(study, *_page_choices(request, context)),
    }
    return TemplateResponse(request, "evaluation/study_board.html", context)


@require_safe
def show_live(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    """Render the live part; 304 if nothing changed."""
    mark = _current_mark(study)
    tag = mark.tag(study, *_page_choices(request, context))
    answer: HttpResponse
    if request.headers.get("If-None-Match") == tag:
        answer = HttpResponseNotModified()
    else:
        answer = TemplateResponse(
            request, "evaluation/parts/board_live.html", context | _dashboard_context(request, study, mark)
        )
    answer["ETag"] = tag
    answer["Cache-Control"] = "private, no-cache"
    return answer


def _current_mark(study: Study) -> ChangeMark:
    mark = change_mark(study)
    if has_dashboard(study) and is_stale(study, mark):
        request_snapshot(study)
    return mark


def _page_choices(request: HttpRequest, context: Context) -> tuple[object, ...]:
    return request.GET.get("pairs", ""), context["may_change"]


def _dashboard_context(request: HttpRequest, study: Study, mark: ChangeMark) -> dict[str, Any]:
    kind = KINDS[study.protocol]
    snapshot = BoardSnapshot.objects.filter(study=study).values_list("result", flat=True).first()
    result: dict[str, Any] = snapshot or {}
    drawings = _plots_of(result)
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
        "no_metrics": _why_no_metrics(kind, result),
        "no_alpha": _why_no_alpha(kind),
        "two_sided": kind.two_sided,
        **unused_context(result),
        "workers": [row | {"note": _notes_on_worker(row, threshold)} for row in result.get("workers", ())],
    }


def _why_no_metrics(kind: Kind, result: dict[str, Any]) -> str:
    if kind.comparison.refusal:
        return _("Metrics of captions are not held against these answers: %(why)s") % {
            "why": _(kind.comparison.refusal)
        }
    reason: str = result.get("evaluation", {}).get("reason", "")
    return _(reason) if reason else ""


def _why_no_alpha(kind: Kind) -> str:
    why = kind.aggregation.no_alpha or (MEASURED_LATER if kind.is_open else "")
    return _(why) if why else ""


def _plots_of(result: dict[str, Any]) -> dict[str, Any]:
    """Return the stored English plots, or redraw them in another language."""
    stored: dict[str, Any] = result.get("drawings", {})
    if not stored or (get_language() or "en").startswith("en"):
        return stored
    of = {name: result[name] for name in ("growth", "evaluation")}
    return stored | cached_drawing(draw_plots, of)


def _notes_on_worker(row: dict[str, Any], threshold: Any) -> str:
    standing = STANDING.get(row["standing"], "")
    notes = [worker_note(row, threshold), _(standing) if standing else ""]
    notes += [_("flagged by %(rule)s") % {"rule": rule} for rule in row["rules"]]
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
