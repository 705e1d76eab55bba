"""Store imported scores of metrics, all of an import or none: a column per metric, and shared columns of keys."""

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
    from contrib.score_imports.rows import ScoreRows

MAX_METRICS_NAMED = 10  # metrics that a summary names


@dataclass(frozen=True, slots=True)
class StoredScores:
    """The result of an import of scores.

    Attributes:
        metrics: the metrics that were stored.
        unchanged_metrics: metrics that had the same scores before.
        skipped_row_count: number of rows about unknown images, captions or systems.
    """

    metrics: tuple[ImportedMetric, ...]
    unchanged_metrics: tuple[str, ...]
    skipped_row_count: int

    def summary(self) -> str:
        sentences = [
            _("%(name)s, scores of %(per)s: %(known)s (better scores are %(better)s).")
            % {
                "name": metric.name,
                "known": thousands(metric.known),
                "per": metric.get_per_display(),
                "better": metric.get_better_display(),
            }
            for metric in self.metrics[:MAX_METRICS_NAMED]
        ]
        if len(self.metrics) > MAX_METRICS_NAMED:
            sentences.append(
                _("Further metrics imported: %(n)s.") % {"n": len(self.metrics) - MAX_METRICS_NAMED}
            )
        if self.unchanged_metrics:
            sentences.append(
                _("Nothing was changed for %(names)s: the same scores were imported before.")
                % {"names": ", ".join(self.unchanged_metrics)}
            )
        if self.skipped_row_count:
            sentences.append(
                _("Rows without a matching text, pair or system in the dataset, left out: %(n)s.")
                % {"n": thousands(self.skipped_row_count)}
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
) -> StoredScores:
    """Store scores of a dataset's captions, systems or pairs, all or none.

    Args:
        better: "higher" or "lower".
        unknown: what becomes of rows about images, captions or systems that are not in the dataset, one of
            ``UNKNOWN_RULES``.
        replace: whether to overwrite a metric's earlier scores.

    Raises:
        ImportProblem: a row does not match.
        DataConflict: the metric has other scores, or the name of a computed metric.
        EvaluationError: an option is invalid, no row matches, or a metric has no score.
    """
    if better not in ImportedMetric.Better.values or unknown not in UNKNOWN_RULES:
        raise EvaluationError(
            f"better is {better!r} and unknown {unknown!r}; expected higher or lower, and {' or '.join(UNKNOWN_RULES)}."
        )
    # imported lazily, since it loads a compiler
    from quorum.metrics.registry import METRICS, package_metric_names

    computed_names = {*METRICS, *package_metric_names()}
    stored_metrics: list[ImportedMetric] = []
    unchanged_metrics: list[str] = []
    skipped_row_count = 0
    matcher = RowMatcher(dataset)
    with transaction.atomic():
        # lock, so that two imports do not store the same metric
        Dataset.objects.select_for_update(no_key=True).get(pk=dataset.pk)
        for rows in files:
            match = matcher.match(rows, leave_out=unknown == "leave-out")
            skipped_row_count += match.omitted_count
            keys = _SharedKeys(dataset, rows.per, match.columns, match.digest)
            for name, scores in rows.scores.items():
                if computed_names & {name, name.lower()}:
                    raise DataConflict(
                        f"{name!r} is a built-in metric or a package's; expected another name for imported scores."
                    )
                metric = _store_metric(
                    keys,
                    name,
                    scores[match.order],  # the order of the stored rows
                    better=better,
                    source=rows.file.name,
                    replace=replace,
                    by=by,
                )
                if metric is None:
                    unchanged_metrics.append(name)
                else:
                    stored_metrics.append(metric)
        ScoreKeys.objects.filter(dataset=dataset, metrics=None).delete()  # which no metric has any more
    return StoredScores(tuple(stored_metrics), tuple(unchanged_metrics), skipped_row_count)


def _store_metric(
    keys: _SharedKeys, name: str, scores: Floats, *, better: str, source: str, replace: bool, by: User | None
) -> ImportedMetric | None:
    """Store one metric. Return None if the same scores are already stored."""
    known_count = int((~np.isnan(scores)).sum())
    if not known_count:
        raise EvaluationError(f"Metric {name!r} has no score in {source}; expected one at least.")
    content = scores.astype("<f8").tobytes()
    sha256 = hashlib.sha256(keys.digest.encode() + content).hexdigest()
    earlier_metric = ImportedMetric.objects.filter(dataset=keys.dataset, name=name, per=keys.per).first()
    if earlier_metric is not None and (earlier_metric.sha256, earlier_metric.better) == (sha256, better):
        return None
    if earlier_metric is not None and not replace:
        raise DataConflict(
            f"Dataset {keys.dataset.name!r} has other scores of {name!r} already; choose another name, or "
            "replace them."
        )
    if earlier_metric is not None:
        earlier_metric.delete()
    return ImportedMetric.objects.create(
        dataset=keys.dataset,
        name=name,
        better=better,
        keys=keys.stored_keys,
        per=keys.per,
        scores=content,
        known=known_count,
        source=source[:200],
        sha256=sha256,
        imported_by=by,
    )


class _SharedKeys:
    """The columns that say what each row of a file scores. The metrics of a file share one stored copy."""

    def __init__(self, dataset: Dataset, per: str, columns: KeyColumns, digest: str) -> None:
        self.dataset, self.per, self.digest = dataset, per, digest
        self._columns = columns

    @cached_property
    def stored_keys(self) -> ScoreKeys:
        """The stored columns. At the first use, they are looked up and, if there are none, created."""
        keys = ScoreKeys.objects.filter(dataset=self.dataset, per=self.per, sha256=self.digest).first()
        if keys is not None:
            return keys
        import pyarrow as pa

        table = pa.table(self._columns)
        return ScoreKeys.objects.create(
            dataset=self.dataset,
            per=self.per,
            rows=len(table),
            columns=serialize_table(table),
            sha256=self.digest,
        )
