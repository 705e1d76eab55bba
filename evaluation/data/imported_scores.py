"""Look up scores of metrics that were computed elsewhere and imported from files (contrib/score_imports)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
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

Subject = ScoreKeys.Subject  # what a score is of: a caption, a system or a pair

VERSION = "1.0"  # version of the signatures of imported metrics
SUBJECT_FIELD = "imported"  # field of the signature that says whether captions, systems or pairs are scored
HASH_DIGITS = 12  # digits of the hash in a signature
NO_ROW_ID = 0  # stands in for a row id where there is none

# The columns of `ScoreKeys`: "place" is the subject's stable number, and "system" the row id of its system, if known.
KeyColumns = dict[str, Ints]


def stable_number(*names: str) -> int:
    """Return a number that identifies a subject: a hash of a system's name, or of an image's name and its captions.

    Unlike row ids, it is the same in every installation.
    """
    digest = hashlib.blake2b("\0".join(names).encode("utf-8", "surrogatepass"), digest_size=8)
    return int.from_bytes(digest.digest(), "little", signed=True)


def _stable_numbers(subject_names: Sequence[tuple[str, ...]]) -> Ints:
    return np.array([stable_number(*names) for names in subject_names], dtype=np.int64)


def signature_of(metric: ImportedMetric) -> str:
    """Return the signature of an imported metric.

    It has the metric's name, the scored subjects, whether higher is better, and the hash and name of the file.
    """
    fields = {SUBJECT_FIELD: metric.per, "better": metric.better, "scores": metric.sha256[:HASH_DIGITS]}
    return str(Signature(metric.name, fields | {"file": metric.source}, VERSION))


def is_imported(signature: str) -> bool:
    return f"|{SUBJECT_FIELD}:" in signature


@dataclass(frozen=True, slots=True)
class ScoreColumn:
    """One metric's scores of one kind of subject (captions, systems or pairs).

    Attributes:
        keys: the columns of the metric's `ScoreKeys`, sorted by subject.
        scores: (N,) float64, negated here, and only here, if lower is better.
    """

    metric: ImportedMetric
    keys: KeyColumns
    scores: Floats

    @classmethod
    def from_metric(cls, metric: ImportedMetric, keys: KeyColumns) -> ScoreColumn:
        scores = np.frombuffer(metric.scores, dtype="<f8")
        return cls(metric, keys, -scores if metric.better == ImportedMetric.Better.LOWER else scores)

    def scores_of(self, subjects: Ints, systems: Sequence[Sequence[int]] = ()) -> Floats:
        """Return the (P,) scores of the subjects; nan if missing.

        Args:
            subjects: (P,) stable numbers.
            systems: (P,) row ids of the systems credited with each subject. A score is the mean over the credited
                systems that have one; if none has, the mean over all systems.
        """
        has_score = ~np.isnan(self.scores)
        known_scores = self.scores[has_score]
        # Subjects are sorted, so the scores of a subject by several systems follow one another.
        scored_subjects, starts = np.unique(self.keys["place"][has_score], return_index=True)
        if not len(scored_subjects):
            return np.full(len(subjects), np.nan)
        bounds = np.append(starts, len(known_scores))
        means = np.add.reduceat(known_scores, starts) / np.diff(bounds)
        # A subject without scores gets the position of another one, and then nan.
        positions = np.minimum(np.searchsorted(scored_subjects, subjects), len(scored_subjects) - 1)
        scores = np.where(scored_subjects[positions] == subjects, means[positions], np.nan)
        for row, credited_systems in enumerate(systems):
            if not len(credited_systems) or np.isnan(scores[row]):
                continue
            rows = slice(bounds[positions[row]], bounds[positions[row] + 1])
            is_credited = np.isin(self.keys["system"][has_score][rows], credited_systems)
            if is_credited.any():
                scores[row] = known_scores[rows][is_credited].mean()
        return scores


class ImportedScores:
    """The imported scores of a dataset.

    ``columns`` has the scores by the name of the metric, and then by the kind of subject (``Subject``).
    """

    def __init__(self, dataset: Dataset | None, columns: Mapping[str, Mapping[str, ScoreColumn]]) -> None:
        self._dataset = dataset
        self.columns = columns

    @property
    def names(self) -> set[str]:
        return set(self.columns)

    def signature(self, name: str) -> str:
        """Return the signature of the metric's scores of captions, or else of pairs, or else of systems."""
        by_subject = self.columns[name]
        subjects = (Subject.CAPTIONS, Subject.PAIRS, Subject.SYSTEMS)
        first_subject = next(subject for subject in subjects if subject in by_subject)
        return signature_of(by_subject[first_subject].metric)

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
        column = self.columns[name].get(Subject.CAPTIONS)
        if column is None:
            raise self._refusal(name, "captions one by one")
        scores = self._scores_of(column, captions, systems)
        return self._require_complete(name, scores, captions)

    def has_scores(self, captions: Sequence[tuple[int, str]]) -> Flags:
        """Return (N,) flags that say whether all metrics which score captions have a score of the caption."""
        metrics = self.columns.values()
        columns = [by_subject[Subject.CAPTIONS] for by_subject in metrics if Subject.CAPTIONS in by_subject]
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
        column: ScoreColumn, subject_names: Sequence[tuple[str, ...]], systems: Sequence[Sequence[int]] = ()
    ) -> Floats:
        """Return the (N,) scores of subjects that are named by an image and one or two texts; nan if missing.

        Texts are looked up in their normalised form, then as written and without blanks at their ends, because earlier
        versions stored them so.
        """
        scores = np.full(len(subject_names), np.nan)
        for text_form in (one_text, str, str.strip):
            missing_rows = np.flatnonzero(np.isnan(scores))
            rows = [subject_names[row] for row in missing_rows.tolist()]
            scores[missing_rows] = column.scores_of(
                _stable_numbers([(image, *map(text_form, texts)) for image, *texts in rows]),
                [systems[row] for row in missing_rows.tolist()] if systems else (),
            )
        return scores

    def of_pairs(
        self, name: str, pairs: Sequence[tuple[int, str, str]], systems: Sequence[tuple[str, str]]
    ) -> Floats:
        """Return the (N, 2) scores of (image row id, first text, second text).

        If the metric scores captions, these are the captions' scores. If it scores pairs, a preference p becomes p / 2
        for the first and -p / 2 for the second. The file may have the texts in either order; if it has both orders, the
        mean is used.

        Args:
            name: name of the metric.
            systems: (N,) names of both texts' systems.

        Raises:
            EvaluationError: a score is missing, or the metric scores neither captions nor pairs.
        """
        by_subject = self.columns[name]
        if Subject.CAPTIONS in by_subject:
            captions: list[tuple[int, str]] = []
            credits: list[list[int]] = []
            for (item, *texts), pair_systems in zip(pairs, systems, strict=True):
                for text, system in zip(texts, pair_systems, strict=True):
                    system_id = self._systems.get(system)
                    captions.append((item, text))
                    credits.append([] if system_id is None else [system_id])
            return self.of_captions(name, captions, credits).reshape(-1, 2)
        if Subject.PAIRS not in by_subject:
            raise self._refusal(name, "pairs")
        subjects = [(self._images[item], first, second) for item, first, second in pairs]
        swapped_subjects = [(image, second, first) for image, first, second in subjects]
        column = by_subject[Subject.PAIRS]
        preferences = self._scores_by_names(column, subjects)
        from_swapped = -self._scores_by_names(column, swapped_subjects)
        has_both = ~np.isnan(preferences) & ~np.isnan(from_swapped)
        preferences = np.where(np.isnan(preferences), from_swapped, preferences)
        preferences[has_both] = (preferences[has_both] + from_swapped[has_both]) / 2
        self._require_complete(
            name, preferences, [(item, f"{first} / {second}") for item, first, second in pairs]
        )
        return np.stack([preferences, -preferences], axis=1) / 2

    def _require_complete(self, name: str, scores: Floats, subjects: Sequence[tuple[int, str]]) -> Floats:
        """Return the scores. Raise EvaluationError if one is nan.

        ``subjects`` has the image's row id and the text of each scored subject, for the message.
        """
        missing_rows = np.flatnonzero(np.isnan(scores))
        if len(missing_rows):
            item, text = subjects[int(missing_rows[0])]
            raise EvaluationError(
                f"Metric {name!r} has no score of {len(missing_rows):,} of {len(scores):,}; the first is "
                f"{quote_value(text)} of item {quote_value(self._images[item])}. Expected one of each that was judged."
            )
        return scores

    def _refusal(self, name: str, judged_noun: str) -> EvaluationError:
        """Return an EvaluationError, which says that the metric has no scores of what the study judges.

        ``judged_noun`` is a plural noun for what the study judges.
        """
        subjects = ", ".join(Subject(subject).value for subject in self.columns[name])
        if Subject.SYSTEMS in self.columns[name]:
            hint = "it can be compared over systems alone (`metrics compare`)"
        else:
            hint = "expected scores of captions"
        return EvaluationError(
            f"Metric {name!r} has scores of {subjects}, and this study judges {judged_noun}: {hint}."
        )


NO_SCORES = ImportedScores(None, {})


def load_imported(dataset: Dataset, names: Iterable[str] | None = None) -> ImportedScores:
    """Return a dataset's imported scores, for the named metrics or for all."""
    rows = ImportedMetric.objects.filter(dataset=dataset).order_by("pk")
    if names is not None:
        metric_names = [name for name in names if METRIC_NAME.fullmatch(name)]  # no others can be imported
        rows = rows.filter(name__in=metric_names)
    columns: dict[str, dict[str, ScoreColumn]] = {}
    columns_by_keys: dict[int, KeyColumns] = {}  # several metrics may share their keys
    for metric in rows.select_related("keys"):
        if metric.keys_id not in columns_by_keys:
            table = deserialize_table(metric.keys.columns)
            columns_by_keys[metric.keys_id] = {name: table[name].to_numpy() for name in table.column_names}
        score_column = ScoreColumn.from_metric(metric, columns_by_keys[metric.keys_id])
        columns.setdefault(metric.name, {})[metric.per] = score_column
    return ImportedScores(dataset, columns) if columns else NO_SCORES


def check_imported(dataset: Dataset, names: Iterable[str]) -> None:
    """Raise EvaluationError if a metric was imported only for other datasets, and no package provides it."""
    metrics = ImportedMetric.objects.filter(name__in=list(names))
    names_of_dataset = set(metrics.filter(dataset=dataset).values_list("name", flat=True))
    names_of_others = sorted(set(metrics.values_list("name", flat=True)) - names_of_dataset)
    if not names_of_others:
        return
    from quorum.metrics.registry import package_metric_names

    packages = package_metric_names()
    other_names = [name for name in names_of_others if name not in packages]
    if other_names:
        raise EvaluationError(
            f"Metric {other_names[0]!r} has no scores for dataset {dataset.name!r}; expected them to be imported first."
        )


def imported_hashes(dataset: Dataset, names: Iterable[str]) -> str:
    """Return the names of imported metrics, each with a short hash of its scores, as "name-hash,name-hash"."""
    rows = ImportedMetric.objects.filter(dataset=dataset, name__in=list(names)).order_by("name", "per")
    return ",".join(f"{name}-{sha256[:HASH_DIGITS]}" for name, sha256 in rows.values_list("name", "sha256"))
