"""Store metric scores as columns, all or none."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _

from common.amounts import thousands
from common.errors import DataConflict
from contrib.score_imports.matching import RowMatcher
from contrib.score_imports.parameters import UNKNOWN_RULES
from evaluation.data.imported_scores import KeyColumns
from evaluation.data.judgment_sets.blocks import serialize_table
from evaluation.errors import EvaluationError
from evaluation.models import ImportedMetric, ScoreKeys
from judgments.models import Dataset
from quorum.numeric.arrays import Floats

if TYPE_CHECKING:
    from contrib.score_imports.reading import ScoreRows

MAX_NAMED = 10  # metrics that a summary names


@dataclass(frozen=True, slots=True)
class ImportResult:
    """The result of an import.

    Attributes:
        metrics: the metrics that were stored.
        unchanged_metrics: metrics that had the same scores before.
        skipped_rows: number of rows about unknown images, captions or systems.
    """

    metrics: tuple[ImportedMetric, ...]
    unchanged_metrics: tuple[str, ...]
    skipped_rows: int

    def summary(self) -> str:
        sentences = [
            _("%(name)s, scores of %(per)s: %(known)s (better scores are %(better)s).")
            % {
                "name": metric.name,
                "known": thousands(metric.known),
                "per": metric.get_per_display(),
                "better": metric.get_better_display(),
            }
            for metric in self.metrics[:MAX_NAMED]
        ]
        if len(self.metrics) > MAX_NAMED:
            sentences.append(_("Further metrics imported: %(n)s.") % {"n": len(self.metrics) - MAX_NAMED})
        if self.unchanged_metrics:
            sentences.append(
                _("Nothing was changed for %(names)s: the same scores were imported before.")
                % {"names": ", ".join(self.unchanged_metrics)}
            )
        if self.skipped_rows:
            sentences.append(
                _("Rows without a matching text, pair or system in the dataset, left out: %(n)s.")
                % {"n": thousands(self.skipped_rows)}
            )
        return " ".join(sentences)


def store_metric_scores(
    *,
    dataset: Dataset,
    files: Iterable[ScoreRows],
    better: str = ImportedMetric.Better.HIGHER,
    unknown: str = "refuse",
    replace: bool = False,
    by: User | None = None,
) -> ImportResult:
    """Store scores of a dataset's captions, systems or pairs, all or none.

    Args:
        unknown: whether rows about images, captions or systems that are not in the dataset are refused or left out.
        replace: whether to overwrite a metric's earlier scores.

    Raises:
        ImportProblem: a row does not match.
        DataConflict: the metric has other scores, or the name of a computed metric.
    """
    if better not in ImportedMetric.Better.values or unknown not in UNKNOWN_RULES:
        raise EvaluationError(
            f"better is {better!r} and unknown {unknown!r}; expected higher or lower, and {' or '.join(UNKNOWN_RULES)}."
        )
    from quorum.metrics.registry import METRICS, package_names  # imported lazily, since it loads a compiler

    computed_names = {*METRICS, *package_names()}
    stored_metrics: list[ImportedMetric] = []
    equal_metrics: list[str] = []
    skipped_rows = 0
    matcher = RowMatcher(dataset)
    with transaction.atomic():
        Dataset.objects.select_for_update(no_key=True).get(pk=dataset.pk)
        for rows in files:
            keys, digest, order, omitted_count = matcher.keys(rows, leave_out=unknown == "leave-out")
            skipped_rows += omitted_count
            block = _Block(dataset, rows.per, keys, digest)
            for name, scores in rows.scores.items():
                if computed_names & {name, name.lower()}:
                    raise DataConflict(
                        f"{name!r} is a built-in metric or a package's; expected another name for imported scores."
                    )
                metric = _store_metric(block, name, scores[order], better, rows.file.name, replace, by)
                if metric is None:
                    equal_metrics.append(name)
                else:
                    stored_metrics.append(metric)
        ScoreKeys.objects.filter(dataset=dataset, metrics=None).delete()
    return ImportResult(tuple(stored_metrics), tuple(equal_metrics), skipped_rows)


def _store_metric(
    block: _Block, name: str, scores: Floats, better: str, source: str, replace: bool, by: User | None
) -> ImportedMetric | None:
    """Store one metric. Return None if the same scores are already stored."""
    count = int((~np.isnan(scores)).sum())
    if not count:
        raise EvaluationError(f"Metric {name!r} has no score in {source}; expected one at least.")
    content = scores.astype("<f8").tobytes()
    sha256 = hashlib.sha256(block.digest.encode() + content).hexdigest()
    earlier_metric = ImportedMetric.objects.filter(dataset=block.dataset, name=name, per=block.per).first()
    if earlier_metric is not None and (earlier_metric.sha256, earlier_metric.better) == (sha256, better):
        return None
    if earlier_metric is not None and not replace:
        raise DataConflict(
            f"Dataset {block.dataset.name!r} has other scores of {name!r} already; choose another name, or "
            "replace them."
        )
    if earlier_metric is not None:
        earlier_metric.delete()
    return ImportedMetric.objects.create(
        dataset=block.dataset,
        name=name,
        better=better,
        keys=block.row,
        per=block.per,
        scores=content,
        known=count,
        source=source[:200],
        sha256=sha256,
        imported_by=by,
    )


class _Block:
    """The key columns that the metrics of a file share. ``row`` stores them when it is first needed."""

    def __init__(self, dataset: Dataset, per: str, keys: KeyColumns, digest: str) -> None:
        self.dataset, self.per, self.digest = dataset, per, digest
        self._keys = keys

    @cached_property
    def row(self) -> ScoreKeys:
        row = ScoreKeys.objects.filter(dataset=self.dataset, per=self.per, sha256=self.digest).first()
        if row is not None:
            return row
        import pyarrow as pa

        table = pa.table(self._keys)
        return ScoreKeys.objects.create(
            dataset=self.dataset,
            per=self.per,
            rows=len(table),
            columns=serialize_table(table),
            sha256=self.digest,
        )
