"""Look up imported scores (contrib/score_imports) of a study's items."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from common.incoming import quote_value
from common.texts import one_text
from evaluation.data.judgment_sets.blocks import deserialize_table
from evaluation.errors import EvaluationError
from evaluation.models import METRIC_NAME, ImportedMetric, ScoreKeys
from judgments.models import Dataset, Item, System
from quorum.numeric.arrays import Flags, Floats, Ints
from quorum.numeric.signatures import Signature

Per = ScoreKeys.Per

VERSION = "1.0"  # version of the signature
FIELD = "imported"  # field of the signature that names the scored subjects
DIGITS = 12  # digits of the hash in a signature
NO_ROW_ID = 0  # used in place of a row id

Keys = dict[str, Ints]


def stable_number(*names: str) -> int:
    """Return a number for an image's name and its captions, which is the same in every installation."""
    digest = hashlib.blake2b("\0".join(names).encode("utf-8", "surrogatepass"), digest_size=8)
    return int.from_bytes(digest.digest(), "little", signed=True)


def _stable_numbers(named: Sequence[tuple[str, ...]]) -> Ints:
    return np.array([stable_number(*names) for names in named], dtype=np.int64)


def signature_of(metric: ImportedMetric) -> str:
    """Return the signature of an imported metric.

    It has the metric's name, the scored subjects, whether higher is better, and the hash and name of the file.
    """
    fields = {FIELD: metric.per, "better": metric.better, "scores": metric.sha256[:DIGITS]}
    return str(Signature(metric.name, fields | {"file": metric.source}, VERSION))


def is_imported(signature: str) -> bool:
    return f"|{FIELD}:" in signature


@dataclass(frozen=True, slots=True)
class ScoreColumn:
    """One metric's scores of one kind of subject (captions, systems or pairs).

    keys: the keys of the metric's `ScoreKeys`. scores: (N,) float64, negated here, and only here, if lower is better.
    """

    metric: ImportedMetric
    keys: Keys
    scores: Floats

    @classmethod
    def from_metric(cls, metric: ImportedMetric, keys: Keys) -> ScoreColumn:
        scores = np.frombuffer(metric.scores, dtype="<f8")
        return cls(metric, keys, -scores if metric.better == ImportedMetric.Better.LOWER else scores)

    def scores_of(self, subjects: Ints, systems: Sequence[Sequence[int]] = ()) -> Floats:
        """Return the (P,) scores of the subjects; nan if missing.

        systems: (P,) row ids of the systems credited with each subject. A score is the mean over the credited
        systems that have one; if none has, the mean over all systems.
        """
        is_known = ~np.isnan(self.scores)
        scored, starts = np.unique(self.keys["place"][is_known], return_index=True)
        if not len(scored):
            return np.full(len(subjects), np.nan)
        counts = np.diff(np.append(starts, is_known.sum()))
        means = np.add.reduceat(self.scores[is_known], starts) / counts
        positions = np.minimum(np.searchsorted(scored, subjects), len(scored) - 1)
        scores = np.where(scored[positions] == subjects, means[positions], np.nan)
        ends = np.append(starts, is_known.sum())
        for row in (row for row, of_row in enumerate(systems) if len(of_row) and not np.isnan(scores[row])):
            row_slice = slice(ends[positions[row]], ends[positions[row] + 1])
            credited = np.isin(self.keys["system"][is_known][row_slice], systems[row])
            if credited.any():
                scores[row] = self.scores[is_known][row_slice][credited].mean()
        return scores


class ImportedScores:
    def __init__(self, dataset: Dataset | None, columns: Mapping[str, Mapping[str, ScoreColumn]]) -> None:
        self._dataset = dataset
        self.columns = columns

    @property
    def names(self) -> set[str]:
        return set(self.columns)

    def signature(self, name: str) -> str:
        by_per = self.columns[name]
        return signature_of(
            next(by_per[per] for per in (Per.CAPTIONS, Per.PAIRS, Per.SYSTEMS) if per in by_per).metric
        )

    @cached_property
    def _images(self) -> dict[int, str]:
        return dict(Item.objects.filter(dataset=self._dataset).values_list("pk", "name"))

    @cached_property
    def _systems(self) -> dict[str, int]:
        return dict(System.objects.filter(dataset=self._dataset).values_list("name", "pk"))

    def of_captions(
        self, name: str, captions: Sequence[tuple[int, str]], systems: Sequence[Sequence[int]] = ()
    ) -> Floats:
        """Return the (N,) scores of (image row id, text), as ``ScoreColumn.scores_of`` does.

        Raise EvaluationError if a score is missing, or if the metric does not score captions.
        """
        column = self.columns[name].get(Per.CAPTIONS)
        if column is None:
            raise self._refusal(name, "captions one by one")
        scores = self._scores_of(column, captions, systems)
        return self._require_complete(name, scores, lambda row: captions[row])

    def has_scores(self, captions: Sequence[tuple[int, str]]) -> Flags:
        """Return (N,) flags that say whether all metrics which score captions have a score of the caption."""
        columns = [by_per[Per.CAPTIONS] for by_per in self.columns.values() if Per.CAPTIONS in by_per]
        is_scored: Flags = np.ones(len(captions), dtype=np.bool_)
        if columns:
            is_scored = np.all([~np.isnan(self._scores_of(column, captions)) for column in columns], axis=0)
        return is_scored

    def _scores_of(
        self, column: ScoreColumn, captions: Sequence[tuple[int, str]], systems: Sequence[Sequence[int]] = ()
    ) -> Floats:
        return self._scores_by_names(column, [(self._images[item], text) for item, text in captions], systems)

    @staticmethod
    def _scores_by_names(
        column: ScoreColumn, named: Sequence[tuple[str, ...]], systems: Sequence[Sequence[int]] = ()
    ) -> Floats:
        """Return the (N,) scores of subjects that are named by an image and one or two texts; nan if missing.

        Texts are looked up in their normalised form, then as written and without blanks at their ends, because earlier
        versions stored them so.
        """
        scores = np.full(len(named), np.nan)
        for form in (one_text, str, str.strip):
            missing_rows = np.flatnonzero(np.isnan(scores))
            rows = [named[row] for row in missing_rows.tolist()]
            scores[missing_rows] = column.scores_of(
                _stable_numbers([(image, *map(form, texts)) for image, *texts in rows]),
                [systems[row] for row in missing_rows.tolist()] if systems else (),
            )
        return scores

    def of_pairs(
        self, name: str, pairs: Sequence[tuple[int, str, str]], systems: Sequence[tuple[str, str]]
    ) -> Floats:
        """Return the (N, 2) scores of (image row id, first text, second text).

        systems: (N,) names of both texts' systems. A preference p becomes p / 2 for the first and -p / 2 for the
        second. The file may have the texts in either order; if it has both orders, the mean is used.

        Raise EvaluationError if a score is missing.
        """
        by_per = self.columns[name]
        if Per.CAPTIONS in by_per:
            texts = [(item, side) for item, *sides in pairs for side in sides]
            credits = [[self._systems[of]] if of in self._systems else [] for pair in systems for of in pair]
            return self.of_captions(name, texts, credits).reshape(-1, 2)
        if Per.PAIRS not in by_per:
            raise self._refusal(name, "pairs")
        named = [(self._images[item], first, second) for item, first, second in pairs]
        ways = [
            self._scores_by_names(by_per[Per.PAIRS], [order(entry) for entry in named])
            for order in (lambda entry: entry, lambda entry: (entry[0], entry[2], entry[1]))
        ]
        preferred = np.where(np.isnan(ways[0]), -ways[1], ways[0])
        both = ~np.isnan(ways).any(axis=0)
        preferred[both] = (ways[0][both] - ways[1][both]) / 2
        self._require_complete(name, preferred, lambda row: (pairs[row][0], " / ".join(pairs[row][1:])))
        return np.stack([preferred, -preferred], axis=1) / 2

    def _require_complete(self, name: str, scores: Floats, what: Callable[[int], tuple[int, str]]) -> Floats:
        missing = np.flatnonzero(np.isnan(scores))
        if len(missing):
            item, text = what(int(missing[0]))
            raise EvaluationError(
                f"Metric {name!r} has no score of {len(missing):,} of {len(scores):,}; the first is "
                f"{quote_value(text)} of item {quote_value(self._images[item])}. Expected one of each that was judged."
            )
        return scores

    def _refusal(self, name: str, judged: str) -> EvaluationError:
        has = ", ".join(Per(per).value for per in self.columns[name])
        if Per.SYSTEMS in self.columns[name]:
            hint = "it can be compared over systems alone (`metrics compare`)"
        else:
            hint = "expected scores of captions"
        return EvaluationError(
            f"Metric {name!r} has scores of {has}, and this study judges {judged}: {hint}."
        )


NO_SCORES = ImportedScores(None, {})


def imported_scores(dataset: Dataset, names: Iterable[str] | None = None) -> ImportedScores:
    """Return a dataset's imported scores, for the named metrics or for all."""
    rows = ImportedMetric.objects.filter(dataset=dataset).order_by("pk")
    if names is not None:
        metric_names = [name for name in names if METRIC_NAME.fullmatch(name)]
        rows = rows.filter(name__in=metric_names)
    columns: dict[str, dict[str, ScoreColumn]] = {}
    keys: dict[int, Keys] = {}
    for metric in rows.select_related("keys"):
        if metric.keys_id not in keys:
            table = deserialize_table(metric.keys.columns)
            keys[metric.keys_id] = {name: table[name].to_numpy() for name in table.column_names}
        columns.setdefault(metric.name, {})[metric.per] = ScoreColumn.from_metric(
            metric, keys[metric.keys_id]
        )
    return ImportedScores(dataset, columns) if columns else NO_SCORES


def check_imported(dataset: Dataset, names: Iterable[str]) -> None:
    """Raise EvaluationError if a metric was imported only for other datasets, and no package has it."""
    metrics = ImportedMetric.objects.filter(name__in=list(names))
    of_dataset = set(metrics.filter(dataset=dataset).values_list("name", flat=True))
    elsewhere = sorted(set(metrics.values_list("name", flat=True)) - of_dataset)
    if not elsewhere:
        return
    from quorum.metrics.registry import package_names

    packages = package_names()
    missing = [name for name in elsewhere if name not in packages]
    if missing:
        raise EvaluationError(
            f"Metric {missing[0]!r} has no scores for dataset {dataset.name!r}; expected them to be imported first."
        )


def imported_hashes(dataset: Dataset, names: Iterable[str]) -> str:
    """Return the names of imported metrics with short hashes, for the settings of an evaluation."""
    rows = ImportedMetric.objects.filter(dataset=dataset, name__in=list(names)).order_by("name", "per")
    return ",".join(f"{name}-{sha256[:DIGITS]}" for name, sha256 in rows.values_list("name", "sha256"))
