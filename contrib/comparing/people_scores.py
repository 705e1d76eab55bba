"""Compare two metrics with people's scores of systems' captions, as at WMT.

People's scores, and those of some metrics, were imported. A ``ScoreColumn`` has the scores of one metric, or of people,
with arrays of keys: the row ids of the system and of the item, and ``place``, a number for image and caption.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from common.texts import one_text
from contrib.comparing.metric_figures import (
    calibrate_ties,
    compare_on_captions,
    correlate_over_systems,
    distinct_metrics,
)
from evaluation.data.imported_scores import (
    NO_ROW_ID,
    ScoreColumn,
    check_imported,
    load_imported,
    stable_number,
)
from evaluation.data.judgment_sets import loaders
from evaluation.errors import EvaluationError
from evaluation.models import DEFAULT_TOKENIZER, ScoreKeys
from evaluation.results.metrics.scoring import score_captions
from evaluation.results.metrics.texts import CaptionTexts
from evaluation.results.verdict import scope_fields
from judgments.models import Dataset, Item, Output
from quorum.numeric.arrays import Floats, Ints
from quorum.numeric.signatures import parse
from quorum.statistics.crossed import ITEM


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

    ``people`` is the name under which people's scores were imported. ``seed`` is for the calibration of ties. A metric
    without imported scores is computed for the captions that people scored. Captions that lack one of the three scores
    are left out.
    """
    names = distinct_metrics(first, second)
    check_imported(dataset, names)
    imported = load_imported(dataset, [*names, people])
    computed_names = [name for name in names if name not in imported.columns]
    for name in {*names, people}.difference(computed_names):
        if ScoreKeys.Subject.CAPTIONS not in imported.columns.get(name, {}):
            raise EvaluationError(
                f"Dataset {dataset.name!r} has no scores of {name!r} by caption; expected them to be imported first."
            )
    signatures = {name: imported.signature(name) for name in imported.columns}
    columns = {name: imported.columns[name][ScoreKeys.Subject.CAPTIONS] for name in imported.columns}
    outputs = _read_outputs(dataset)
    columns = {name: _credit_systems(column, outputs) for name, column in columns.items()}
    notes = []
    if computed_names:
        new_columns, omissions = _score_captions(dataset, columns[people], outputs, computed_names, tokenizer)
        signatures |= {name: signature for name, (_column, signature) in new_columns.items()}
        columns |= {name: column for name, (column, _signature) in new_columns.items()}
        if omissions:
            notes.append(f"Captions that no system wrote, or without a reference, left out: {omissions:,}.")
    systems, items, (*scores, human_scores) = _align_columns([columns[name] for name in (*names, people)])
    if not len(systems) or NO_ROW_ID in systems:
        problem = "score captions of no system" if len(systems) else "share no scores of systems' captions"
        raise EvaluationError(
            f"{', '.join(names)} and {people} {problem}; expected only rows with a system, or with a caption that a "
            "system wrote."
        )
    # The documents of items are the clusters. They are named in the fields of the items.
    items_of_documents = Item.objects.filter(dataset=dataset).exclude(fields=[]).order_by("position", "pk")
    documents = loaders.documents_of_items(items_of_documents, only=set(items.tolist()))
    clusters = {ITEM: np.array([documents.get(pk, pk) for pk in items.tolist()])}
    return {
        "what": "systems",
        **scope_fields(None),  # about these raters only, who are unknown
        "metrics": names,
        "people": people,
        "signatures": {name: signatures[name] for name in (*names, people)},
        "n": len(human_scores),  # combinations of a system and an item
        "systems": correlate_over_systems(scores, human_scores, systems, items)
        | {"calibrated": calibrate_ties(scores, human_scores, items, clusters, seed)},
        "rows": compare_on_captions(scores, human_scores, clusters),
        "notes": notes,
    }


@dataclass(frozen=True, slots=True)
class _Outputs:
    """Systems' captions.

    Attributes:
        texts: the text of each caption, by `stable_number` of its image and text.
        systems: the row ids of the systems that gave each caption, by the same number.
    """

    texts: dict[int, str]
    systems: dict[int, list[int]]


def _read_outputs(dataset: Dataset) -> _Outputs:
    """Read the captions of all systems of a dataset, with the spellings by which scores can name them."""
    outputs = _Outputs({}, {})
    # By descending rank, since the last one of several texts with the same spelling replaces the others.
    rows = Output.objects.annotations().filter(system__dataset=dataset).order_by("system_id", "-rank")
    for system, image, text in rows.values_list("system_id", "item__name", "caption__text"):
        for spelling in {text, text.strip(), one_text(text)}:
            caption = stable_number(image, spelling)
            outputs.texts[caption] = text
            outputs.systems.setdefault(caption, []).append(system)
    return outputs


def _credit_systems(column: ScoreColumn, outputs: _Outputs) -> ScoreColumn:
    """Return a column in which every score is of a system.

    A score that names no system is repeated for each system that gave the caption.
    """
    is_unnamed = column.keys["system"] == NO_ROW_ID
    if not is_unnamed.any():
        return column
    systems = [
        outputs.systems.get(caption, [NO_ROW_ID]) if lacks_system else [system]
        for caption, system, lacks_system in zip(
            column.keys["place"].tolist(), column.keys["system"].tolist(), is_unnamed.tolist(), strict=True
        )
    ]
    rows = np.repeat(np.arange(len(systems)), list(map(len, systems)))
    keys = {name: values[rows] for name, values in column.keys.items()}
    keys["system"] = np.array([system for row_systems in systems for system in row_systems], dtype=np.int64)
    return replace(column, keys=keys, scores=column.scores[rows])


def _score_captions(
    dataset: Dataset, people: ScoreColumn, outputs: _Outputs, metrics: Sequence[str], tokenizer: str
) -> tuple[dict[str, tuple[ScoreColumn, str]], int]:
    """Compute metrics for the captions that people scored.

    Return the column and the signature of each metric, by name, and the number of captions that are left out. A
    caption needs a reference. As in ``evaluate``, a reference that equals the caption does not count.
    """
    split_by_item = dict(Item.objects.filter(dataset=dataset).values_list("pk", "split"))
    splits = {split_by_item[item] for item in np.unique(people.keys["item"]).tolist()}
    references = loaders.references_of_splits(dataset.pk, sorted(splits))
    texts_by_item = {item: [text for _, text in rows] for item, rows in references.of_item.items()}
    captions, rows = [], []
    for row, (caption, item) in enumerate(
        zip(people.keys["place"].tolist(), people.keys["item"].tolist(), strict=True)
    ):
        text = outputs.texts.get(caption)
        other_references = [reference for reference in texts_by_item.get(item, ()) if reference != text]
        if text is not None and other_references:  # unit, key and score by people (0.0) are not needed
            captions.append(CaptionTexts(None, item, "", text, other_references, 0.0))
            rows.append(row)
    if not captions:
        raise EvaluationError(
            f"{', '.join(metrics)} cannot be computed, as no caption of a system of dataset {dataset.name!r} that "
            f"{people.metric.name!r} scores has a reference."
        )
    result = score_captions(captions, references.documents(), metrics=metrics, tokenizer=tokenizer)
    columns = {}
    for name, metric in result.scores.items():
        scores = np.full(len(people.scores), np.nan)
        scores[rows] = metric.images  # of the single captions
        # The field "own" of the signature says that the caption itself was not among the references.
        signature = str(parse(metric.signature).with_field("own", "dropped"))
        columns[name] = replace(people, scores=scores), signature
    return columns, len(people.scores) - len(rows)


def _align_columns(columns: Sequence[ScoreColumn]) -> tuple[Ints, Ints, list[Floats]]:
    """Return the scores of the N combinations of a system and an item for which all columns have a score.

    The result is the (N,) systems, the (N,) items, and the (N,) scores of each column.
    """
    # A combination is numbered by the system's row id times item_bound, plus the item's row id.
    item_bound = 1 + max(int(column.keys["item"].max(initial=0)) for column in columns)
    combinations, scores = [], []  # of each column, sorted by combination
    for column in columns:
        has_score = ~np.isnan(column.scores)
        numbers = column.keys["system"][has_score] * item_bound + column.keys["item"][has_score]
        # If a system has several captions of an image, the last one counts.
        distinct_numbers, last_rows = np.unique(numbers[::-1], return_index=True)
        combinations.append(distinct_numbers)
        scores.append(column.scores[has_score][::-1][last_rows])
    shared_numbers = combinations[0]
    for numbers in combinations[1:]:
        shared_numbers = np.intersect1d(shared_numbers, numbers, assume_unique=True)
    systems, items = np.divmod(shared_numbers, item_bound)
    aligned_scores = [
        column_scores[np.searchsorted(numbers, shared_numbers)]
        for numbers, column_scores in zip(combinations, scores, strict=True)
    ]
    return systems, items, aligned_scores
