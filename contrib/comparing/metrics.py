"""Compare two metrics by their agreement with people, and test the difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any

import numpy as np

from common.amounts import as_json
from common.texts import one_text
from evaluation.data.imported_scores import (
    NO_ROW_ID,
    ImportedScores,
    ScoreColumn,
    check_imported,
    imported_scores,
    stable_number,
)
from evaluation.data.judgment_sets import loaders
from evaluation.errors import EvaluationError
from evaluation.models import DEFAULT_TOKENIZER, ScoreKeys
from evaluation.results.consensus.study import consensus_of
from evaluation.results.metrics.evaluation import compared_kind
from evaluation.results.metrics.figures import COEFFICIENTS
from evaluation.results.metrics.scoring import score_captions, score_pairs
from evaluation.results.metrics.study_texts import (
    caption_clusters,
    judged_captions,
    judged_pairs,
    pair_clusters,
)
from evaluation.results.metrics.texts import CaptionTexts, named_kinds, weights_of_captions
from evaluation.results.verdict import scope_fields
from judgments.models import Dataset, Item, Output, Study
from judgments.models.units import credited_systems
from judgments.studies.generation.progress import Progress, no_progress
from quorum.numeric.arrays import Floats, Ints
from quorum.numeric.signatures import parse
from quorum.statistics.crossed import ITEM, ClusterColumns, columns_and_deletions
from quorum.statistics.meta import (
    accuracy_difference,
    correlation_difference,
    grouped_correlation,
    pair_accuracy,
    pairwise_accuracy,
    soft_pairwise_accuracy,
)

Per = ScoreKeys.Per
DIFFERENCE = ("first", "second", "difference", "low", "high", "p", "n", "clusters", "reason")
MIN_SYSTEMS = 3
NO_ITEMS = "the metric has scores of systems alone"
LEVEL = 0.05


def compare_metrics(
    *,
    study: Study,
    first: str,
    second: str,
    tokenizer: str = DEFAULT_TOKENIZER,
    progress: Progress = no_progress,
) -> dict[str, Any]:
    """Compare two metrics by a study's consensus, without storing the result.

    For pairs, the result has the accuracy by kind and its difference, clustered by item and rater, with a test. For
    captions, it has correlations and their difference, clustered by item and rater, with a test, and the agreement
    over systems.

    Raises:
        EvaluationError: a metric is unknown or lacks scores, or the study has nothing to compare with.
    """
    kind = compared_kind(study)
    names = _check_two_metrics(first, second)
    check_imported(study.dataset, names)
    imported = imported_scores(study.dataset, names)
    progress(0.05, "reading judgments")
    table = loaders.load_judgments(study)
    consensus = consensus_of(study, table)
    references = loaders.load_references(study)
    progress(0.3, "scoring captions")
    result: dict[str, Any] = {"metrics": names, "tokenizer": tokenizer, "data_hash": consensus.data_hash}
    if kind.compares_pairs:
        material = judged_pairs(study, consensus, references)
        pairs = material.pairs
        scored, scores = score_pairs(
            pairs, material.documents, metrics=names, tokenizer=tokenizer, imported=imported
        )
        clusters = pair_clusters(study, table, consensus, pairs)
        return result | {
            "what": "pairs",
            **scope_fields(columns_and_deletions(clusters)[1]),
            "signatures": {name: metric.signature for name, metric in scored.scores.items()},
            "rows": _compare_on_pairs(
                [scores[name] for name in names],
                np.array([pair.winner for pair in pairs], dtype=np.float64),
                named_kinds(pair.kind for pair in pairs),
                clusters,
            ),
        }
    captions, _counts = judged_captions(study, consensus, table, references)
    alone = [name for name in names if set(imported.columns.get(name, ())) == {Per.SYSTEMS}]
    rows: list[dict[str, Any]] = []
    signatures = {name: imported.signature(name) for name in alone}
    columns: dict[str, Floats] = {}
    if len(alone) < len(names):
        scored = score_captions(
            captions,
            references.documents(),
            metrics=[name for name in names if name not in alone],
            tokenizer=tokenizer,
            imported=imported,
        )
        signatures |= {name: metric.signature for name, metric in scored.scores.items()}
        columns = {name: metric.images for name, metric in scored.scores.items()}
    people = np.array([caption.people for caption in captions], dtype=np.float64)
    clusters = caption_clusters(study, table, consensus, captions)
    if not alone:
        progress(0.6, "comparing")
        both = [columns[name] for name in names]
        rows = _compare_on_captions(both, people, clusters, weights_of_captions(captions))
    return result | {
        "what": "captions",
        **scope_fields(columns_and_deletions(clusters)[1]),
        "signatures": {name: signatures[name] for name in names},
        "rows": rows,
        "systems": _compare_on_systems(study, names, columns, people, captions, imported),
        "notes": [_note_systems_alone(alone)] if alone else [],
    }


def compare_with_scores(
    *,
    dataset: Dataset,
    first: str,
    second: str,
    people: str,
    tokenizer: str = DEFAULT_TOKENIZER,
    seed: int = 0,
) -> dict[str, Any]:
    """Compare two metrics with people's imported scores, by system and image as at WMT.

    A metric without imported scores is computed for the captions that people scored. All scores are of systems'
    captions. Captions that lack one of the three scores are left out.
    """
    names = _check_two_metrics(first, second)
    check_imported(dataset, names)
    imported = imported_scores(dataset, [*names, people])
    computed = [name for name in names if name not in imported.columns]
    for name in {*names, people}.difference(computed):
        if Per.CAPTIONS not in imported.columns.get(name, {}):
            raise EvaluationError(
                f"Dataset {dataset.name!r} has no scores of {name!r} by caption; expected them to be imported first."
            )
    signatures = {name: imported.signature(name) for name in imported.columns}
    columns = {name: imported.columns[name][Per.CAPTIONS] for name in imported.columns}
    outputs = _read_outputs(dataset)
    columns = {name: _credit_systems(column, outputs) for name, column in columns.items()}
    notes = []
    if computed:
        scored, left_out = _score_cells(dataset, columns[people], outputs, computed, tokenizer)
        signatures |= {name: signature for name, (_column, signature) in scored.items()}
        columns |= {name: column for name, (column, _signature) in scored.items()}
        if left_out:
            notes.append(f"Captions that no system wrote, or without a reference, left out: {left_out:,}.")
    systems, items, (*scores, human) = _align_columns([columns[name] for name in (*names, people)])
    if not len(systems) or not systems.all():  # the value NOTHING means no system
        raise EvaluationError(
            f"{', '.join(names)} and {people} share no scores of systems' captions; expected rows with a system, or "
            "with a caption that a system wrote."
        )
    parts = Item.objects.filter(dataset=dataset).exclude(fields=[]).order_by("position", "pk")
    documents = loaders.documents_of_items(parts, only=set(items.tolist()))
    clusters = {ITEM: np.array([documents.get(pk, pk) for pk in items.tolist()])}
    return {
        "what": "systems",
        **scope_fields(None),
        "metrics": names,
        "people": people,
        "signatures": {name: signatures[name] for name in (*names, people)},
        "n": len(human),
        "systems": _correlate_over_systems(scores, human, systems, items)
        | {"calibrated": _calibrate_ties(scores, human, items, clusters, seed)},
        "rows": _compare_on_captions(scores, human, clusters),
        "notes": notes,
    }


@dataclass(frozen=True, slots=True)
class _Outputs:
    """Systems' captions by `stable_number` of image and text: the texts, and the systems that gave them."""

    texts: dict[int, str]
    systems: dict[int, list[int]]


def _read_outputs(dataset: Dataset) -> _Outputs:
    outputs = _Outputs({}, {})
    rows = Output.objects.annotations().filter(system__dataset=dataset).order_by("system_id", "-rank")
    for system, image, text in rows.values_list("system_id", "item__name", "caption__text"):
        for written in {text, text.strip(), one_text(text)}:
            caption = stable_number(image, written)
            outputs.texts[caption] = text
            outputs.systems.setdefault(caption, []).append(system)
    return outputs


def _credit_systems(column: ScoreColumn, outputs: _Outputs) -> ScoreColumn:
    """Return a column in which every row names a system.

    A row that names no system is repeated for each system that gave the caption.
    """
    unnamed = column.keys["system"] == NO_ROW_ID
    if not unnamed.any():
        return column
    systems = [
        outputs.systems.get(caption, [NO_ROW_ID]) if without else [system]
        for caption, system, without in zip(
            column.keys["place"].tolist(), column.keys["system"].tolist(), unnamed.tolist(), strict=True
        )
    ]
    rows = np.repeat(np.arange(len(systems)), list(map(len, systems)))
    keys = {name: values[rows] for name, values in column.keys.items()}
    keys["system"] = np.array([system for of_row in systems for system in of_row], dtype=np.int64)
    return replace(column, keys=keys, scores=column.scores[rows])


def _score_cells(
    dataset: Dataset, people: ScoreColumn, outputs: _Outputs, metrics: Sequence[str], tokenizer: str
) -> tuple[dict[str, tuple[ScoreColumn, str]], int]:
    """Return the scores of the captions that people scored and the signature, by metric.

    Also return the number of captions without a reference. A reference that equals the caption is left out, as in
    ``evaluate``.
    """
    split_of = dict(Item.objects.filter(dataset=dataset).values_list("pk", "split"))
    splits = {split_of[item] for item in np.unique(people.keys["item"]).tolist()}
    references = loaders.references_of_splits(dataset.pk, sorted(splits))
    of_item = {item: [text for _, text in rows] for item, rows in references.of_item.items()}
    captions, rows = [], []
    for row, (caption, item) in enumerate(
        zip(people.keys["place"].tolist(), people.keys["item"].tolist(), strict=True)
    ):
        text = outputs.texts.get(caption)
        others = [reference for reference in of_item.get(item, ()) if reference != text]
        if text is not None and others:
            captions.append(CaptionTexts(None, item, "", text, others, 0.0))
            rows.append(row)
    if not captions:
        raise EvaluationError(
            f"{', '.join(metrics)} cannot be computed, as no caption of a system of dataset {dataset.name!r} that "
            f"{people.metric.name!r} scores has a reference."
        )
    scored = score_captions(captions, references.documents(), metrics=metrics, tokenizer=tokenizer)
    columns = {}
    for name, metric in scored.scores.items():
        scores = np.full(len(people.scores), np.nan)
        scores[rows] = metric.images
        signature = str(parse(metric.signature).with_field("own", "dropped"))
        columns[name] = replace(people, scores=scores), signature
    return columns, len(people.scores) - len(rows)


def _check_two_metrics(first: str, second: str) -> list[str]:
    if first == second:
        raise EvaluationError(f"{first!r} is named twice; expected two metrics.")
    return [first, second]


def _align_columns(columns: Sequence[ScoreColumn]) -> tuple[Ints, Ints, list[Floats]]:
    """Return the N cells of a system and an image for which all columns have a score.

    The result is the (N,) systems, the (N,) images, and the (N,) scores of each column.
    """
    images = 1 + max(int(column.keys["item"].max(initial=0)) for column in columns)
    tables = []
    for column in columns:
        scored = ~np.isnan(column.scores)
        cells = column.keys["system"][scored] * images + column.keys["item"][scored]
        # If a system has several captions of an image, the last one counts.
        distinct, last = np.unique(cells[::-1], return_index=True)
        tables.append((distinct, column.scores[scored][::-1][last]))
    shared = reduce(partial(np.intersect1d, assume_unique=True), [cells for cells, _scores in tables])
    systems, items = np.divmod(shared, images)
    return systems, items, [scores[np.searchsorted(cells, shared)] for cells, scores in tables]


def _compare_on_pairs(
    scores: Sequence[Floats], winners: Floats, kinds: Sequence[str], clusters: ClusterColumns
) -> list[dict[str, Any]]:
    differences = accuracy_difference(scores[0], scores[1], winners, kinds, clusters=clusters)
    accuracies = [pair_accuracy(both[:, 0], both[:, 1], winners, kinds, clusters=clusters) for both in scores]
    return [
        {
            "kind": kind,
            "measure": "accuracy",
            **as_json(difference, *DIFFERENCE),
            "own": [as_json(accuracy[kind], "value", "low", "high") for accuracy in accuracies],
        }
        for kind, difference in differences.items()
    ]


def _compare_on_captions(
    scores: Sequence[Floats], people: Floats, clusters: Mapping[str, Any], weights: Floats | None = None
) -> list[dict[str, Any]]:
    rows = []
    for name, statistic in COEFFICIENTS.items():
        difference = correlation_difference(
            scores[0], scores[1], people, statistic, weights=weights, clusters=clusters
        )
        rows.append({"measure": name, **as_json(difference, *DIFFERENCE)})
    return rows


def _calibrate_ties(
    scores: Sequence[Floats], people: Floats, items: Ints, clusters: ClusterColumns, seed: int
) -> list[dict[str, Any]]:
    return [
        as_json(
            pairwise_accuracy(column, people, items, epsilon="calibrate", seed=seed, clusters=clusters),
            "value", "low", "high", "epsilon", "groups",
        )
        for column in scores
    ]  # fmt: skip


def _compare_on_systems(
    study: Study,
    names: Sequence[str],
    columns: Mapping[str, Floats],
    people: Floats,
    captions: Sequence[CaptionTexts],
    imported: ImportedScores,
) -> dict[str, Any] | None:
    gave: dict[tuple[int, str], list[int]] = {}
    for system, item, key in (
        Output.objects.of_study(study).annotations().values_list("system_id", "item_id", "caption__key")
    ):
        gave.setdefault((item, key), []).append(system)
    cells = [
        (system, row)
        for row, caption in enumerate(captions)
        for system in dict.fromkeys(
            credited_systems(caption.systems, gave.get((caption.item, caption.key), ()))
        )
    ]
    systems = [system for system, _row in cells]
    if len(set(systems)) < MIN_SYSTEMS:
        return None
    rows = np.array([row for _system, row in cells], dtype=np.int64)
    scores: list[Floats] = []
    for name in names:
        if name not in columns:
            whole = imported.columns[name][Per.SYSTEMS]
            score_of_system = dict(zip(whole.keys["system"].tolist(), whole.scores.tolist(), strict=True))
            scores.append(np.array([score_of_system.get(system, np.nan) for system in systems]))
        else:
            scores.append(columns[name][rows])
    if np.isnan(np.concatenate(scores)).any():
        raise EvaluationError(
            f"A metric of {', '.join(names)} has no score of a system that was judged; expected one of each."
        )
    items = [captions[row].item for row in rows.tolist()]
    alone = [name not in columns for name in names]
    return _correlate_over_systems(scores, people[rows], systems, items, alone)


def _correlate_over_systems(
    scores: Sequence[Floats],
    people: Floats,
    systems: Sequence[Any] | Ints,
    items: Sequence[Any] | Ints,
    alone: Sequence[bool] = (False, False),
) -> dict[str, Any]:
    """Return Pearson's r and soft pairwise accuracy over systems. Some images of a system may lack scores.

    Soft pairwise accuracy is left out for a metric that only scores whole systems, since the certainty of its order
    is unknown.

    Args:
        alone: whether each of the two metrics only scores whole systems.
    """
    rows, columns = (_number_values(np.asarray(column)) for column in (systems, items))
    width = int(columns.max()) + 1
    # If two captions of a system for an image were judged, the first one counts.
    cells, first = np.unique(rows * width + columns, return_index=True)
    tables = np.full((3, int(rows.max()) + 1, width), np.nan)
    for table, column in zip(tables, (*scores, people), strict=True):
        table.ravel()[cells] = column[first]
    figures = []
    for index, column in enumerate(scores):
        means = grouped_correlation(column, people, items, systems, "pearson", grouping="system-level")
        soft = as_json(
            soft_pairwise_accuracy(tables[index], tables[2], missing="leave-out"),
            *("value", "pairwise", "n", "left_out", "reason"),
        )
        if alone[index]:
            soft |= {"value": None, "reason": NO_ITEMS}
        figures.append(
            {
                "pearson": as_json(means, "value", "reason"),
                "soft_pairwise_accuracy": soft,
            }
        )
    return {"number": len(tables[0]), "own": figures}


def _number_values(values: Ints) -> Ints:
    """Return the codes of the values: numbers from 0, in the order in which the values first occur."""
    _labels, first, codes = np.unique(values, return_index=True, return_inverse=True)
    ranks = np.empty(len(first), dtype=np.int64)
    ranks[np.argsort(first)] = np.arange(len(first))
    return np.take(ranks, codes)


def _note_systems_alone(names: Sequence[str]) -> str:
    return (
        f"{', '.join(names)}: has scores of systems alone, so nothing can be said caption by caption; only the figures "
        "over systems compare it."
    )
