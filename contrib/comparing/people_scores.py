"""Compare two metrics with people's imported scores of systems' captions, as at WMT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any

import numpy as np

from common.texts import one_text
from contrib.comparing.metric_figures import (
    calibrate_ties,
    check_two_metrics,
    compare_on_captions,
    correlate_over_systems,
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

    Args:
        first, second: names of the metrics.
        people: the name under which people's scores were imported.
        seed: of the calibration of ties.

    A metric without imported scores is computed for the captions that people scored. All scores are of systems'
    captions. Captions that lack one of the three scores are left out.
    """
    names = check_two_metrics(first, second)
    check_imported(dataset, names)
    imported = load_imported(dataset, [*names, people])
    computed = [name for name in names if name not in imported.columns]
    for name in {*names, people}.difference(computed):
        if ScoreKeys.Subject.CAPTIONS not in imported.columns.get(name, {}):
            raise EvaluationError(
                f"Dataset {dataset.name!r} has no scores of {name!r} by caption; expected them to be imported first."
            )
    signatures = {name: imported.signature(name) for name in imported.columns}
    columns = {name: imported.columns[name][ScoreKeys.Subject.CAPTIONS] for name in imported.columns}
    outputs = _read_outputs(dataset)
    columns = {name: _credit_systems(column, outputs) for name, column in columns.items()}
    notes = []
    if computed:
        scored, left_out = _score_captions(dataset, columns[people], outputs, computed, tokenizer)
        signatures |= {name: signature for name, (_column, signature) in scored.items()}
        columns |= {name: column for name, (column, _signature) in scored.items()}
        if left_out:
            notes.append(f"Captions that no system wrote, or without a reference, left out: {left_out:,}.")
    systems, items, (*scores, human_scores) = _align_columns([columns[name] for name in (*names, people)])
    if not len(systems) or NO_ROW_ID in systems:
        raise EvaluationError(
            f"{', '.join(names)} and {people} share no scores of systems' captions; expected rows with a system, or "
            "with a caption that a system wrote."
        )
    # documents are named in the fields of their items
    items_of_documents = Item.objects.filter(dataset=dataset).exclude(fields=[]).order_by("position", "pk")
    documents = loaders.documents_of_items(items_of_documents, only=set(items.tolist()))
    clusters = {ITEM: np.array([documents.get(pk, pk) for pk in items.tolist()])}
    return {
        "what": "systems",
        **scope_fields(None),
        "metrics": names,
        "people": people,
        "signatures": {name: signatures[name] for name in (*names, people)},
        "n": len(human_scores),
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
        systems: the row ids of the systems that gave it, by the same number.
    """

    texts: dict[int, str]
    systems: dict[int, list[int]]


def _read_outputs(dataset: Dataset) -> _Outputs:
    """Read the captions of all systems of a dataset, with the spellings by which scores can name them."""
    outputs = _Outputs({}, {})
    rows = Output.objects.annotations().filter(system__dataset=dataset).order_by("system_id", "-rank")
    for system, image, text in rows.values_list("system_id", "item__name", "caption__text"):
        for spelling in {text, text.strip(), one_text(text)}:
            caption = stable_number(image, spelling)
            outputs.texts[caption] = text
            outputs.systems.setdefault(caption, []).append(system)
    return outputs


def _credit_systems(column: ScoreColumn, outputs: _Outputs) -> ScoreColumn:
    """Return a column in which every row names a system.

    A row that names no system is repeated for each system that gave the caption.
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
    """Return the scores of the captions that people scored and the signature, by metric.

    Also return the number of captions without a reference. A reference that equals the caption is left out, as in
    ``evaluate``.
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
        if text is not None and other_references:
            captions.append(CaptionTexts(None, item, "", text, other_references, 0.0))
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
        # the field says that a reference that equals the caption was left out
        signature = str(parse(metric.signature).with_field("own", "dropped"))
        columns[name] = replace(people, scores=scores), signature
    return columns, len(people.scores) - len(rows)


def _align_columns(columns: Sequence[ScoreColumn]) -> tuple[Ints, Ints, list[Floats]]:
    """Return the N cells of a system and an image for which all columns have a score.

    The result is the (N,) systems, the (N,) images, and the (N,) scores of each column.
    """
    # the number of a cell is that of its system times image_bound, plus that of its image
    image_bound = 1 + max(int(column.keys["item"].max(initial=0)) for column in columns)
    tables = []
    for column in columns:
        has_score = ~np.isnan(column.scores)
        cells = column.keys["system"][has_score] * image_bound + column.keys["item"][has_score]
        # If a system has several captions of an image, the last one counts.
        distinct_cells, last = np.unique(cells[::-1], return_index=True)
        tables.append((distinct_cells, column.scores[has_score][::-1][last]))
    shared = reduce(partial(np.intersect1d, assume_unique=True), [cells for cells, _scores in tables])
    systems, items = np.divmod(shared, image_bound)
    return systems, items, [scores[np.searchsorted(cells, shared)] for cells, scores in tables]
