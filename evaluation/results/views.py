"""The page "Results" of a study, and results in the HTTP interface."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

import django_filters as filters
from django.core.cache import cache
from django.db import transaction
from django.db.models import Q, QuerySet, Subquery
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language, gettext_noop
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.models import Adjudication, Assignment, Judgment, ProblemReport
from annotation.models.assignments import FINISHED_STATES
from annotation.snapshots import has_many_assignments
from common.amounts import percent, thousands
from common.errors import ObjectNotFound, WrongState
from common.texts import readable
from evaluation.data.imported_scores import imported_hashes
from evaluation.data.judgment_sets.signatures import AS_IMPORTED
from evaluation.data.progress import study_progress
from evaluation.data.ranked_lists import scored_rows
from evaluation.data.releases.erasure import precedes_erasure
from evaluation.models import Analysis, Consensus
from evaluation.results.aggregation import scale_sentence
from evaluation.results.agreement import alpha_note, components_sentence, side_sentence
from evaluation.results.consensus.counts import unused_context
from evaluation.results.consensus.study import SIDE_LABELS
from evaluation.results.consensus.tables import captions_table, consensus_tables, questions_tables
from evaluation.results.metrics.options import OF_CAPTIONS, OF_PAIRS
from evaluation.results.metrics.tables import (
    accuracy_table,
    correlation_table,
    tables_beside_metrics,
    within_items_sentence,
)
from evaluation.results.operations import EvaluateRequest, start_aggregation, start_evaluation
from evaluation.results.rankings import audit_sentence
from evaluation.results.reopening import reopen
from evaluation.results.systems import verdict_context
from evaluation.results.verdict import UNTESTED_NOTE, Verdict, cells_of, levels_sentence, verdict_sentence
from evaluation.results.worker_models import WORKER_MODELS
from judgments.access.permissions import study_for
from judgments.admin.base import picture_address, signed_in
from judgments.api.filters import filters_of, study_filter
from judgments.api.resources import Related, Resource, RowSerializer
from judgments.cached_figures import cached_figures, required_figures
from judgments.drawing.keys import content_key
from judgments.figures import Figures, add_figures
from judgments.kinds import KINDS
from judgments.kinds.base import Kind
from judgments.kinds.pairs.answers import CONFIDENCE_CHOICES
from judgments.models import Job, Study
from judgments.studies.designs import design_of
from judgments.studies.pages import Context, StepForm, StudyPlace, StudyStep, never
from judgments.studies.step_form import add_operation, read_posted_parameters
from judgments.studies.study_page import PAGES, add_step, study_page, study_page_address
from quorum.statistics.aggregation.pair_answers import SURE

DAY_SECONDS = 86_400
Drawing = TypeVar("Drawing")
MIN_JUDGMENTS = 20  # judgments for a note on a worker's habit
SIDE_SHARE = 0.9
PIECES_SHOWN = 10
MODEL_ROWS_SHOWN = 8
MODEL_WORKERS_SHOWN = 50
MODEL_COLUMNS = {
    "mace": {"competence": gettext_noop("Competence (MACE)")},
    "glad": {"ability": gettext_noop("Ability (GLAD)")},
    "response": {"ability": gettext_noop("Ability (response model)")},
}
WORKERS_SHOWN = 200
NEWEST = 5
UNITS_SHOWN = 8
EXTREME_CAPTIONS_SHOWN = 5
WAYS = {
    "closer": gettext_noop("Where metrics and people disagree"),
    "metrics": gettext_noop("Imported scores"),
    "ranking": gettext_noop("Ranking of the systems"),
    "soft-labels": gettext_noop("How much people disagree"),
    "disputes": gettext_noop("Disputed items"),
    "report": gettext_noop("Report: figures, tables, methods"),
}

# Names of the page "Metrics", depending on the steps that features add to it.
METRICS_BY_STEPS = {
    ("compare-metrics", "import-scores"): gettext_noop("Comparison of two metrics, imported scores"),
    ("compare-metrics",): gettext_noop("Comparison of two metrics"),
}


def as_markup(markup: str) -> SafeString:
    return mark_safe(markup)  # noqa: S308  # the functions that return it escape people's texts


def cached_drawing(draw: Callable[..., Drawing], *arguments: Any) -> Drawing:
    key = f"quorum-drawing-{get_language()}-{draw.__name__}-{content_key(*arguments)}"
    drawing: Drawing | None = cache.get(key)
    if drawing is None:
        drawing = draw(*arguments)
        cache.set(key, drawing, DAY_SECONDS)
    return drawing


def worker_note(row: Mapping[str, Any], threshold: Any) -> str:
    notes = []
    if not row["used"]:
        note = _("excluded")
        if isinstance(threshold, float | int) and row["controls_seen"] and row["controls_share"] < threshold:
            note = _("not used: below the pass mark of %(share)s") % {"share": percent(threshold)}
        notes.append(note)
    left = row["left_share"]
    if left is not None and row["judgments"] >= MIN_JUDGMENTS and not 1 - SIDE_SHARE < left < SIDE_SHARE:
        notes.append(
            _("nearly always chooses left") if left >= SIDE_SHARE else _("nearly always chooses right")
        )
    return "; ".join(notes)


def model_sentence(model: Mapping[str, Any]) -> str:
    """Return a sentence on differences between Dawid and Skene's model and the consensus."""
    if not model or model["reason"] or not model["compared"]:
        return ""
    differ, ties = model["differ"], model["breaks_ties"]
    if not differ and not ties:
        return _(
            "No. A model that weights participants by their accuracy gives the same answers on all judged items "
            "(%(n)s)."
        ) % {"n": thousands(model["compared"])}
    sentence = _(
        "Yes. A model that weights participants by their accuracy differs from the consensus. Judged items on which "
        "it differs: %(differ)s of %(n)s."
    )
    if ties:
        sentence = _(
            "Yes. A model that weights participants by their accuracy differs from the consensus. Judged items on "
            "which it differs: %(differ)s of %(n)s. Number of ties that it decides: %(ties)s."
        )
    sentence %= {"differ": thousands(differ), "n": thousands(model["compared"]), "ties": thousands(ties)}
    if model["converged"]:
        return sentence
    careful = _("The model did not converge; treat this result with caution.")
    return f"{sentence} {careful}"


def other_models(models: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    fitted, columns = [], []
    workers: dict[str, dict[int, Any]] = {}
    for name, model in models.items():
        if model["reason"]:
            sentence = _(model["reason"])
        elif "differ" in model:
            sentence = _(
                "Items on which the model differs from the consensus: %(differ)s of %(n)s. Number of ties that it "
                "decides: %(ties)s."
            ) % {
                "differ": thousands(model["differ"]),
                "n": thousands(model["compared"]),
                "ties": thousands(model["breaks_ties"]),
            }
        else:
            sentence = _(
                "Answers to which the model was fitted: %(n)s. An answer counts as right if it agrees with the "
                "majority of the other answers to its item."
            ) % {"n": thousands(model["answers"])}
        if model.get("levels"):
            sentence = f"{sentence} {_describe_levels(model['levels'])}"
        fitted.append({"name": _(WORKER_MODELS[name]), "sentence": sentence, "note": model.get("note", "")})
        for column, title in MODEL_COLUMNS.get(name, {}).items():
            columns.append(_(title))
            for row in model.get("workers", ()):
                workers.setdefault(row["worker"], {})[len(columns) - 1] = row[column]
    rows = [
        {"worker": worker, "cells": [cells.get(index) for index in range(len(columns))]}
        for worker, cells in sorted(workers.items())
    ]
    return {"models": fitted, "columns": columns, "rows": rows[:MODEL_WORKERS_SHOWN]}


def _describe_levels(levels: Sequence[Mapping[str, Any]]) -> str:
    labels = {0: _("not given"), **{choice.value // SURE: _(choice.text) for choice in CONFIDENCE_CHOICES}}
    shares = [
        f"{labels[row['level']]}: {percent(row['right'] / row['compared'])} ({thousands(row['compared'])})"
        for row in levels
        if row["compared"]
    ]
    return _("Agreement with the majority of the other participants, by confidence: %(levels)s.") % {
        "levels": ", ".join(shares)
    }


def model_rows(kind: Kind, model: Mapping[str, Any]) -> list[dict[str, Any]]:
    labels = SIDE_LABELS if kind.two_sided else {0: _("no"), 1: _("yes")}
    return [
        {
            "unit": row["unit"],
            "consensus": labels[int(row["consensus"])],
            "votes": ", ".join(f"{labels[int(value)]} {n}" for value, n in row["votes"].items() if n),
            "value": labels[int(row["value"])],
            "probability": row["probability"],
        }
        for row in model.get("differing", [])[:MODEL_ROWS_SHOWN]
    ]


def _answer_rows(study: Study) -> list[dict[str, Any]]:
    kind = KINDS[study.protocol]
    if not kind.is_open:
        return []
    shown = Consensus.objects.filter(study=study, unit__isnull=False).order_by("pk")
    rows = []
    for consensus in shown.select_related("unit__item__dataset", "unit__first")[:UNITS_SHOWN]:
        unit = consensus.unit
        if unit is None or not consensus.answer:
            continue
        pieces = kind.describe_consensus(consensus.answer, unit=unit)
        rows.append(
            {
                "picture": picture_address(unit.item),
                "image": unit.item.name,
                "text": readable(unit.first.text) if unit.first else unit.content.get("text", ""),
                "said": pieces[:PIECES_SHOWN],
                "left": max(len(pieces) - PIECES_SHOWN, 0),
                "n": consensus.n,
            }
        )
    return rows


@study_page("results", "Results", order=50, group=StudyPlace.FINDINGS, help="evaluation.md")
def show_results(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    newest = {}
    for analysis in Analysis.objects.filter(
        Q(pk=_newest(study, Analysis.Kind.AGGREGATION)) | Q(pk=_newest(study, Analysis.Kind.META_EVALUATION))
    ).annotate(last_output=Subquery(scored_rows(study).order_by("-pk").values("pk")[:1])):
        newest[analysis.what] = analysis
    aggregation = newest.get(Analysis.Kind.AGGREGATION)
    evaluation = newest.get(Analysis.Kind.META_EVALUATION)
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
        context["within_items"] = within_items_sentence(evaluation.result)
        context["readings"] = tables_beside_metrics(evaluation.result)
    elif aggregation is not None:
        done = Job.objects.filter(kind="evaluate", args__study=study.slug, state=Job.State.DONE)
        context["why_no_metrics"] = done.order_by("-pk").values_list("result__notes", flat=True).first()
    if aggregation is not None:
        context |= unused_context(aggregation.result)
        context |= verdict_context(study, aggregation.result) | {"scale": scale_sentence(aggregation.result)}
        of_items = evaluation if study.design.get("purpose") != "labels" else None
        context["lead"] = _leading_findings(aggregation, of_items, context["figures"])
        steps = tuple(name for name in ("compare-metrics", "import-scores") if name in context["steps"])
        ways = WAYS | ({"metrics": METRICS_BY_STEPS[steps]} if steps in METRICS_BY_STEPS else {})
        context["ways"] = [
            {"label": _(label), "link": study_page_address(study, name)}
            for name, label in ways.items()
            if name in PAGES  # the feature of a page may be switched off
            and PAGES[name].has_tab(study)
            and PAGES[name].permission in context["rights"]
        ]
    return TemplateResponse(request, "evaluation/study_results.html", context)


def _leading_findings(
    aggregation: Analysis, evaluation: Analysis | None, figures: dict[str, tuple[SafeString, str, str]]
) -> dict[str, Any]:
    if evaluation is None:
        counts = aggregation.result["counts"]
        sentence = _("Items with a consensus: %(n)s of %(all)s.") % {
            "n": thousands(counts["units_with_consensus"]),
            "all": thousands(counts["units"]),
        }
        return {"sentence": sentence, "beside": figures["agreement"][1]}
    if "verdict" not in evaluation.result:
        return {"sentence": _(UNTESTED_NOTE)}
    verdict: Verdict = evaluation.result["verdict"]["all"]
    cells = cells_of(evaluation.result)
    return {
        "verdict": verdict | {"sentence": verdict_sentence(verdict, cells)},
        "beside": levels_sentence(evaluation.result),
    }


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
    """Return plots by name, each with a sentence and a signature. Plots escape all texts."""
    # Import late, because matplotlib takes 60 MB and 0.3 s.
    from evaluation.results import plots

    drawings: dict[str, tuple[SafeString, str, str]] = {}

    def draw(name: str, sentence: str, signature: str, figure: Callable[..., str], *arguments: Any) -> None:
        drawings[name] = as_markup(cached_drawing(figure, *arguments)), sentence, signature

    if study.source == Study.Source.DESIGNED:  # imported judgments have no progress to plot
        newest = aggregation or evaluation  # counts are shown with the signature of the latest analysis
        signature = newest.judgments if newest else ""
        counted = {**progress, "revised_at": None}
        zone = timezone.get_current_timezone_name()
        draw("progress", plots.progress_sentence(progress), signature, plots.progress_figure, counted, zone)
    if aggregation is not None:
        signature, result = aggregation.judgments, aggregation.result
        agreement, workers = result["agreement"], result["workers"]
        threshold = design_of(study).controls.threshold
        sentence = plots.agreement_sentence(agreement)
        draw("agreement", sentence, signature, plots.agreement_figure, agreement)
        sentence = plots.workers_sentence(workers, threshold)
        draw("workers", sentence, signature, plots.workers_figure, workers, threshold)
    if evaluation is not None:
        result = evaluation.result
        draw("metrics", plots.accuracy_sentence(result), evaluation.judgments, plots.accuracy_figure, result)
    return drawings


def _freshness(
    study: Study, aggregation: Analysis | None, evaluation: Analysis | None, progress: dict[str, Any]
) -> dict[str, bool]:
    """Return flags by name that say whether each result is older than the data.

    Judgments are only added, except when people are erased, so it is enough to compare the number of judgments, and
    the times of the last revision, adjudication and erasure. Results also depend on systems' outputs, of which the
    last row id is compared, and on imported scores, which can be replaced and whose hashes are compared.
    """
    current = aggregation is not None and aggregation.result["counts"]["judgments"] == progress["judgments"]
    if aggregation is not None and current:
        since = aggregation.created_at
        decided = Adjudication.objects.filter(
            Q(decided_at__gt=since) | Q(withdrawn_at__gt=since), study=study
        )
        revised = progress["revised_at"]
        current = (revised is None or revised <= since) and not decided.exists()
        last = getattr(aggregation, "last_output", None) or 0
        current = current and (aggregation.result.get("outputs", last) or 0) == last
        current = current and not precedes_erasure(aggregation)
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
        "alpha_note": alpha_note(result["agreement"]["alpha"]),
        "components_sentence": components_sentence(result["agreement"].get("components", {})),
        "side_sentence": side_sentence(
            result["agreement"].get("side_bias", {}), drawn=threshold != AS_IMPORTED
        ),
        "counts": result["counts"],
        "filter_audit": audit_sentence(result["filter_audit"]) if "filter_audit" in result else "",
        "upper_bounds": figures.get("leave_one_out"),
        "split_half": figures.get("split_half"),
        "captions": captions_table(captions, ends=EXTREME_CAPTIONS_SHOWN) if captions else None,
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
    values = read_posted_parameters(request, start_evaluation)
    if not Judgment.objects.filter(assignment__study=study).exists() and not study.pairs.exists():
        raise WrongState(
            _("Study “%(slug)s” has no judgments yet; there is nothing to compute.") % {"slug": study.slug}
        )
    with transaction.atomic():
        start_aggregation.start(study, {}, by=signed_in(request), page=True)
        if not KINDS[study.protocol].comparison.refusal:
            start_evaluation.start(study, values, by=signed_in(request), page=True)


PROGRESS = add_figures(
    Figures(
        "progress",
        study_progress,
        rows=lambda progress: int(progress["judgments"]),
        from_json=lambda value: (
            value | {"revised_at": value["revised_at"] and parse_datetime(value["revised_at"])}
        ),
        is_large=has_many_assignments,
    )
)


def _add_compute(name: str, options: tuple[str, ...], offered: Callable[[Study], bool]) -> None:
    add_step(
        StudyStep(
            name=name,
            label="Compute now",
            run=_start_job,
            job="aggregate",
            primary_on=frozenset({"results"}),
            has_button=offered,
            permission="view",
            form=StepForm(EvaluateRequest, ("metrics", "tokenizer", *options)),
        )
    )


# The form has the variants for the study's protocol. "compute" is also a button at the top, without a form.
_add_compute("compute", OF_PAIRS, lambda study: study.state in (Study.State.OPEN, Study.State.CLOSED))
_add_compute("compute-captions", OF_CAPTIONS, never)
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


class ConsensusSerializer(RowSerializer[Consensus]):
    """The consensus on a unit or on a candidate pair. The other of the two fields `unit` and `pair` is null."""

    study = Related("study.slug")
    unit = Related("unit.key", optional=True)
    pair = Related("pair.key", optional=True)
    kind = serializers.SerializerMethodField()
    answer = serializers.SerializerMethodField()
    votes = serializers.DictField(child=serializers.IntegerField(), read_only=True)

    class Meta:
        model = Consensus
        fields = [
            *("id", "study", "unit", "pair", "kind", "source", "n", "value", "answer"),
            *("share", "margin", "tie", "votes"),
        ]

    @extend_schema_field(OpenApiTypes.ANY)
    def get_answer(self, row: Any) -> Any:
        """The consensus on open answers, in the form of export files.

        For other kinds, further data on the consensus.
        """
        kind = KINDS[row.study.protocol]
        if row.answer is None or not kind.is_open:
            return row.answer
        return kind.exchange.to_file(row.answer, content=row.unit.content)

    def get_kind(self, row: Any) -> str | None:
        """The kind of the pair: HC, HI, HM or MM. Null if there are no pairs."""
        return (row.pair or row.unit).kind or None


def _filter_by_subject(rows: QuerySet[Consensus], name: str, value: str) -> QuerySet[Consensus]:
    return rows.filter(pair=None) if value == "units" else rows.filter(unit=None)


class ConsensusResource(Resource):
    """The consensus on each unit or pair, as of the last aggregation."""

    scope = "reports"
    queryset = Consensus.objects.select_related("study", "unit", "pair")
    serializer_class = ConsensusSerializer
    filterset_class = filters_of(
        Consensus,
        "source",
        "tie",
        study=study_filter(),
        unit="unit__key",
        pair="pair__key",
        of=filters.ChoiceFilter(
            choices=[("units", "units"), ("pairs", "pairs")],
            method=_filter_by_subject,
            label="Of units or pairs",
        ),
    )


class LastAnalysisView(APIView):
    scope: ClassVar[str] = "reports"
    what: ClassVar[Analysis.Kind]

    def last(self, request: Request, slug: str) -> Response:
        study = study_for(request, slug)
        analysis = Analysis.objects.newest(study, self.what)
        if analysis is None:
            raise ObjectNotFound(f"Nothing of this sort was computed for study {study.slug!r} yet.")
        names = ("settings", "signature", "data_hash", "created_at", "result")
        return Response({name: getattr(analysis, name) for name in names})


def describe_last(name: str, summary: str) -> Any:
    responses = {
        (200, "application/json"): OpenApiTypes.OBJECT,
        404: OpenApiResponse(description="Not computed yet."),
    }
    return extend_schema(responses=responses, operation_id=name, summary=summary)


class AgreementView(LastAnalysisView):
    """The newest agreement of a study: GET /api/studies/{slug}/agreement/."""

    what = Analysis.Kind.AGGREGATION

    @describe_last("studies_agreement", "The last agreement and participants' quality")
    def get(self, request: Request, slug: str) -> Response:
        """Return the result of the last ``aggregate``, with its settings and the hash of its judgments."""
        return self.last(request, slug)


class EvaluationView(LastAnalysisView):
    """The newest evaluation of a study: GET /api/studies/{slug}/evaluation/."""

    what = Analysis.Kind.META_EVALUATION

    @describe_last("studies_evaluation", "The last metrics against people")
    def get(self, request: Request, slug: str) -> Response:
        """Return the result of the last ``evaluate``, with its settings and the hash of its judgments."""
        return self.last(request, slug)
