"""Compute a report's inputs from the rows of a release, without a database.

Row ids are the numbers of the rows in the bundle. The analyses are computed as ``evaluation.results`` computes them for
a study.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
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
from evaluation.data.releases.rows import ReleasedRows
from evaluation.reports.inputs import AnalysisResult, ReportInputs, ReportMethod
from evaluation.reports.releases.metric_evaluation import add_evaluation
from evaluation.results.agreement import RESAMPLES, measure_agreement
from evaluation.results.consensus.counts import count_judgments, worker_figures
from evaluation.results.consensus.study import (
    StudyConsensus,
    pair_consensus,
    unit_consensus,
    with_decisions,
)
from evaluation.results.metrics.texts import PairMaterial, find_references_of_pairs
from evaluation.results.rankings.filter_audit import audit_filter
from evaluation.results.rankings.measures import CUTS, NO_RANKINGS, judged_outputs, rankings_of
from evaluation.results.systems import SystemsVerdict
from judgments.kinds import IncludedJudgment
from quorum.numeric.arrays import Ints
from quorum.statistics.inputs import encode

PEOPLE = "people"  # shown as the system of a caption that people wrote


def inputs_of_rows(rows: ReleasedRows) -> ReportInputs:
    """Return a report's inputs from the complete rows of a release."""
    settings, kind = rows.settings, rows.settings.kind
    table = rows.table()
    consensus = _consensus(rows, table)
    people = rows.people()
    judgments = rows.included_judgments(table) if kind.results or kind.is_open else []
    full_depth_units = None
    if settings.full_depth:  # early stopping ended the other units
        full_depth_units = {
            number for number, row in enumerate(rows.units) if not row["control"] and row["full_depth"]
        }
    records = control_records(rows.control_answers(), rule=settings.control_rule, kind=kind)
    table = replace(table, records=records)
    images = _images(rows, consensus)
    agreement = measure_agreement(
        kind, table, consensus.units, people, judgments if kind.is_open else [],
        seed=settings.seed, full_depth=full_depth_units, images=images,
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
            result,
            {"controls": settings.controls, "resamples": RESAMPLES, "seed": settings.seed},
            signature="",  # it is not stored
        ),
        evaluation=None,
        no_evaluation_reason=str(settings.evaluation.get("why_not", "")),
        full_depth_units=full_depth_units,
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
        # The judgment signature has the first of these fields only for an arena, the second only for such a sample.
        draws_at_claim="drawn" in settings.others,
        samples_useful_items="chosen" in settings.others,
    )
    return add_evaluation(rows, inputs, judgments) if rows.scores else inputs


def _images(rows: ReleasedRows, consensus: StudyConsensus) -> Ints | None:
    """Return the (U,) codes of the units' documents or images; None before 0.6, when intervals did not cluster."""
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
    documents = {items[image]: first_image for image, first_image in rows.documents.items() if image in items}
    return score_selections(
        rows.settings.kind, judgments, contents, documents,
        anonymous=not rows.settings.raters_known, seed=rows.settings.seed,
    )  # fmt: skip


def _audit_filter_of(rows: ReleasedRows, consensus: StudyConsensus) -> dict[str, Any]:
    """Return the audit of the filter that left out captions; {} without such a filter."""
    relevance, counts = rows.settings.kind.relevance, rows.settings.filter
    if not counts or relevance is None:
        return {}
    # A filtered text is shown only to fill up a group, not to audit the filter.
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


def _positions(names: Iterable[str]) -> dict[str, int]:
    """Return the position of each distinct name, in the order of first occurrence."""
    return {name: position for position, name in enumerate(dict.fromkeys(names))}


def _proposals(rows: ReleasedRows) -> Proposals:
    """Return the systems' ranked lists. A text is named by the id of a caption with this text."""
    judged_units = {
        number: (row["image"], rows.first_with_text.get(number) or row["first"])
        for number, row in enumerate(rows.units)
        if not row["control"] and row["first"]  # items of boxes and keywords have no caption
    }
    unit_images = [image for image, _ in judged_units.values()]
    unit_texts = [text for _, text in judged_units.values()]
    systems = _positions(row["system"] for row in rows.proposals)
    images = _positions(sorted({row["image"] for row in rows.proposals}.union(unit_images)))
    texts = _positions([*unit_texts, *(row["caption"] for row in rows.proposals)])
    query_captions = _positions(sorted({row["query"] for row in rows.proposals if row["task"] == SEARCH}))
    entries = [
        (
            systems[row["system"]],
            images[row["image"]],
            texts[row["caption"]],
            query_captions[row["query"]] if row["task"] == SEARCH else -1,  # -1: the image is the query
            row["rank"],
            NO_ORIGINAL if row["original"] is None else row["original"],
        )
        for row in rows.proposals
    ]
    system, image, text, query_caption, rank, original = np.array(entries, dtype=np.int64).reshape(-1, 6).T
    # In older bundles, ranks order a list but need not be positions in it.
    has_rank = np.full(len(entries), not rows.has_old_proposals)
    credits: list[tuple[int, int]] = []
    for position, number in enumerate(judged_units):
        credited_systems = rows.credits.get(number, ())
        credits += [(position, systems.get(name, NO_SYSTEM)) for name in credited_systems]
    units = JudgedUnits.from_rows(
        [(number, images[image], texts[text]) for number, (image, text) in judged_units.items()], credits
    )
    return sort_into_lists(
        ListRows(system, image, text, query_caption, rank, original, has_rank),
        list(systems),
        list(images),
        list(texts),
        list(query_captions),
        rows.documents,
        units,
    )


def _rankings(
    rows: ReleasedRows,
    table: JudgmentTable,
    proposals: Proposals | None,
    consensus: StudyConsensus,
    audit: Mapping[str, Any],
) -> dict[str, dict[str, Any]]:
    """Return the rankings of systems.

    Older bundles have less. Those made before systems could rank images for a caption (``has_old_proposals``) have no
    rankings if every system gave one caption per image, and no intervals of shares. Those made before files of imported
    judgments named the systems that an answer counts for (not ``credited``) have no ``system_orders``; there, an answer
    counts for every system that gave the text, and systems without a judged item have rows, too.
    """
    relevance = rows.settings.kind.relevance
    if proposals is None or relevance is None:
        return NO_RANKINGS
    is_credited = rows.settings.credited
    judged_lists = judged_outputs(rows.settings.kind, proposals, table, consensus, credited=is_credited)
    result = rankings_of(relevance, proposals, judged_lists, audit, with_unjudged_systems=not is_credited)
    if rows.has_old_proposals and all(row["rank"] <= 1 for row in rows.proposals):
        return NO_RANKINGS
    if rows.has_old_proposals:
        for row in result["rankings"].get(ANNOTATION, ()):
            for name in (*(f"S@{k}" for k in CUTS), "R-precision"):
                row[name] |= {"low": None, "high": None}
    return result if is_credited else result | {"system_orders": {}}


def _pair_material(rows: ReleasedRows) -> PairMaterial | None:
    """Return the pairs with their references; None if the release does not have the texts of captions."""
    texts = {row["caption"]: row["text"] for row in rows.captions}
    if not texts:
        return None
    references_by_image: dict[Any, list[tuple[str, str]]] = {}
    for row in rows.captions:
        if row["document"]:  # it counts in document frequencies, which leave out images of control items
            references_by_image.setdefault(row["image"], []).append((row["caption"], row["text"]))
    return find_references_of_pairs(
        (
            (
                number, row["kind"] or "", row["image"], texts[row["first"]], texts[row["second"]], row["references"]
            )
            for number, row in enumerate(rows.pairs)
        ),
        references_by_image,
    )  # fmt: skip
