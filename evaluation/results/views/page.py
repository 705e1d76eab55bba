"""The page "Results" of a study, with its steps: to compute results, to fit models, and to re-open items."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db import transaction
from django.db.models import Q, Subquery
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _

from annotation.models import Adjudication, Assignment, Judgment, ProblemReport
from annotation.models.assignments import FINISHED_STATES
from annotation.snapshots import has_many_assignments
from common.amounts import thousands
from common.errors import WrongState
from common.texts import text_or_placeholder
from evaluation.data.imported_scores import imported_hashes
from evaluation.data.judgment_sets.signatures import AS_IMPORTED
from evaluation.data.progress import study_progress
from evaluation.data.ranked_lists import scored_rows
from evaluation.data.releases.erasure import precedes_erasure
from evaluation.models import Analysis, Consensus
from evaluation.results.aggregation import scale_sentence
from evaluation.results.agreement_sentences import alpha_note, components_sentence, side_sentence
from evaluation.results.consensus.counts import unused_context
from evaluation.results.consensus.tables import captions_table, consensus_tables, questions_tables
from evaluation.results.metrics.options import CAPTION_OPTIONS, PAIR_OPTIONS
from evaluation.results.metrics.tables import accuracy_table, correlation_table, within_items_sentence
from evaluation.results.metrics.variant_tables import tables_beside_metrics
from evaluation.results.operations import EvaluateRequest, start_aggregation, start_evaluation
from evaluation.results.rankings.filter_audit import audit_sentence
from evaluation.results.reopening import reopen
from evaluation.results.systems import verdict_context
from evaluation.results.verdict import (
    UNTESTED_NOTE,
    Verdict,
    estimates_of_metrics,
    levels_sentence,
    verdict_sentence,
)
from evaluation.results.views.drawings import DrawnPlot, draw_plots
from evaluation.results.views.workers_in_words import model_rows, model_sentence, other_models, worker_note
from evaluation.results.worker_models import WORKER_MODELS
from judgments.admin.addresses import picture_address
from judgments.admin.base import signed_in
from judgments.cached_figures import cached_figures, required_figures
from judgments.figures import FiguresDefinition, add_figures
from judgments.kinds import KINDS
from judgments.models import Job, Study
from judgments.studies.pages import Context, StepForm, StudySection, StudyStep, never_shown, was_opened
from judgments.studies.step_form import add_operation, read_posted_parameters
from judgments.studies.study_page import PAGES, add_step, label_of_link, study_page, study_page_address

ANSWER_PARTS_SHOWN = 10  # parts of the consensus on an item with open answers
WORKERS_SHOWN = 200
PROBLEM_REPORTS_SHOWN = 5
ASSIGNMENTS_SHOWN = 5  # pages of work in progress
UNITS_SHOWN = 8  # items with open answers
EXTREME_CAPTIONS_SHOWN = 5  # captions with the highest scores, and with the lowest


def _answer_rows(study: Study) -> list[dict[str, Any]]:
    """Return rows with the consensus on the first items; [] if the kind's answers are not open."""
    kind = KINDS[study.protocol]
    if not kind.is_open:
        return []
    shown_consensus = Consensus.objects.filter(study=study, unit__isnull=False).order_by("pk")
    rows = []
    for consensus in shown_consensus.select_related("unit__item__dataset", "unit__first")[:UNITS_SHOWN]:
        unit = consensus.unit
        if unit is None or not consensus.answer:
            continue
        answer_parts = kind.describe_consensus(consensus.answer, unit=unit)
        rows.append(
            {
                "picture": picture_address(unit.item),
                "image": unit.item.name,
                "text": text_or_placeholder(unit.first.text) if unit.first else unit.content.get("text", ""),
                "answer_parts": answer_parts[:ANSWER_PARTS_SHOWN],
                "hidden_part_count": max(len(answer_parts) - ANSWER_PARTS_SHOWN, 0),
                "judgment_count": consensus.n,
            }
        )
    return rows


@study_page("results", "Results", order=50, section=StudySection.FINDINGS, help="evaluation.md")
def show_results(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    aggregation, evaluation = _newest_analyses(study)
    progress_figures = cached_figures(study, PROGRESS)
    progress = required_figures(progress_figures)
    context |= {
        "counted": progress_figures,  # says when the progress was computed
        "progress": progress,
        "submitted_count": sum(progress["assignments"].get(state, 0) for state in FINISHED_STATES),
        "assignments_in_progress": _assignments_in_progress(study, progress),
        "problem_reports": list(
            ProblemReport.objects.filter(assignment__study=study).select_related("assignment__worker")[
                :PROBLEM_REPORTS_SHOWN
            ]
        ),
        "aggregation": aggregation,
        "evaluation": evaluation,
        "compares_pairs": KINDS[study.protocol].compares_pairs,
        "why_not_comparable": KINDS[study.protocol].comparison.refusal,
        "answer_rows": _answer_rows(study) if aggregation else [],
        "figures": draw_plots(study, aggregation, evaluation, progress),
        **_outdated_flags(study, aggregation, evaluation, progress),
        **(_agreement_context(aggregation) if aggregation else {}),
    }
    if evaluation is not None:
        if context["compares_pairs"]:
            context["metrics_table"] = accuracy_table(evaluation.result)
        else:
            context["metrics_table"] = correlation_table(evaluation.result)
        context["within_items_sentence"] = within_items_sentence(evaluation.result)
        context["variant_tables"] = tables_beside_metrics(evaluation.result)
    elif aggregation is not None:
        # A job that could not compare any metric has notes on why, and stores no evaluation.
        done_jobs = Job.objects.filter(kind="evaluate", args__study=study.slug, state=Job.State.DONE)
        context["why_no_metrics"] = done_jobs.order_by("-pk").values_list("result__notes", flat=True).first()
    if aggregation is not None:
        context |= unused_context(aggregation.result)
        context |= verdict_context(study, aggregation.result)
        context["scale_sentence"] = scale_sentence(aggregation.result)
        # For studies that collect labels, the main result is their consensus, not metrics.
        collects_labels = study.design.get("purpose") == "labels"
        context["main_result"] = _main_result(
            aggregation, None if collects_labels else evaluation, context["figures"]
        )
        context["page_links"] = _links_to_pages(study, context)
    return TemplateResponse(request, "evaluation/study_results.html", context)


def _main_result(
    aggregation: Analysis, evaluation: Analysis | None, figures: dict[str, DrawnPlot]
) -> dict[str, Any]:
    """Return the context of the page's first sentence: the verdict on metrics, or the number of items with a consensus.

    ``evaluation`` is None if metrics are not the main result, or have not been compared with people.
    """
    if evaluation is None:
        counts = aggregation.result["counts"]
        sentence = _("Items with a consensus: %(n)s of %(all)s.") % {
            "n": thousands(counts["units_with_consensus"]),
            "all": thousands(counts["units"]),
        }
        return {"sentence": sentence, "note": figures["agreement"].sentence}
    if "verdict" not in evaluation.result:  # by an earlier version, which did not test
        return {"sentence": _(UNTESTED_NOTE)}
    verdict: Verdict = evaluation.result["verdict"]["all"]
    estimates = estimates_of_metrics(evaluation.result)
    return {
        "verdict": verdict | {"sentence": verdict_sentence(verdict, estimates)},
        "note": levels_sentence(evaluation.result),
    }


def _newest_analyses(study: Study) -> tuple[Analysis | None, Analysis | None]:
    """Return the newest aggregation and evaluation, by one query.

    They have the attribute ``last_output``, the row id of the newest system output. Results are large, so older ones
    are not read.
    """
    aggregations = Analysis.objects.newest_first(study, Analysis.Kind.AGGREGATION)
    evaluations = Analysis.objects.newest_first(study, Analysis.Kind.META_EVALUATION)
    analyses = Analysis.objects.filter(
        Q(pk=Subquery(aggregations.values("pk")[:1])) | Q(pk=Subquery(evaluations.values("pk")[:1]))
    )
    last_output = Subquery(scored_rows(study).order_by("-pk").values("pk")[:1])
    by_kind = {analysis.what: analysis for analysis in analyses.annotate(last_output=last_output)}
    return by_kind.get(Analysis.Kind.AGGREGATION), by_kind.get(Analysis.Kind.META_EVALUATION)


def _links_to_pages(study: Study, context: Context) -> list[dict[str, str]]:
    """Return labels and addresses of further pages that the study has and the person may open."""
    return [
        {"label": label, "url": study_page_address(study, page.name)}
        for page in sorted(PAGES.values(), key=lambda page: (page.order, page.name))
        if (label := label_of_link(page)) and page.has_tab(study) and page.permission in context["rights"]
    ]


def _assignments_in_progress(study: Study, progress: dict[str, Any]) -> list[Assignment]:
    """Return the assignments in progress that expire first, with one more than the page shows if there are more."""
    if not progress["assignments"].get(Assignment.State.ACCEPTED):
        return []
    assignments = Assignment.objects.with_lease(timezone.now()).filter(study=study)
    return list(assignments.select_related("worker", "hit").order_by("expires_at")[: ASSIGNMENTS_SHOWN + 1])


def _outdated_flags(
    study: Study, aggregation: Analysis | None, evaluation: Analysis | None, progress: dict[str, Any]
) -> dict[str, bool]:
    """Return flags by name that say whether each result is older than the data.

    Judgments are only added, except when people are erased. So it is enough to compare the number of judgments, and
    the times of the last revision, adjudication and erasure. Results also depend on systems' outputs, of which the
    last row id is compared, and on imported scores, which can be replaced and whose hashes are compared.
    """
    is_current = (
        aggregation is not None and aggregation.result["counts"]["judgments"] == progress["judgments"]
    )
    if aggregation is not None and is_current:
        computed_at = aggregation.created_at
        later_decisions = Adjudication.objects.filter(
            Q(decided_at__gt=computed_at) | Q(withdrawn_at__gt=computed_at), study=study
        )
        revised_at = progress["revised_at"]
        is_current = (revised_at is None or revised_at <= computed_at) and not later_decisions.exists()
        last_output = getattr(aggregation, "last_output", None) or 0
        # Results of older releases lack "outputs", and are not compared. It is None if the kind has no outputs.
        is_current = is_current and (aggregation.result.get("outputs", last_output) or 0) == last_output
        is_current = is_current and not precedes_erasure(aggregation)
    has_same_data = (
        evaluation is not None and aggregation is not None and evaluation.data_hash == aggregation.data_hash
    )
    if evaluation is not None and "imported" in evaluation.settings:
        hashes = imported_hashes(study.dataset, evaluation.settings["metrics"])
        has_same_data = has_same_data and evaluation.settings["imported"] == hashes
    return {
        "aggregation_is_outdated": aggregation is not None and not is_current,
        "evaluation_is_outdated": evaluation is not None and not (is_current and has_same_data),
    }


def _agreement_context(aggregation: Analysis) -> dict[str, Any]:
    result = aggregation.result
    kind_figures = result.get("figures", {})
    captions = kind_figures.get("captions", ())
    return {
        **_models_context(aggregation.study, result),
        **_workers_context(aggregation),
        "agreement": result["agreement"],
        "alpha_note": alpha_note(result["agreement"]["alpha"]),
        "components_sentence": components_sentence(result["agreement"].get("components", {})),
        "side_sentence": side_sentence(
            result["agreement"].get("side_bias", {}),
            # It is unknown whether the sides of imported judgments were random.
            random_sides=aggregation.settings.get("controls") != AS_IMPORTED,
        ),
        "counts": result["counts"],
        "filter_audit": audit_sentence(result["filter_audit"]) if "filter_audit" in result else "",
        "leave_one_out": kind_figures.get("leave_one_out"),
        "split_half": kind_figures.get("split_half"),
        "captions_table": captions_table(captions, ends=EXTREME_CAPTIONS_SHOWN) if captions else None,
        "captions_count": len(captions),
        "question_tables": questions_tables(kind_figures.get("questions", ())),
        "tables": {table.name.replace("-", "_"): table for table in consensus_tables(result)},
    }


def _models_context(study: Study, result: dict[str, Any]) -> dict[str, Any]:
    model = result.get("dawid_skene", {})
    model_table = model_rows(study, model)  # the first items on which it differs from the consensus
    return {
        "model": model,
        "model_sentence": model_sentence(model),
        "model_rows": model_table,
        "hidden_model_row_count": max(0, model.get("differ", 0) - len(model_table)),
        "other_models": other_models(result.get("models", {})),
        "model_choices": [(name, _(label)) for name, label in WORKER_MODELS.items()],
    }


def _workers_context(aggregation: Analysis) -> dict[str, Any]:
    result, pass_mark = aggregation.result, aggregation.settings.get("controls")  # or AS_IMPORTED
    # Participants whose judgments are not used come first.
    workers = sorted(result["workers"], key=lambda row: (row["used"], -row["judgments"], row["worker"]))
    seen_count = sum(row["controls_seen"] for row in workers)
    right_count = sum(row["controls_right"] for row in workers)
    share = right_count / seen_count if seen_count else None
    model_workers = result.get("dawid_skene", {}).get("workers", ())
    accuracy_by_worker = {row["worker"]: row["accuracy"] for row in model_workers}
    return {
        "workers": [
            row | {"note": worker_note(row, pass_mark), "accuracy": accuracy_by_worker.get(row["worker"])}
            for row in workers[:WORKERS_SHOWN]
        ],
        "hidden_worker_count": max(0, len(workers) - WORKERS_SHOWN),
        "controls": {"seen": seen_count, "right": right_count, "share": share},
    }


def _start_computing(request: HttpRequest, study: Study) -> None:
    evaluation_options = read_posted_parameters(request, start_evaluation)
    # Pairs of a published set may have winners without single judgments.
    if not Judgment.objects.filter(assignment__study=study).exists() and not study.pairs.exists():
        raise WrongState(
            _("Study “%(slug)s” has no judgments yet; there is nothing to compute.") % {"slug": study.slug}
        )
    with transaction.atomic():
        # From a page (`page`), no second job is started while one runs, even if its options differ.
        start_aggregation.start(study, {}, by=signed_in(request), page=True)
        if not KINDS[study.protocol].comparison.refusal:
            start_evaluation.start(study, evaluation_options, by=signed_in(request), page=True)


def _count_judgments(progress: dict[str, Any]) -> int:
    return int(progress["judgments"])


def _progress_from_json(progress: dict[str, Any]) -> dict[str, Any]:
    """Return stored progress with ``revised_at`` as a time instead of text."""
    revised_at = progress["revised_at"]
    return progress | {"revised_at": parse_datetime(revised_at) if revised_at else revised_at}


PROGRESS = add_figures(
    FiguresDefinition(
        "progress",
        study_progress,
        rows=_count_judgments,  # from which the figures are computed
        from_json=_progress_from_json,
        first_needs_job=has_many_assignments,
    )
)


def _add_compute_step(name: str, options: tuple[str, ...], is_offered: Callable[[Study], bool]) -> None:
    """Add a step that computes results. Its form has these options; if ``is_offered``, it has a button at the top."""
    add_step(
        StudyStep(
            name=name,
            label="Compute now",
            run=_start_computing,
            job="aggregate",
            primary_pages=frozenset({"results"}),  # on which it is the main button
            has_button=is_offered,
            permission="view",
            form=StepForm(EvaluateRequest, ("metrics", "tokenizer", *options)),
        )
    )


# The template shows the form of "compute" for pairs, and that of "compute-captions" for other protocols. "compute" is
# also a button at the top, without a form, for both.
_add_compute_step("compute", PAIR_OPTIONS, was_opened)
_add_compute_step("compute-captions", CAPTION_OPTIONS, never_shown)
add_operation(
    start_aggregation,
    name="models",
    label="Fit models of participants",
    fields=("method",),
    needed=("method",),
)
add_operation(
    reopen, name="reopen-units", label="Re-open items", fields=("units", "votes", "why"), needed=("units",)
)
