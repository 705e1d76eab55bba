"""Compute bounds of a dataset's captions (WG16), for a command and an HTTP call."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rest_framework import serializers

from common.parameters import KeysField
from evaluation.errors import EvaluationError
from evaluation.results.leave_one_out import WG16_METRICS, WG16_TOKENIZER
from evaluation.results.operations import MetricsRequest
from judgments.models import Caption, Dataset
from judgments.studies.studies import find_dataset

if TYPE_CHECKING:
    from evaluation.results.leave_one_out.bounds import Bounds

JOB_KIND = "leave_one_out"
LARGEST_SEED = 2**31 - 1


class LeaveOneOutRequest(MetricsRequest):
    """Which metrics, on which words, of which captions."""

    metrics = KeysField(
        required=False,
        min_length=1,
        initial=list(WG16_METRICS),
        help_text="Names of metrics, with options (default: those of WG16, as they compute them).",
    )
    tokenizer = serializers.CharField(
        required=False,
        initial=WG16_TOKENIZER,
        label="Words are cut as in",
        help_text=f"ptb, space, h13, rouge or v15 (default: {WG16_TOKENIZER}).",
    )
    split = serializers.CharField(
        required=False, max_length=20, help_text="Images of this split alone (default: all)."
    )
    others = KeysField(
        required=False,
        min_length=1,
        help_text="Names of other datasets, whose captions stand in the place of those left out.",
    )
    captions = serializers.IntegerField(
        required=False,
        min_value=1,
        help_text="Put other texts in the place of so many captions of each image, drawn at random (default: of all).",
    )
    seed = serializers.IntegerField(
        required=False, min_value=0, max_value=LARGEST_SEED, help_text="Seed of what is drawn (default: 0)."
    )


def leave_one_out(
    *,
    dataset: Dataset,
    metrics: Collection[str] = (),
    tokenizer: str = WG16_TOKENIZER,
    split: str = "",
    others: Collection[str] = (),
    captions: int | None = None,
    seed: int = 0,
    corpus: Path | None = None,
    progress: Callable[[float, str], object] = lambda share, message: None,
) -> Bounds:
    """Score each caption against the others of its image, and replacements against the same captions.

    By default with WG16's metrics, except METEOR if its tables are missing.
    """
    # Imported lazily: web processes start without the compiler of the metrics.
    from evaluation.results.leave_one_out.bounds import compute_bounds, read_corpus

    return compute_bounds(
        captions_by_image(dataset, split),
        metrics=metrics or computable(WG16_METRICS),
        tokenizer=tokenizer,
        others={name: _read_other_captions(name, dataset) for name in others},
        corpus=read_corpus(corpus, tokenizer) if corpus is not None else (),
        most=captions,
        seed=seed,
        progress=progress,
    )


def captions_by_image(dataset: Dataset, split: str = "") -> list[list[str]]:
    """Return references per image of a split, or of all. Raise EvaluationError if there is none."""
    captions: defaultdict[int, list[str]] = defaultdict(list)
    rows = Caption.objects.filter(dataset=dataset, role=Caption.Role.REFERENCE, item__isnull=False)
    if split:
        rows = rows.filter(item__split=split)
    for item, text in rows.order_by("item__position", "position").values_list("item", "text"):
        captions[item].append(text)
    if not captions:
        where = f" in split {split!r}" if split else ""
        raise EvaluationError(f"Dataset {dataset.name!r} has no reference captions{where}.")
    return list(captions.values())


def _read_other_captions(name: str, dataset: Dataset) -> Sequence[str]:
    if name == dataset.name:
        raise EvaluationError(f"Dataset {name!r} is the one that is looked at; expected the names of others.")
    return [text for texts in captions_by_image(find_dataset(name)) for text in texts]


def computable(metrics: Iterable[str]) -> list[str]:
    """Return the metrics whose tables are installed."""
    from evaluation.metrics.errors import MissingTables
    from evaluation.metrics.registry import metric_named

    names = []
    for text in metrics:
        metric = metric_named(text)
        try:
            metric.check(metric.settings({}))
        except MissingTables:
            continue
        names.append(text)
    return names
