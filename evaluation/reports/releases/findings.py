"""Compute the results of a release from its rows, without a database: analyses, and a report's inputs and sections.

A release is made and verified with these functions, so that both have the same results. Row ids are the numbers of the
rows in the bundle.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from annotation.quality.controls import control_records
from evaluation.data.judgment_sets.records import Decision, JudgmentTable, PairRow, UnitRow, Units
from evaluation.data.ranked_lists import (
    ANNOTATION,
    NO_ORIGINAL,
    NO_SYSTEM,
    SEARCH,
    JudgedUnits,
    ListRows,
    Proposals,
    sort_into_lists,
)
from evaluation.data.releases.rows import ReleasedRows, Row
from evaluation.presentation.content import Report, Section
from evaluation.reports.loading import AnalysisResult, EvaluationResult, ReportInputs, ReportMethod
from evaluation.reports.sections import sections_of
from evaluation.reports.sections.registration import (
    RegisteredPlan,
    registration_as_json,
    registration_section,
)
from evaluation.results.agreement import RESAMPLES, agreement_rows, measure_agreement, one_against_rest
from evaluation.results.consensus.clusters import clusters_of_captions
from evaluation.results.consensus.counts import count_judgments, worker_figures
from evaluation.results.consensus.study import (
    CONSENSUS_FIELDS,
    EMPTY_CONSENSUS,
    StudyConsensus,
    pair_consensus,
    unit_consensus,
    with_decisions,
)
from evaluation.results.metrics.figures import (
    accuracy_of_pairs,
    correlation_of_captions,
    preference_for_longer,
)
from evaluation.results.metrics.halves import compare_on_same_halves, halves_of_pairs
from evaluation.results.metrics.study_texts import values_of_units
from evaluation.results.metrics.texts import PairMaterial, find_references_of_pairs, named_kinds
from evaluation.results.rankings import CUTS, NO_RANKINGS, audit_filter, judged_outputs, rankings_of
from evaluation.results.systems import SystemsVerdict
from evaluation.results.verdict import correlation_verdict, pair_verdicts, scope_fields
from judgments.kinds import CaptionScore, IncludedJudgment
from quorum.numeric.arrays import Floats, Ints
from quorum.statistics.crossed import ITEM, NAIVE, columns_and_deletions
from quorum.statistics.inputs import encode
from quorum.statistics.meta import kinds_of

PEOPLE = "people"  # name of the system of a caption that people wrote


def inputs_of_rows(rows: ReleasedRows) -> ReportInputs:
    """Return a report's inputs from the complete rows of a release."""
    settings, kind = rows.settings, rows.settings.kind
    table = rows.table()
    consensus = _consensus(rows, table)
    people = rows.people()
    judgments = rows.included_judgments(table) if kind.results or kind.is_open else []
    full_depth = None
    if settings.full_depth:
        full_depth = {
            number for number, row in enumerate(rows.units) if not row["control"] and row["full_depth"]
        }
    records = control_records(rows.control_answers(), rule=settings.control_rule, kind=kind)
    table = replace(table, records=records)
    images = _images(rows, consensus)
    agreement = measure_agreement(
        kind, table, consensus.units, people, judgments if kind.is_open else [],
        seed=settings.seed, full_depth=full_depth, images=images,
        both_orders=settings.both_orders,
    )  # fmt: skip
    figures = (
        dict(kind.results.figures(judgments, seed=settings.seed).study) if judgments and kind.results else {}
    )
    content, systems_verdict = _score_selections(rows, judgments)
    if content:
        figures |= {"system_content": content}
    audit = _audit_filter_of(rows, consensus)
    proposals = None if kind.compares_pairs or kind.is_open else _proposals(rows)
    result = {
        "agreement": agreement,
        "workers": worker_figures(table, people, records, rows.wall_times()),
        "counts": count_judgments(table, consensus, len(people)),
        "figures": figures,
        "systems_verdict": systems_verdict,
        **_rankings(rows, table, proposals, consensus, audit),
        **({"filter_audit": audit} if audit else {}),
    }
    inputs = ReportInputs(
        kind=kind,
        seed=settings.seed,
        table=table,
        consensus=consensus,
        aggregation=AnalysisResult(
            result, {"controls": settings.controls, "resamples": RESAMPLES, "seed": settings.seed}, ""
        ),
        evaluation=None,
        no_evaluation_reason=str(settings.evaluation.get("why_not", "")),
        full_depth_units=full_depth,
        names={person.pk: person.name for person in people},
        systems={
            row["pair"]: (row["first_system"] or PEOPLE, row["second_system"] or PEOPLE) for row in rows.pairs
        },
        images={number: row["image"] for number, row in enumerate(rows.pairs)},
        unit_images=images,
        documents=rows.documents,
        proposals=proposals,
        pair_material=lambda: _pair_material(rows),
        method=ReportMethod(
            wording=settings.wording, is_clustered=settings.clustered, is_credited=settings.credited
        ),
        are_raters_known=settings.raters_known,
        draws_at_claim="drawn" in settings.others,
        samples_useful_items="chosen" in settings.others,
    )
    return _add_evaluation(rows, inputs, judgments) if rows.scores else inputs


def _images(rows: ReleasedRows, consensus: StudyConsensus) -> Ints | None:
    """Return the (U,) codes of the units' documents or images, or None if judgments of the bundle are independent."""
    if not rows.settings.clustered:
        return None
    images, documents = [rows.units[unit.pk]["image"] for unit in consensus.units], rows.documents
    return encode([documents.get(image, image) for image in images], "images")[1]


def _consensus(rows: ReleasedRows, table: JudgmentTable) -> StudyConsensus:
    pair_numbers = {row["pair"]: number for number, row in enumerate(rows.pairs)}
    judged_units = {number: row for number, row in enumerate(rows.units) if not row["control"]}
    units = Units.from_rows(
        [
            UnitRow(
                number, row["unit"], row["kind"] or "", pair_numbers[row["pair"]] if row["pair"] else None
            )
            for number, row in judged_units.items()
        ]
    )
    pairs = [
        PairRow(number, row["pair"], row["kind"] or "", row["first"], row["second"], row["published_winner"])
        for number, row in enumerate(rows.pairs)
    ]
    decisions = {
        number: Decision(value=row["decided"], by="", at="", reason="", votes={})
        for number, row in judged_units.items()
        if row["decided"] is not None
    }
    outcomes = with_decisions(unit_consensus(rows.settings.kind, table), decisions)
    return StudyConsensus(
        units, pairs, outcomes, pair_consensus(units, pairs, outcomes), decisions, table.data_hash
    )


def _score_selections(
    rows: ReleasedRows, judgments: Sequence[IncludedJudgment]
) -> tuple[dict[str, Any], SystemsVerdict | None]:
    """Return the figures of systems' boxes or keywords, and the verdict on the systems; {} and None without any."""
    if not rows.contents:  # bundles from before 0.6 have none
        return {}, None
    # Import late, because the machine code of the metrics would take memory in every web process.
    from evaluation.results.system_content.scoring import score_selections

    items = {judgment.unit.item.name: judgment.unit.item_id for judgment in judgments}
    contents = [
        (row["system"], items[row["image"]], row["names"]) for row in rows.contents if row["image"] in items
    ]
    documents = {items[image]: first for image, first in rows.documents.items() if image in items}
    return score_selections(
        rows.settings.kind, judgments, contents, documents,
        anonymous=not rows.settings.raters_known, seed=rows.settings.seed,
    )  # fmt: skip


def _audit_filter_of(rows: ReleasedRows, consensus: StudyConsensus) -> dict[str, Any]:
    """Return the audit of the filter that left out captions; {} if the study has none."""
    relevance, counts = rows.settings.kind.relevance, rows.settings.filter
    if not counts or relevance is None:
        return {}
    judged_rows = [
        (number, row) for number, row in enumerate(rows.units) if not row["control"] and not row["filtered"]
    ]
    return audit_filter(
        relevance,
        consensus.of_unit,
        passed_units={number for number, row in judged_rows if not row["audited"]},
        audited_units={number for number, row in judged_rows if row["audited"]},
        pair_count=counts["pairs"],
        passed_pair_count=counts["passed"],
    )


def _proposals(rows: ReleasedRows) -> Proposals:
    judged_units = {
        number: (row["image"], rows.first_with_text.get(number) or row["first"])
        for number, row in enumerate(rows.units)
        if not row["control"] and row["first"]
    }
    systems, images, texts, query_captions = (
        {name: index for index, name in enumerate(names)}
        for names in (
            dict.fromkeys(row["system"] for row in rows.proposals),
            sorted({row["image"] for row in rows.proposals} | {image for image, _ in judged_units.values()}),
            dict.fromkeys(
                [*(text for _, text in judged_units.values()), *(row["caption"] for row in rows.proposals)]
            ),
            sorted({row["query"] for row in rows.proposals if row["task"] == SEARCH}),
        )
    )
    columns = [
        (
            systems[row["system"]],
            images[row["image"]],
            texts[row["caption"]],
            query_captions[row["query"]] if row["task"] == SEARCH else -1,
            row["rank"],
            NO_ORIGINAL if row["original"] is None else row["original"],
        )
        for row in rows.proposals
    ]
    system, image, text, query_caption, rank, original = np.array(columns, dtype=np.int64).reshape(-1, 6).T
    has_rank = np.full(len(columns), not rows.has_old_proposals)
    lists = ListRows(system, image, text, query_caption, rank, original, has_rank)
    units = JudgedUnits.from_rows(
        [(number, images[image], texts[text]) for number, (image, text) in judged_units.items()],
        [
            (position, systems.get(name, NO_SYSTEM))
            for position, number in enumerate(judged_units)
            for name in rows.credits.get(number, ())
        ],
    )
    return sort_into_lists(
        lists, list(systems), list(images), list(texts), list(query_captions), rows.documents, units
    )


def _rankings(
    rows: ReleasedRows,
    table: JudgmentTable,
    proposals: Proposals | None,
    consensus: StudyConsensus,
    audit: Mapping[str, Any],
) -> dict[str, dict[str, Any]]:
    """Return the rankings of systems.

    The rankings of old bundles lack lists of one caption, intervals of shares, and ``system_orders``.
    """
    relevance = rows.settings.kind.relevance
    if proposals is None or relevance is None:
        return NO_RANKINGS
    credited = rows.settings.credited
    judged_lists = judged_outputs(rows.settings.kind, proposals, table, consensus, credited=credited)
    result = rankings_of(relevance, proposals, judged_lists, audit, with_unjudged_systems=not credited)
    if rows.has_old_proposals and all(row["rank"] <= 1 for row in rows.proposals):
        return NO_RANKINGS
    for row in result["rankings"].get(ANNOTATION, ()) if rows.has_old_proposals else ():
        for name in (*(f"S@{k}" for k in CUTS), "R-precision"):
            row[name] |= {"low": None, "high": None}
    return result if credited else result | {"system_orders": {}}


def _add_evaluation(
    rows: ReleasedRows, inputs: ReportInputs, judgments: Sequence[IncludedJudgment]
) -> ReportInputs:
    by_metric: dict[str, list[Row]] = {}
    for row in rows.scores:
        by_metric.setdefault(row["metric"], []).append(row)
    evaluate = _evaluate_pairs if rows.settings.kind.compares_pairs else _evaluate_captions
    inputs, result = evaluate(rows, inputs, by_metric, judgments)
    assert inputs.evaluation is not None
    result |= {"signatures": dict(rows.settings.evaluation["signatures"]), "notes": []}
    return replace(inputs, evaluation=replace(inputs.evaluation, result=result))


def _evaluate_pairs(
    rows: ReleasedRows,
    inputs: ReportInputs,
    by_metric: dict[str, list[Row]],
    judgments: Sequence[IncludedJudgment],
) -> tuple[ReportInputs, dict[str, Any]]:
    """Return the inputs with the metrics' scores, and the result of the evaluation."""
    consensus, table = inputs.consensus, inputs.table
    names = [row["pair"] for row in rows.pairs]
    kinds = [row["kind"] or "" for row in rows.pairs]
    clusters = inputs.item_clusters_of(range(len(names)))
    images = None if isinstance(clusters, str) else clusters[ITEM]  # a text: NAIVE
    scores: dict[str, Floats] = {}
    for metric, metric_rows in by_metric.items():
        scores_by_pair = {row["pair"]: (row["first"], row["second"]) for row in metric_rows}
        values = np.array([scores_by_pair[name] for name in names], dtype=np.float64).reshape(-1, 2)
        scores[metric] = values
    stated = rows.settings.evaluation
    evaluation = EvaluationResult({}, stated["settings"], stated["signature"], scores, range(len(names)))
    inputs = replace(inputs, evaluation=evaluation)
    metrics = {
        metric: accuracy_of_pairs(values, inputs.people_winners, kinds) for metric, values in scores.items()
    }
    people = one_against_rest(
        table,
        consensus.units,
        agreement_rows(table, inputs.full_depth_units),
        images=_images(rows, consensus),
        anonymous=any(person.anonymous for person in rows.people()),
    )
    comparisons = {}
    kind_names = named_kinds(kinds)
    by_kind = kinds_of(kind_names, len(names))
    accuracy = {metric: figures["accuracy"] for metric, figures in metrics.items()}
    if images is not None:
        pair_numbers = np.arange(len(names), dtype=np.int64)
        comparisons["halves"] = compare_on_same_halves(
            *halves_of_pairs(table, consensus.units, pair_numbers, anonymous=not inputs.are_raters_known),
            scores,
            by_kind,
            images,
        )
        if texts := {row["caption"]: row["text"] for row in rows.captions}:
            candidates = [(texts[row["first"]], texts[row["second"]]) for row in rows.pairs]
            comparisons["longer"] = preference_for_longer(candidates, inputs.people_winners, by_kind)
    result = {
        **comparisons,
        "metrics": metrics,
        "verdict": pair_verdicts(scores, inputs.people_winners, kind_names, accuracy),
        "people": people if people["all"]["n"] else {},
        "counts": {"pairs": len(names), "no_consensus": int((inputs.winners == 0).sum())},
        **scope_fields(inputs.people_winners.deletions),
    }
    return inputs, result


def _evaluate_captions(
    rows: ReleasedRows,
    inputs: ReportInputs,
    by_metric: dict[str, list[Row]],
    judgments: Sequence[IncludedJudgment],
) -> tuple[ReportInputs, dict[str, Any]]:
    """Return the inputs with the metrics' scores, and the result of the evaluation."""
    kind = rows.settings.kind
    first_rows = next(iter(by_metric.values()))
    unit_numbers: list[int] | None = None
    ratings: list[Sequence[tuple[int, float]]] = []
    if first_rows[0]["unit"] is not None:
        number_by_unit = {row["unit"]: number for number, row in enumerate(rows.units)}
        unit_numbers = [number_by_unit[row["unit"]] for row in first_rows]
        people = values_of_units(inputs.consensus, unit_numbers)
        captions = [(rows.units[number]["image"], rows.units[number]["first"]) for number in unit_numbers]
    else:
        captions = [(row["image"], row["caption"]) for row in first_rows]
        caption_scores = _scores_of_captions(rows, judgments, captions)
        people = np.array([score.score for score in caption_scores], dtype=np.float64)
        ratings = [score.ratings for score in caption_scores]
    image_codes: dict[str, int] = {}
    groups = [image_codes.setdefault(image, len(image_codes)) for image, _ in captions]
    keys, documents = [key for _, key in captions], rows.documents
    clusters = (
        clusters_of_captions(
            inputs.table,
            np.array(unit_numbers or [], dtype=np.int64),
            [documents.get(image, image) for image, _ in captions],
            ratings=ratings,
            adjudicated_units=inputs.consensus.decisions,
            anonymous=not inputs.are_raters_known,
        )
        if rows.settings.clustered
        else NAIVE
    )
    scores = {
        metric: np.array([[row["first"]] for row in metric_rows], dtype=np.float64)
        for metric, metric_rows in by_metric.items()
    }
    stated = rows.settings.evaluation
    evaluation = EvaluationResult(
        {}, stated["settings"], stated["signature"], scores, unit_numbers, people=people, captions=captions
    )
    inputs = replace(inputs, evaluation=evaluation)
    if "audited" in evaluation.settings:  # since 0.6
        weight = inputs.aggregation.result["filter_audit"]["weight"]
        audited = [number for number, row in enumerate(rows.units) if row["audited"] and not row["filtered"]]
        inputs = replace(inputs, unit_weights=dict.fromkeys(audited, weight))
    weights = inputs.weights if inputs.unit_weights else None
    columns = {metric: column[:, 0] for metric, column in scores.items()}
    metrics = {}
    for metric, column in columns.items():
        metrics[metric] = correlation_of_captions(
            column,
            people,
            groups,
            keys,
            cuts=kind.comparison.cuts,
            per_image=kind.comparison.per_image,
            seed=rows.settings.seed,
            clusters=clusters,
            weights=weights,
        )
    cells = {metric: figures["kendall_tau_b"] for metric, figures in metrics.items()}
    verdict = {"all": correlation_verdict(columns, people, clusters, cells, weights)}
    result = {
        "metrics": metrics,
        "verdict": verdict,
        "counts": {"units": len(captions)},
        **scope_fields(columns_and_deletions(clusters)[1]),
    }
    return inputs, result


def _scores_of_captions(
    rows: ReleasedRows, judgments: Sequence[IncludedJudgment], captions: Sequence[tuple[str, str]]
) -> list[CaptionScore]:
    """Return people's scores of captions.

    A text of several systems has one score for each, in the order of its units.
    """
    results = rows.settings.kind.results
    images = list(dict.fromkeys(row["image"] for row in rows.units))  # numbered as in the judged units
    scores_by_caption: defaultdict[tuple[str, str], list[CaptionScore]] = defaultdict(list)
    for score in (results and results.caption_scores(judgments)) or []:
        scores_by_caption[images[score.item], score.key].append(score)
    return [scores_by_caption[caption].pop(0) for caption in captions]


def _pair_material(rows: ReleasedRows) -> PairMaterial | None:
    texts = {row["caption"]: row["text"] for row in rows.captions}
    references_by_image: dict[Any, list[tuple[str, str]]] = {}
    for row in rows.captions:
        if row["document"]:  # skip images of control items, which are in no result
            references_by_image.setdefault(row["image"], []).append((row["caption"], row["text"]))
    if not texts:
        return None
    return find_references_of_pairs(
        (
            (
                number, row["kind"] or "", row["image"], texts[row["first"]], texts[row["second"]], row["references"]
            )
            for number, row in enumerate(rows.pairs)
        ),
        references_by_image,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Findings:
    """The results of a release.

    Attributes:
        signature: the judgment signature.
        outcomes: the registered plan with the outcomes of its hypotheses; None without a plan.
    """

    rows: ReleasedRows
    signature: str
    inputs: ReportInputs
    sections: list[Section]
    outcomes: dict[str, Any] | None = None

    @property
    def agreement(self) -> dict[str, Any]:
        agreement: dict[str, Any] = self.inputs.aggregation.result["agreement"]
        return agreement

    @property
    def workers(self) -> list[dict[str, Any]]:
        workers: list[dict[str, Any]] = self.inputs.aggregation.result["workers"]
        return workers

    @property
    def metrics(self) -> dict[str, Any]:
        evaluation = self.inputs.evaluation
        return dict(evaluation.result["metrics"]) if evaluation else {}

    @property
    def counts(self) -> dict[str, int]:
        consensus, counts = self.inputs.consensus, self.inputs.aggregation.result["counts"]
        return {
            "judgments": self.rows.judgment_count,
            "invalidated": self.rows.invalidated_count,
            "counted": counts["counted_judgments"],
            "units": len(consensus.units),
            "control_items": len(self.rows.units) - len(consensus.units),
            "pairs": len(consensus.pairs),
            "workers": counts["workers"],
        }

    def consensus(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of ``consensus.jsonl``, first units, then pairs."""
        consensus = self.inputs.consensus
        for unit in consensus.units:
            outcome, row = consensus.of_unit.get(unit.pk, EMPTY_CONSENSUS), self.rows.units[unit.pk]
            answer = outcome.answer
            if answer is not None:
                answer = self.rows.settings.kind.exchange.to_file(answer, content=row["content"] or {})
            source = "adjudicated" if unit.pk in consensus.decisions else "judgments"
            yield {
                "unit": unit.key,
                "pair": row["pair"],
                "kind": row["kind"],
                **{name: getattr(outcome, name) for name in CONSENSUS_FIELDS},
                "votes": dict(outcome.votes),
                "answer": answer,
                "source": source,
            }
        for pair in consensus.pairs:
            pair_outcome = consensus.of_pair[pair.pk]
            votes = {name: getattr(pair_outcome, name) for name in ("wins", "losses", "ties")}
            yield {
                "unit": None,
                "pair": pair.key,
                "kind": pair.kind or None,
                "n": sum(votes.values()),
                "value": pair_outcome.value,
                "share": None,
                "margin": None,
                "tie": pair_outcome.tie,
                "votes": votes,
                "answer": None,
                "source": "published" if pair_outcome.published else "judgments",
            }

    def analyses(self) -> dict[str, Any]:
        """Return the content of ``analyses.json``."""
        return {name: getattr(self, name) for name in ("signature", "counts", "agreement", "metrics")}


def compute_findings(rows: ReleasedRows, registered: RegisteredPlan | None = None) -> Findings:
    """Return the results of complete rows, and the outcomes of a registered plan."""
    inputs = inputs_of_rows(rows)
    sections = sections_of(inputs)
    if registered is not None:
        sections.append(registration_section(registered, inputs))
    outcomes = None if registered is None else registration_as_json(registered, inputs)
    return Findings(rows, rows.signature(), inputs, sections, outcomes)


# The setting of a report that repeats the manifest. `verify` compares both, to find a change in either.
MANIFEST_COPY = "release"


def report_of_release(
    manifest: Mapping[str, Any], findings: Findings, methods: Sequence[str], citations: Sequence[str]
) -> Report:
    """Return the report of a release.

    ``methods`` and ``citations`` are the texts of ``evaluation.reports.storage.methods``, which the rows do not have.
    """
    inputs, evaluation = findings.inputs, findings.inputs.evaluation
    return Report(
        **{name: manifest[name] for name in ("study", "title", "simulated", "versions")},
        protocol=findings.rows.settings.protocol,
        signature=findings.signature,
        data_hash=inputs.table.data_hash,
        seed=inputs.seed,
        counts=inputs.aggregation.result["counts"],
        sections=tuple(findings.sections),
        methods=tuple(methods),
        citations=tuple(citations),
        settings={MANIFEST_COPY: {name: value for name, value in manifest.items() if name != "files"}}
        | ({"meta-evaluation": dict(evaluation.settings)} if evaluation else {}),
        signatures=dict(evaluation.result["signatures"]) if evaluation else {},
    )
