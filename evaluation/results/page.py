"""The page "Results"."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db import transaction
from django.db.models import Q, Subquery
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotation.models import Adjudication, Assignment, Judgment, ProblemReport
from annotation.models.assignments import FINISHED_STATES
from annotation.snapshots import has_many_assignments
from common.amounts import thousands
from common.errors import WrongState
from evaluation.data.adoption import adopt
from evaluation.data.imported_scores.storing import imported_hashes
from evaluation.data.ranked_lists import outputs_of
from evaluation.data.releases.erasure import erased_since
from evaluation.models import Analysis, Consensus
from evaluation.results.aggregation import unused_context
from evaluation.results.consensus import components_sentence
from evaluation.results.dashboard.progress import study_progress
from evaluation.results.disagreement import WORKER_MODELS
from evaluation.results.operations import EvaluateRequest, aggregate, evaluate
from evaluation.results.rankings import audit_sentence
from evaluation.results.readings import OF_CAPTIONS, OF_PAIRS
from evaluation.results.tables import (
    accuracy_table,
    captions_table,
    consensus_tables,
    correlation_table,
    questions_tables,
    readings_tables,
    ties_tables,
)
from evaluation.results.tables_page import (
    answer_rows,
    as_markup,
    cached_drawing,
    model_rows,
    model_sentence,
    other_models,
    worker_note,
)
from evaluation.results.verdict import UNTESTED, Verdict, cells_of, levels_sentence, verdict_sentence
from judgments.admin.base import signed_in
from judgments.cached_figures import Figures, add_figures, cached_figures, required_figures
from judgments.kinds import KINDS
from judgments.models import Study
from judgments.studies.studies import design_of
from judgments.studies.study_page import (
    PAGES,
    Context,
    Group,
    StepForm,
    StudyPage,
    StudyStep,
    add_operation,
    add_page,
    add_step,
    never,
    page_address,
    read_posted_parameters,
)

WORKERS_SHOWN = 200
NEWEST = 5
UNITS_SHOWN = 8
CAPTIONS_AT_AN_END = 5
WAYS = {
    "closer": gettext_noop("Where metrics and people disagree"),
    "metrics": gettext_noop("Two metrics compared, scores from elsewhere"),
    "ranking": gettext_noop("Ranking of the systems"),
    "soft-labels": gettext_noop("How far people disagree"),
    "disputes": gettext_noop("Disputed items"),
    "report": gettext_noop("Report: figures, tables, methods"),
}


def show_results(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    newest = {}
    for analysis in Analysis.objects.filter(
        Q(pk=_newest(study, Analysis.What.AGGREGATION)) | Q(pk=_newest(study, Analysis.What.META_EVALUATION))
    ).annotate(last_output=Subquery(outputs_of(study).order_by("-pk").values("pk")[:1])):
        newest[analysis.what] = analysis
    aggregation = newest.get(Analysis.What.AGGREGATION)
    evaluation = newest.get(Analysis.What.META_EVALUATION)
    counted = cached_figures(study, PROGRESS)
    progress = required_figures(counted)
    context |= {
        "counted": counted,
        "progress": progress,
        "handed_in": sum(progress["assignments"].get(state, 0) for state in FINISHED_STATES),
        "held": _ended_leases(study, progress),
        "reports": list(
            ProblemReport.objects.filter(assignment__study=study).select_related("assignment__worker")[
                :NEWEST
            ]
        ),
        "aggregation": aggregation,
        "evaluation": evaluation,
        "compares_pairs": KINDS[study.protocol].compares_pairs,
        "instead_of_evaluate": KINDS[study.protocol].comparison.refusal,
        "answer_rows": _answer_rows(study) if aggregation else [],
        "figures": _draw_plots(study, aggregation, evaluation, progress),
        **_freshness(study, aggregation, evaluation, progress),
        **(_agreement_context(aggregation) if aggregation else {}),
    }
    if evaluation is not None:
        table = accuracy_table if context["compares_pairs"] else correlation_table
        context["metrics_table"] = table(evaluation.result)
        context["readings"] = readings_tables(evaluation.result) + ties_tables(evaluation.result)
    if aggregation is not None:
        context |= unused_context(aggregation.result)
        context["lead"] = _leading_findings(aggregation, evaluation, context["figures"])
        context["ways"] = [
            {"label": _(label), "link": page_address(study, name)}
            for name, label in WAYS.items()
            if PAGES[name].shown(study) and PAGES[name].permission in context["rights"]
        ]
    return TemplateResponse(request, "evaluation/study_results.html", context)


def _leading_findings(
    aggregation: Analysis, evaluation: Analysis | None, figures: dict[str, tuple[SafeString, str, str]]
) -> dict[str, Any]:
    if evaluation is None:
        counts = aggregation.result["counts"]
        sentence = _("%(n)s of %(all)s items have a consensus.") % {
            "n": thousands(counts["units_with_consensus"]),
            "all": thousands(counts["units"]),
        }
        return {"sentence": sentence, "beside": figures["agreement"][1]}
    if "verdict" not in evaluation.result:
        return {"sentence": _(UNTESTED)}
    verdict: Verdict = evaluation.result["verdict"]["all"]
    cells = cells_of(evaluation.result)
    return {
        "verdict": verdict | {"sentence": verdict_sentence(verdict, cells)},
        "beside": levels_sentence(evaluation.result),
    }


def _answer_rows(study: Study) -> list[dict[str, Any]]:
    kind = KINDS[study.protocol]
    if not kind.is_open:
        return []
    rows = Consensus.objects.filter(study=study, unit__isnull=False)
    return answer_rows(
        kind, rows.select_related("unit__item__dataset", "unit__first").order_by("pk")[:UNITS_SHOWN]
    )


def _newest(study: Study, what: str) -> Subquery:
    return Subquery(Analysis.objects.newest_first(study, what).values("pk")[:1])  # results are large


def _ended_leases(study: Study, progress: dict[str, Any]) -> list[Assignment]:
    if not progress["assignments"].get(Assignment.State.ACCEPTED):
        return []
    holding = Assignment.objects.with_lease(timezone.now()).filter(study=study)
    return list(holding.select_related("worker", "hit").order_by("expires_at")[: NEWEST + 1])


def _draw_plots(
    study: Study, aggregation: Analysis | None, evaluation: Analysis | None, progress: dict[str, Any]
) -> dict[str, tuple[SafeString, str, str]]:
    """Return name -> plot, its sentence and its signature; plots escape every word."""
    # Imported lazily: matplotlib costs every process 60 MB and 0.3 s.
    from evaluation.results.plots import accuracy, work

    plots: dict[str, tuple[SafeString, str, str]] = {}

    def draw(name: str, sentence: str, signature: str, figure: Callable[..., str], *arguments: Any) -> None:
        plots[name] = as_markup(cached_drawing(figure, *arguments)), sentence, signature

    if study.source == Study.Source.DESIGNED:  # an import has no course of work
        newest = aggregation or evaluation  # what is counted has the signature of what was computed last
        signature = newest.judgments if newest else ""
        counted = {**progress, "revised_at": None}
        zone = timezone.get_current_timezone_name()
        draw("progress", work.progress_sentence(progress), signature, work.progress_figure, counted, zone)
    if aggregation is not None:
        signature, result = aggregation.judgments, aggregation.result
        agreement, workers = result["agreement"], result["workers"]
        threshold = design_of(study).controls.threshold
        draw(
            "agreement",
            accuracy.agreement_sentence(agreement),
            signature,
            accuracy.agreement_figure,
            agreement,
        )
        sentence = work.workers_sentence(workers, threshold)
        draw("workers", sentence, signature, work.workers_figure, workers, threshold)
    if evaluation is not None:
        draw(
            "metrics",
            accuracy.accuracy_sentence(evaluation.result),
            evaluation.judgments,
            accuracy.accuracy_figure,
            evaluation.result,
        )
    return plots


def _freshness(
    study: Study, aggregation: Analysis | None, evaluation: Analysis | None, progress: dict[str, Any]
) -> dict[str, bool]:
    """Return whether results are older than the data.

    Judgments are only ever added, except when people are erased, so their number and the last revision's time
    suffice; imported scores can be replaced, which changes their hashes.
    """
    current = aggregation is not None and aggregation.result["counts"]["judgments"] == progress["judgments"]
    if aggregation is not None and current:
        since = aggregation.created_at
        decided = Adjudication.objects.filter(
            Q(decided_at__gt=since) | Q(withdrawn_at__gt=since), study=study
        )
        revised = progress["revised_at"]
        current = (revised is None or revised <= since) and not decided.exists()
        known = aggregation.result.get("outputs")
        current = current and known in (None, getattr(aggregation, "last_output", None) or 0)
        current = current and not erased_since(aggregation)
    same = (
        evaluation is not None and aggregation is not None and evaluation.data_hash == aggregation.data_hash
    )
    if evaluation is not None and "imported" in evaluation.settings:
        hashes = imported_hashes(study.dataset, evaluation.settings["metrics"])
        same = same and evaluation.settings["imported"] == hashes
    return {
        "aggregation_old": aggregation is not None and not current,
        "evaluation_old": evaluation is not None and not (current and same),
    }


def _agreement_context(aggregation: Analysis) -> dict[str, Any]:
    result, threshold = aggregation.result, aggregation.settings.get("controls")
    workers = sorted(result["workers"], key=lambda row: (row["used"], -row["judgments"], row["worker"]))
    seen, right = (sum(row[key] for row in workers) for key in ("controls_seen", "controls_right"))
    model = result.get("dawid_skene", {})
    accuracy = {row["worker"]: row["accuracy"] for row in model.get("workers", ())}
    figures = result.get("figures", {})
    captions = figures.get("captions", ())
    shown = model_rows(KINDS[aggregation.settings["protocol"]], model)
    return {
        "model": model,
        "model_sentence": model_sentence(model),
        "model_rows": shown,
        "model_left": max(0, model.get("differ", 0) - len(shown)),
        "other_models": other_models(result.get("models", {})),
        "model_choices": [(name, _(label)) for name, label in WORKER_MODELS.items()],
        "agreement": result["agreement"],
        "components_sentence": components_sentence(result["agreement"].get("components", {})),
        "counts": result["counts"],
        "filter_audit": audit_sentence(result["filter_audit"]) if "filter_audit" in result else "",
        "upper_bounds": figures.get("leave_one_out"),
        "split_half": figures.get("split_half"),
        "captions": captions_table(captions, ends=CAPTIONS_AT_AN_END) if captions else None,
        "captions_count": len(captions),
        "questions": questions_tables(figures.get("questions", ())),
        "tables": {table.name.replace("-", "_"): table for table in consensus_tables(result)},
        "workers": [
            row | {"note": worker_note(row, threshold), "accuracy": accuracy.get(row["worker"])}
            for row in workers[:WORKERS_SHOWN]
        ],
        "workers_left": max(0, len(workers) - WORKERS_SHOWN),
        "controls": {"seen": seen, "right": right, "share": right / seen if seen else None},
    }


def _start_job(request: HttpRequest, study: Study) -> None:
    values = read_posted_parameters(request, evaluate)
    if not Judgment.objects.filter(assignment__study=study).exists() and not study.pairs.exists():
        raise WrongState(
            _("Study “%(slug)s” has no judgments yet; there is nothing to compute.") % {"slug": study.slug}
        )
    with transaction.atomic():
        aggregate.start(study, {}, by=signed_in(request), page=True)
        if not KINDS[study.protocol].comparison.refusal:
            evaluate.start(study, values, by=signed_in(request), page=True)


def _can_be_adopted(study: Study) -> bool:
    written = KINDS[study.protocol].writes_captions and not study.simulated
    return written and study.state == Study.State.CLOSED


def _progress_from_json(value: dict[str, Any]) -> dict[str, Any]:
    return value | {"revised_at": value["revised_at"] and parse_datetime(value["revised_at"])}


PROGRESS = add_figures(
    Figures(
        "progress",
        study_progress,
        rows=lambda progress: int(progress["judgments"]),
        from_json=_progress_from_json,
        many=has_many_assignments,
    )
)
add_page(StudyPage(name="results", label="Results", order=50, view=show_results, group=Group.FINDINGS))


def _add_compute(name: str, readings: tuple[str, ...], offered: Callable[[Study], bool]) -> None:
    add_step(
        StudyStep(
            name=name,
            label="Compute now",
            run=_start_job,
            job="aggregate",
            primary_on=frozenset({"results"}),
            offered=offered,
            permission="view",
            form=StepForm(EvaluateRequest, ("metrics", "tokenizer", *readings)),
        )
    )


# A form has the readings of what the study judges. "compute" is also the button on top, without a form.
_add_compute("compute", OF_PAIRS, lambda study: study.state in (Study.State.OPEN, Study.State.CLOSED))
_add_compute("compute-captions", OF_CAPTIONS, never)
add_operation(aggregate, name="models", label="Fit models of workers", fields=("method",), needed=("method",))
add_operation(adopt, label="Adopt captions", fields=(), offered=_can_be_adopted)
