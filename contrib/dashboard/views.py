"""The page "Dashboard" of a study, with its live part, which the browser polls."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseNotModified
from django.template.response import TemplateResponse
from django.utils.translation import get_language, gettext_noop
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from contrib.dashboard.counters import live_counters
from contrib.dashboard.drawings import draw_plots
from contrib.dashboard.models import BoardSnapshot
from contrib.dashboard.staleness import ChangeMark, change_mark, has_dashboard, is_stale, request_snapshot
from evaluation.models import Analysis
from evaluation.results.agreement_sentences import side_sentence
from evaluation.results.consensus.counts import unused_context
from evaluation.results.systems import verdict_context
from evaluation.results.views.drawings import as_markup, cached_drawing
from evaluation.results.views.workers_in_words import worker_note
from judgments.kinds import KINDS
from judgments.kinds.base import Kind
from judgments.models import Study
from judgments.studies.pages import Context, StudySection
from judgments.studies.step_form import take_refusal
from judgments.studies.study_page import study_page

POLL_SECONDS = 5
TEXT_ANSWERS_NOTE = gettext_noop("For text answers, see the agreement on the page “Results”.")
STANDING_WORDS = {
    "paused": gettext_noop("paused until reviewed"),
    "excluded": gettext_noop("excluded"),
}


@study_page(
    "board",
    "Dashboard",
    order=1,
    has_tab=has_dashboard,
    section=StudySection.LIVE,
    main_for=lambda study: study.state == Study.State.OPEN,
    main_label=gettext_noop("Open the dashboard"),
    has_run_forms=True,
    style="css/dashboard.css",
)
@require_safe
def show_dashboard(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    mark = _refresh_if_stale(study)
    refusal = take_refusal(request, study)
    context |= _dashboard_context(request, study, mark) | {
        "poll_seconds": POLL_SECONDS,
        "refusal": refusal,
        "etag": mark.tag(study, *_page_choices(request, context)),
    }
    return TemplateResponse(request, "evaluation/study_board.html", context)


@study_page("board-live", order=2)
@require_safe
def show_live_part(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    mark = _refresh_if_stale(study)
    tag = mark.tag(study, *_page_choices(request, context))
    response: HttpResponse
    if request.headers.get("If-None-Match") == tag:
        response = HttpResponseNotModified()
    else:
        response = TemplateResponse(
            request, "evaluation/parts/board_live.html", context | _dashboard_context(request, study, mark)
        )
    response["ETag"] = tag
    response["Cache-Control"] = "private, no-cache"
    return response


def _refresh_if_stale(study: Study) -> ChangeMark:
    """Return what changed since the last snapshot. Request another snapshot if the last one is out of date."""
    mark = change_mark(study)
    if has_dashboard(study) and is_stale(study, mark):
        request_snapshot(study)
    return mark


def _page_choices(request: HttpRequest, context: Context) -> tuple[object, ...]:
    """Return the pair kind and the right on which the page depends, for its ETag."""
    return request.GET.get("pairs", ""), context["may_change"]


def _dashboard_context(request: HttpRequest, study: Study, mark: ChangeMark) -> dict[str, Any]:
    """Return the template variables of the live part: the current counters, and the figures of the last snapshot."""
    kind = KINDS[study.protocol]
    snapshot = BoardSnapshot.objects.filter(study=study).values_list("result", flat=True).first()
    result: dict[str, Any] = snapshot or {}
    drawings = _plots_of(result)
    kinds = drawings.get("kinds", {})
    pair_kind = request.GET.get("pairs", "")
    if pair_kind not in kinds:
        pair_kind = "all" if "all" in kinds else ""
    growth = [row for row in result.get("growth", ()) if row["value"] is not None]  # agreement over time
    pass_mark = result.get("threshold")
    return {
        "counters": live_counters(study, mark, result),
        **verdict_context(study, _last_verdict(study)),
        "made_at": mark.snapshot.made_at if mark.snapshot else None,
        "result": result,
        "agreement": growth[-1] if growth else None,
        # the code that draws the plots escapes all texts
        "signature": drawings.get("signature", ""),
        "growth_figure": as_markup(drawings.get("growth", "")),
        "growth_sentence": drawings.get("growth_said", ""),
        "pair_kinds": list(kinds),
        "shown_kind": pair_kind,
        "metrics_figure": as_markup(kinds[pair_kind]["now"]) if pair_kind else "",
        "earlier_figure": as_markup(kinds[pair_kind]["earlier"]) if pair_kind else "",
        # on metrics, as `draw_plots` describes it; the context above has the verdict on systems
        "verdict": kinds.get(pair_kind, {}),
        "no_metrics": _why_no_metrics(kind, result),
        "no_alpha": _why_no_alpha(kind, result),
        "two_sided": kind.two_sided,
        # an imported study, whose sides may not be random, has no dashboard
        "side_sentence": side_sentence(result.get("side_bias", {}), random_sides=True),
        **unused_context(result),
        "workers": [row | {"note": _notes_on_worker(row, pass_mark)} for row in result.get("workers", ())],
    }


def _last_verdict(study: Study) -> dict[str, Any]:
    """Return the verdict on systems in the newest results.

    A verdict is not computed after each answer, since repeated tests find a winner too often.
    """
    aggregations = Analysis.objects.newest_first(study, Analysis.Kind.AGGREGATION)
    return {"systems_verdict": aggregations.values_list("result__systems_verdict", flat=True).first()}


def _why_no_metrics(kind: Kind, snapshot_result: dict[str, Any]) -> str:
    if kind.comparison.refusal:
        return _("Text metrics are not compared with these answers: %(why)s") % {
            "why": _(kind.comparison.refusal)
        }
    reason: str = snapshot_result.get("evaluation", {}).get("reason", "")
    return _(reason) if reason else ""


def _why_no_alpha(kind: Kind, snapshot_result: dict[str, Any]) -> str:
    newest_row = next(reversed(snapshot_result.get("growth", ())), {"n": 0})
    # ``n`` items have two or more judgments, so alpha is undefined for another reason, such as equal answers
    if newest_row["n"] and newest_row["value"] is None:
        return _("Agreement is undefined: %(why)s.") % {"why": _(str(newest_row.get("reason", "")))}
    why = kind.aggregation.no_alpha or (TEXT_ANSWERS_NOTE if kind.is_open else "")
    return _(why) if why else ""


def _plots_of(snapshot_result: dict[str, Any]) -> dict[str, Any]:
    """Return the stored English plots, or draw them in the reader's language."""
    stored_plots: dict[str, Any] = snapshot_result.get("drawings", {})
    if not stored_plots or (get_language() or "en").startswith("en"):
        return stored_plots
    figures = {name: snapshot_result[name] for name in ("growth", "evaluation")}
    return stored_plots | cached_drawing(draw_plots, figures)


def _notes_on_worker(worker_result: dict[str, Any], pass_mark: Any) -> str:
    standing = STANDING_WORDS.get(worker_result["standing"], "")
    notes = [worker_note(worker_result, pass_mark), _(standing) if standing else ""]
    notes += [_("flagged by detector %(rule)s") % {"rule": rule} for rule in worker_result["rules"]]
    return "; ".join(note for note in notes if note)
