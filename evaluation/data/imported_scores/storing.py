"""Store imported scores as columns, and look up those of a study's items; the parameters of an import."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as _lazy
from rest_framework import serializers

from common.amounts import counted, thousands
from common.errors import DataConflict
from common.incoming import quoted
from common.parameters import KeysField, Parameters
from common.texts import one_text
from evaluation.data.judgment_sets.blocks import deserialize_table, serialize_table
from evaluation.errors import EvaluationError
from evaluation.models import ID_COLUMNS, METRIC_NAME, ImportedMetric, ScoreKeys
from judgments.models import Caption, Dataset, Item, Output, System
from quorum.numeric.arrays import Flags, Floats, Ints
from quorum.numeric.signatures import Signature

if TYPE_CHECKING:
    from evaluation.data.imported_scores.reading import ScoreRows
    from judgments.importers import ColumnMapping

Per = ScoreKeys.Per

VERSION = "1.0"  # of the signature
FIELD = "imported"  # of the signature, with what was scored
DIGITS = 12  # of the hash in a signature
UNKNOWN = ("refuse", "leave-out")
NOTHING = 0  # in place of a row id
MISSING = -1  # in place of the system of a row whose image, caption or system the dataset lacks

Keys = dict[str, Ints]


def stable_number(*names: str) -> int:
    """Return a number for an image's name and its captions, equal in every installation."""
    digest = hashlib.blake2b("\0".join(names).encode("utf-8", "surrogatepass"), digest_size=8)
    return int.from_bytes(digest.digest(), "little", signed=True)


def _stable_numbers(named: Sequence[tuple[str, ...]]) -> Ints:
    return np.array([stable_number(*names) for names in named], dtype=np.int64)


# What a signature says of an imported metric.


def signature_of(metric: ImportedMetric) -> str:
    """Return name, what was scored, which is better, hash and file."""
    fields = {FIELD: metric.per, "better": metric.better, "scores": metric.sha256[:DIGITS]}
    return str(Signature(metric.name, fields | {"file": metric.source}, VERSION))


def is_imported(signature: str) -> bool:
    return f"|{FIELD}:" in signature


# From rows of names to columns of numbers.


@dataclass(frozen=True, slots=True)
class ImportResult:
    """The result of an import.

    Attributes:
        metrics: stored now; `same` had these scores before.
        left_out: rows of unknown items.
    """

    metrics: tuple[ImportedMetric, ...]
    same: tuple[str, ...]
    left_out: int

    def summary(self) -> str:
        sentences = [
            _("%(name)s: %(known)s scores of %(per)s (%(better)s is better).")
            % {
                "name": metric.name,
                "known": thousands(metric.known),
                "per": metric.get_per_display(),
                "better": metric.get_better_display(),
            }
            for metric in self.metrics[:MOST_NAMED]
        ]
        if len(self.metrics) > MOST_NAMED:
            sentences.append(_("%(n)s metrics more.") % {"n": len(self.metrics) - MOST_NAMED})
        if self.same:
            sentences.append(
                _("%(names)s: there already with the same scores; nothing changed.")
                % {"names": ", ".join(self.same)}
            )
        if self.left_out:
            sentences.append(
                _("Rows about what the dataset does not have, left out: %(n)s.")
                % {"n": thousands(self.left_out)}
            )
        return " ".join(sentences)


MOST_NAMED = 10


def import_scores(
    *,
    dataset: Dataset,
    files: Iterable[ScoreRows],
    better: str = ImportedMetric.Better.HIGHER,
    unknown: str = "refuse",
    replace: bool = False,
    by: User | None = None,
) -> ImportResult:
    """Store scores for a dataset's captions, systems or pairs, all or none.

    Args:
        unknown: what to do with rows of images, captions or systems missing in the dataset.
        replace: overwrite a metric's earlier scores.

    Raises:
        ImportProblem: a row that does not match. DataConflict: the metric has other scores, or a computed one's name.
    """
    if better not in ImportedMetric.Better.values or unknown not in UNKNOWN:
        raise EvaluationError(
            f"better is {better!r} and unknown {unknown!r}; expected higher or lower, and {' or '.join(UNKNOWN)}."
        )
    from quorum.metrics.registry import METRICS, package_names  # lazily: it loads a compiler

    computed = {*METRICS, *package_names()}
    stored: list[ImportedMetric] = []
    same: list[str] = []
    left_out = 0
    match = _RowMatcher(dataset)
    with transaction.atomic():
        Dataset.objects.select_for_update(no_key=True).get(pk=dataset.pk)
        for rows in files:
            keys, digest, order, missing = match.keys(rows, leave_out=unknown == "leave-out")
            left_out += missing
            block = _Block(dataset, rows.per, keys, digest)
            for name, scores in rows.scores.items():
                if computed & {name, name.lower()}:
                    raise DataConflict(
                        f"{name!r} is a built-in metric or a package's; expected another name for imported scores."
                    )
                metric = _store_metric(block, name, scores[order], better, rows.file.name, replace, by)
                if metric is None:
                    same.append(name)
                else:
                    stored.append(metric)
        ScoreKeys.objects.filter(dataset=dataset, metrics=None).delete()
    return ImportResult(tuple(stored), tuple(same), left_out)


def _store_metric(
    block: _Block, name: str, scores: Floats, better: str, source: str, replace: bool, by: User | None
) -> ImportedMetric | None:
    """Store one metric, or return None if it is stored already."""
    known = int((~np.isnan(scores)).sum())
    if not known:
        raise EvaluationError(f"Metric {name!r} has no score in {source}; expected one at least.")
    content = scores.astype("<f8").tobytes()
    sha256 = hashlib.sha256(block.digest.encode() + content).hexdigest()
    there = ImportedMetric.objects.filter(dataset=block.dataset, name=name, per=block.per).first()
    if there is not None and (there.sha256, there.better) == (sha256, better):
        return None
    if there is not None and not replace:
        raise DataConflict(
            f"Dataset {block.dataset.name!r} has other scores of {name!r} already; choose another name, or "
            "replace them."
        )
    if there is not None:
        there.delete()
    return ImportedMetric.objects.create(
        dataset=block.dataset,
        name=name,
        better=better,
        keys=block.row,
        per=block.per,
        scores=content,
        known=known,
        source=source[:200],
        sha256=sha256,
        imported_by=by,
    )


class _Block:
    def __init__(self, dataset: Dataset, per: str, keys: Keys, digest: str) -> None:
        self.dataset, self.per, self.digest = dataset, per, digest
        self._keys = keys

    @cached_property
    def row(self) -> ScoreKeys:
        stored = ScoreKeys.objects.filter(dataset=self.dataset, per=self.per, sha256=self.digest).first()
        if stored is not None:
            return stored
        import pyarrow as pa

        table = pa.table(self._keys)
        return ScoreKeys.objects.create(
            dataset=self.dataset,
            per=self.per,
            rows=len(table),
            columns=serialize_table(table),
            sha256=self.digest,
        )


class _RowMatcher:
    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset

    @cached_property
    def _items(self) -> dict[str, int]:
        return dict(Item.objects.filter(dataset=self._dataset).values_list("name", "pk"))

    @cached_property
    def _in_order(self) -> list[str]:
        rows = Item.objects.filter(dataset=self._dataset).order_by("position", "pk")
        return list(rows.values_list("name", flat=True))

    @cached_property
    def _systems(self) -> dict[str, int]:
        return dict(System.objects.filter(dataset=self._dataset).values_list("name", "pk"))

    @cached_property
    def _captions(self) -> dict[str, str]:
        rows = Caption.objects.filter(dataset=self._dataset).values_list("key", "text")
        return {key: one_text(text) for key, text in rows}

    @cached_property
    def _texts(self) -> set[str]:
        return set(self._captions.values())

    @cached_property
    def _outputs(self) -> dict[tuple[int, int], str]:
        rows = Output.objects.filter(system__dataset=self._dataset, task=Output.Task.ANNOTATION)
        rows = rows.order_by("system_id", "item_id", "-rank")
        return {
            (system, item): one_text(text)
            for system, item, text in rows.values_list("system_id", "item_id", "caption__text")
        }

    def keys(self, rows: ScoreRows, *, leave_out: bool) -> tuple[Keys, str, Ints, int]:
        """Return the columns in stored order, their hash, the rows in that order, and the number left out."""
        entries = {
            Per.CAPTIONS: self._of_captions,
            Per.SYSTEMS: self._of_systems,
            Per.PAIRS: self._of_pairs,
        }[Per(rows.per)](rows, leave_out)
        numbers = np.frombuffer(entries, dtype=np.int64).reshape(-1, 3)
        matched = np.flatnonzero(numbers[:, 2] != MISSING)
        if not len(matched):
            raise EvaluationError(
                f"No row of {rows.file} is about dataset {self._dataset.name!r}; expected its images, captions or "
                "systems."
            )
        missing = len(numbers) - len(matched)
        subject, item, system = numbers[matched].T
        names = {pk: stable_number(name) for name, pk in self._systems.items()} if system.any() else {}
        named = np.array([names.get(pk, NOTHING) for pk in system.tolist()], dtype=np.int64)
        order = np.lexsort((named, subject))
        twice = (np.diff(subject[order]) == 0) & (np.diff(named[order]) == 0)
        if twice.any():
            row = int(matched[order[1:][twice]].min())
            raise rows.problem(row, None, "what an earlier row scores", "one score of each")
        digest = hashlib.sha256()
        for column in (subject, named):
            digest.update(column[order].astype("<i8").tobytes())
        columns = {"place": subject[order], "item": item[order], "system": system[order]}
        return columns, digest.hexdigest(), matched[order], missing

    def _of_captions(self, rows: ScoreRows, leave_out: bool) -> array[int]:
        images = self._images(rows)
        texts = self._sides(rows, "caption")
        systems = rows.keys.get("system")
        entries = array("q")
        for row, image in enumerate(images):
            item = self._items.get(image)
            system = self._systems.get(systems[row]) if systems is not None else NOTHING
            text = texts[row] if texts is not None else None
            if texts is None and item and system:
                text = self._outputs.get((system, item))
            if item is None or system is None or text is None:
                if not leave_out:
                    raise self._mismatch(rows, row, image, item, systems, system)
                entries.extend((NOTHING, NOTHING, MISSING))
            else:
                entries.extend((stable_number(image, text), item, system))
        return entries

    def _mismatch(
        self,
        rows: ScoreRows,
        row: int,
        image: str,
        item: int | None,
        systems: Sequence[str] | None,
        system: int | None,
    ) -> Exception:
        if item is None:
            return rows.problem(row, "image", quoted(image), f"an image of dataset {self._dataset.name!r}")
        if systems is not None and system is None:
            return rows.problem(
                row, "system", quoted(systems[row]), f"a system of dataset {self._dataset.name!r}"
            )
        column = next((name for name in ("caption", "caption_id") if name in rows.keys), None)
        if column is not None:
            return rows.problem(
                row, column, quoted(rows.keys[column][row]), f"a caption of dataset {self._dataset.name!r}"
            )
        assert systems is not None
        actual = f"system {quoted(systems[row])} on item {quoted(image)}"
        return rows.problem(row, None, actual, "a system that captioned this item")

    def _images(self, rows: ScoreRows) -> Sequence[str]:
        if "image" in rows.keys:
            return rows.keys["image"]
        most = max(rows.segments) + 1
        if most != len(self._in_order):
            raise EvaluationError(
                f"{rows.file} has {counted(most, 'line')} for a system, and dataset {self._dataset.name!r} "
                f"{counted(len(self._in_order), 'item')}; expected a line for each, in their order."
            )
        return [self._in_order[segment] for segment in rows.segments]

    def _sides(self, rows: ScoreRows, name: str) -> list[str | None] | None:
        if ID_COLUMNS[name] in rows.keys:
            return [self._captions.get(key) for key in rows.keys[ID_COLUMNS[name]]]
        if name not in rows.keys:
            return None
        return [text if text in self._texts else None for text in map(one_text, rows.keys[name])]

    def _of_systems(self, rows: ScoreRows, leave_out: bool) -> array[int]:
        entries = array("q")
        for row, name in enumerate(rows.keys["system"]):
            system = self._systems.get(name)
            if system is None and not leave_out:
                expected = f"a system of dataset {self._dataset.name!r}"
                raise rows.problem(row, "system", quoted(name), expected)
            entries.extend(
                (NOTHING, NOTHING, MISSING) if system is None else (stable_number(name), NOTHING, system)
            )
        return entries

    def _of_pairs(self, rows: ScoreRows, leave_out: bool) -> array[int]:
        images, first, second = self._images(rows), self._sides(rows, "first"), self._sides(rows, "second")
        assert first is not None
        assert second is not None
        entries = array("q")
        for row, (image, first_text, second_text) in enumerate(zip(images, first, second, strict=True)):
            item = self._items.get(image)
            if item is None or first_text is None or second_text is None:
                if not leave_out:
                    raise self._unknown_pair(rows, row, image, item, first_text)
                entries.extend((NOTHING, NOTHING, MISSING))
            else:
                entries.extend((stable_number(image, first_text, second_text), item, NOTHING))
        return entries

    def _unknown_pair(
        self, rows: ScoreRows, row: int, image: str, item: int | None, first_text: str | None
    ) -> Exception:
        of = f"of dataset {self._dataset.name!r}"
        if item is None:
            return rows.problem(row, "image", quoted(image), f"an image {of}")
        side = "first" if first_text is None else "second"
        column = ID_COLUMNS[side] if ID_COLUMNS[side] in rows.keys else side
        return rows.problem(row, column, quoted(rows.keys[column][row]), f"a caption {of}")


# From columns to the scores of what a study judged.


@dataclass(frozen=True, slots=True)
class Column:
    """One metric's scores of one kind, negated if lower is better, which happens only here.

    `keys` are those of its `ScoreKeys`, and `scores` (N,) float64.
    """

    metric: ImportedMetric
    keys: Keys
    scores: Floats

    @classmethod
    def of(cls, metric: ImportedMetric, keys: Keys) -> Column:
        scores = np.frombuffer(metric.scores, dtype="<f8")
        return cls(metric, keys, -scores if metric.better == ImportedMetric.Better.LOWER else scores)

    def at(self, subjects: Ints, systems: Sequence[Sequence[int]] = ()) -> Floats:
        """Return (P,) scores; nan if missing.

        The score of a text is that of its credited ``systems`` (P,), as row ids, or the mean over all that have one.
        """
        known = ~np.isnan(self.scores)
        scored, starts = np.unique(self.keys["place"][known], return_index=True)
        if not len(scored):
            return np.full(len(subjects), np.nan)
        counts = np.diff(np.append(starts, known.sum()))
        means = np.add.reduceat(self.scores[known], starts) / counts
        positions = np.minimum(np.searchsorted(scored, subjects), len(scored) - 1)
        scores = np.where(scored[positions] == subjects, means[positions], np.nan)
        ends = np.append(starts, known.sum())
        for row in (row for row, of_row in enumerate(systems) if len(of_row) and not np.isnan(scores[row])):
            here = slice(ends[positions[row]], ends[positions[row] + 1])
            credited = np.isin(self.keys["system"][known][here], systems[row])
            if credited.any():
                scores[row] = self.scores[known][here][credited].mean()
        return scores


class ImportedScores:
    def __init__(self, dataset: Dataset | None, columns: Mapping[str, Mapping[str, Column]]) -> None:
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
        """Return (N,) scores of (image row id, text), as ``Column.at`` has them. Raise EvaluationError."""
        column = self.columns[name].get(Per.CAPTIONS)
        if column is None:
            raise self._refusal(name, "captions one by one")
        scores = self._scores_of(column, captions, systems)
        return self._whole(name, scores, lambda row: captions[row])

    def have(self, captions: Sequence[tuple[int, str]]) -> Flags:
        """Return (N,) whether all metrics by caption have a score."""
        columns = [by_per[Per.CAPTIONS] for by_per in self.columns.values() if Per.CAPTIONS in by_per]
        scored: Flags = np.ones(len(captions), dtype=np.bool_)
        if columns:
            scored = np.all([~np.isnan(self._scores_of(column, captions)) for column in columns], axis=0)
        return scored

    def _scores_of(
        self, column: Column, captions: Sequence[tuple[int, str]], systems: Sequence[Sequence[int]] = ()
    ) -> Floats:
        return self._by_names(column, [(self._images[item], text) for item, text in captions], systems)

    @staticmethod
    def _by_names(
        column: Column, named: Sequence[tuple[str, ...]], systems: Sequence[Sequence[int]] = ()
    ) -> Floats:
        """Return (N,) scores of (image, text, ...), nan if missing.

        Scores that were stored by an earlier version are those of texts as they were written.
        """
        scores = np.full(len(named), np.nan)
        for form in (one_text, str, str.strip):
            missing = np.flatnonzero(np.isnan(scores))
            rows = [named[row] for row in missing.tolist()]
            scores[missing] = column.at(
                _stable_numbers([(image, *map(form, texts)) for image, *texts in rows]),
                [systems[row] for row in missing.tolist()] if systems else (),
            )
        return scores

    def of_pairs(
        self, name: str, pairs: Sequence[tuple[int, str, str]], systems: Sequence[tuple[str, str]]
    ) -> Floats:
        """Return (N, 2) scores of (image, first, second), whose systems have these names. Raise EvaluationError.

        A preference p becomes p / 2 for the first and -p / 2 for the second, in whichever order the file has
        them; if it has both, their mean.
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
            self._by_names(by_per[Per.PAIRS], [order(entry) for entry in named])
            for order in (lambda entry: entry, lambda entry: (entry[0], entry[2], entry[1]))
        ]
        preferred = np.where(np.isnan(ways[0]), -ways[1], ways[0])
        both = ~np.isnan(ways).any(axis=0)
        preferred[both] = (ways[0][both] - ways[1][both]) / 2
        self._whole(name, preferred, lambda row: (pairs[row][0], " / ".join(pairs[row][1:])))
        return np.stack([preferred, -preferred], axis=1) / 2

    def _whole(self, name: str, scores: Floats, what: Callable[[int], tuple[int, str]]) -> Floats:
        missing = np.flatnonzero(np.isnan(scores))
        if len(missing):
            item, text = what(int(missing[0]))
            raise EvaluationError(
                f"Metric {name!r} has no score of {len(missing):,} of {len(scores):,}; the first is {quoted(text)} of "
                f"item {quoted(self._images[item])}. Expected one of each that was judged."
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
    """Return a dataset's imported scores by the named metrics, or all."""
    rows = ImportedMetric.objects.filter(dataset=dataset).order_by("pk")
    if names is not None:
        wanted = [name for name in names if METRIC_NAME.fullmatch(name)]
        rows = rows.filter(name__in=wanted)
    columns: dict[str, dict[str, Column]] = {}
    keys: dict[int, Keys] = {}
    for metric in rows.select_related("keys"):
        if metric.keys_id not in keys:
            table = deserialize_table(metric.keys.columns)
            keys[metric.keys_id] = {name: table[name].to_numpy() for name in table.column_names}
        columns.setdefault(metric.name, {})[metric.per] = Column.of(metric, keys[metric.keys_id])
    return ImportedScores(dataset, columns) if columns else NO_SCORES


def check_imported(dataset: Dataset, names: Iterable[str]) -> None:
    """Raise EvaluationError for a metric imported only for other datasets and in no package."""
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
    """Return imported metrics with short hashes, for an evaluation's settings."""
    rows = ImportedMetric.objects.filter(dataset=dataset, name__in=list(names)).order_by("name", "per")
    return ",".join(f"{name}-{sha256[:DIGITS]}" for name, sha256 in rows.values_list("name", "sha256"))


class ScoresRequest(Parameters):
    """Of which metrics the scores are, and how they are read."""

    metric = KeysField(
        required=False,
        help_text="Name of the metric, or names of several, each with its own column (default: those of the folder).",
    )
    better = serializers.ChoiceField(
        choices=ImportedMetric.Better.choices,
        default=ImportedMetric.Better.HIGHER.value,
        help_text="Which scores are better (default: higher).",
    )
    unknown = serializers.ChoiceField(
        choices=UNKNOWN,
        default=UNKNOWN[0],
        help_text="What becomes of rows about images, captions or systems that the dataset lacks (default: refuse).",
    )
    replace = serializers.BooleanField(
        default=False, help_text="Store them in place of earlier scores of the same metric."
    )
    map = serializers.CharField(
        required=False,
        label=_lazy("Columns"),
        help_text="Which column of the file is what, such as image=filename,score=comet.",
    )
    where = serializers.CharField(
        required=False, help_text="Read the rows alone whose column holds this, such as language=de."
    )
    missing = serializers.CharField(required=False, help_text="Words for an empty cell, such as NA,None.")
    header_row = serializers.CharField(
        required=False, help_text="The line of the header, where rows of a title stand above it."
    )


def mapping_of_scores(values: dict[str, Any], path: Path) -> ColumnMapping | None:
    """Take what a request says of the columns out of its values."""
    from judgments.importers.options import mapping_of  # lazily: commands start without the importers

    names = ("map", "where", "missing", "header_row")
    return mapping_of({name: values.pop(name, None) for name in names}, path)
