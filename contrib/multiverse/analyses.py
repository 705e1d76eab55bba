"""Analyse a study under one specification, by the functions of ``aggregate`` and ``evaluate``.

Shared results are computed once: votes by threshold, consensus by rule, and scores by tokenizer and set of
references.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar, cast

import numpy as np

from evaluation.data.imported_scores import imported_scores
from evaluation.data.judgment_sets import loaders
from evaluation.data.judgment_sets.records import Decision, JudgmentTable, PairRow, Units
from evaluation.reports.loading import people_of_units
from evaluation.results.agreement import agreement_alpha
from evaluation.results.consensus.study import (
    EMPTY_CONSENSUS,
    StudyConsensus,
    pair_consensus,
    unit_consensus,
    with_decisions,
)
from evaluation.results.metrics.scoring import score_captions, score_pairs
from evaluation.results.metrics.study_texts import CaptionConsensus, caption_texts, texts_of_pairs
from evaluation.results.metrics.texts import CaptionTexts, PairTexts, References, weights_of_captions
from evaluation.results.worker_models import SMOOTHING
from judgments.design.tables.controls import Controls
from judgments.kinds import Consensus, Kind
from judgments.kinds.consensus import ConsensusColumns
from judgments.models import Study
from judgments.studies.designs import design_of, kind_of
from quorum.numeric.arrays import Flags, Floats, Ints, places_in
from quorum.statistics.aggregation import (
    accuracy_weights,
    dawid_skene,
    standardised_mean,
    unit_medians,
    weighted_vote,
)
from quorum.statistics.correlation import correlation, correlation_influences
from quorum.statistics.crossed import ITEM, NAIVE, Clusters
from quorum.statistics.meta import metric_winners, pair_credits, random_subsets

Result = TypeVar("Result")
Texts = TypeVar("Texts", PairTexts, CaptionTexts)
ChosenOptions = Mapping[str, str]  # the chosen option of each choice, by name of the choice
# the label of each choice in figures, by name
LABELS = {
    "controls": "control items right",
    "aggregation": "votes by",
    "triplet_ties": "tied triplets",
    "undecided": "undecided pairs",
    "metric_ties": "metric's ties",
    "coefficient": "coefficient",
    "tokenizer": "tokens of",
    "references": "references",
    "level": "level of answers",
    "clusters": "clusters",
}
# rules by which votes become a consensus: votes for two candidates, for yes and no, and of grades
PAIR_RULES = ("majority", "control-weighted", "dawid-skene")
BINARY_RULES = ("share", "two-thirds", "dawid-skene")
GRADE_RULES = ("mean", "median", "standardised")
ALL, HALF, OWN_DROPPED, OWN_KEPT = "all", "half", "own-dropped", "own-kept"
TRIPLET_TIES = ("set-aside", "count")
UNDECIDED = ("left-out", "half")
METRIC_TIES = ("wrong", "half", "left-out")
COEFFICIENTS = ("kendall-tau-b", "kendall-tau-c")
LEVELS = {"interval": ("interval", "ordinal")}
BOTH_CLUSTERS = "item-and-rater"
# thresholds of right control items, in addition to the study's own; 0 excludes nobody
THRESHOLDS = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9)
MAX_SPECIFICATIONS = 1000


@dataclass(frozen=True, slots=True)
class AnalysisChoice:
    name: str
    options: tuple[str, ...]

    @property
    def label(self) -> str:
        return LABELS[self.name]


def choices_of(options: Mapping[str, Sequence[str]]) -> tuple[AnalysisChoice, ...]:
    return tuple(
        AnalysisChoice(name, tuple(options[name])) for name in LABELS if len(options.get(name, ())) > 1
    )


@dataclass(frozen=True, slots=True)
class Universe:
    """The S specifications of an analysis. Each has one option of each of C choices; the default comes first.

    Attributes:
        taken: (S, C) index of the option in each specification. If too many specifications are ``possible``, these
            are a seeded sample.
        possible: the number of combinations.
    """

    choices: tuple[AnalysisChoice, ...]
    taken: Ints
    possible: int

    @classmethod
    def of(
        cls,
        choices: tuple[AnalysisChoice, ...],
        generator: np.random.Generator,
        most: int = MAX_SPECIFICATIONS,
    ) -> Universe:
        shape = tuple(len(choice.options) for choice in choices)
        possible = math.prod(shape)
        numbers = np.arange(possible)
        if possible > most:
            drawn = generator.choice(possible - 1, size=most - 1, replace=False) + 1
            numbers = np.concatenate([[0], np.sort(drawn)])
        taken = np.stack(np.unravel_index(numbers, shape), axis=1) if shape else np.zeros((1, 0), np.int64)
        return cls(choices, taken.astype(np.int64), possible)

    def __len__(self) -> int:
        return len(self.taken)

    def __iter__(self) -> Iterator[dict[str, str]]:
        for row in self.taken.tolist():
            yield {
                choice.name: choice.options[position]
                for choice, position in zip(self.choices, row, strict=True)
            }


@dataclass(frozen=True, slots=True)
class SpecificationFigures:
    """The results of metrics under a specification.

    Attributes:
        values: the accuracy or coefficient of each metric; nan if undefined.
        influences: (N,) influence of each of N rows on the value of each metric.
        clusters: the clusters of the N rows.
    """

    values: dict[str, float]
    influences: dict[str, Floats]
    clusters: Clusters


@dataclass(frozen=True)
class StudyVotes:
    """A study's votes before the control rule is applied, and the results under each control rule."""

    study: Study
    kind: Kind
    seed: int
    table: JudgmentTable
    units: Units
    pairs: list[PairRow]
    decisions: Mapping[int, Decision]
    rule: Controls
    anonymous: bool
    _cache: dict[Any, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, study: Study) -> StudyVotes:
        units = loaders.study_units(study)
        return cls(
            study=study,
            kind=kind_of(study),
            seed=design_of(study).seed,
            table=loaders.load_judgments(study, units=units, rule=Controls(threshold=0.0)),
            units=units.judged,
            pairs=loaders.pair_rows(study),
            decisions=loaders.decisions_of(study),
            rule=loaders.rule_of_controls(study),
            anonymous=loaders.is_anonymous(study),
        )

    def cached(self, key: tuple[Any, ...], make: Callable[[], Result]) -> Result:
        if key not in self._cache:
            self._cache[key] = make()
        return cast(Result, self._cache[key])

    @property
    def has_votes(self) -> bool:
        """Whether any vote is used under the study's own threshold."""
        return bool(self.table_under({}).counted.any())

    @cached_property
    def thresholds(self) -> tuple[str, ...]:
        """The study's own threshold, and the other thresholds that exclude a different set of workers."""
        if self.study.source == Study.Source.IMPORTED or not self.has_votes:
            return ()
        by_excluded: dict[frozenset[int], str] = {}
        for threshold in (self.rule.threshold, *THRESHOLDS):
            if self._with_controls(threshold).counted.any():
                by_excluded.setdefault(self._workers_below(threshold), str(threshold).removesuffix(".0"))
        return tuple(by_excluded.values())

    def _workers_below(self, threshold: float) -> frozenset[int]:
        rule = self.rule.model_copy(update={"threshold": threshold})
        records = self.table.records.items()
        return frozenset(worker for worker, record in records if rule.sets_aside(record.seen, record.right))

    def _with_controls(self, threshold: float) -> JudgmentTable:
        out = np.array(list(self._workers_below(threshold)), dtype=np.int64)
        return replace(self.table, used=self.table.used & ~np.isin(self.table.worker, out))

    def table_under(self, chosen: ChosenOptions) -> JudgmentTable:
        name = chosen.get("controls")
        threshold = self.rule.threshold if name is None else float(name)
        return self.cached(("votes", name), lambda: self._with_controls(threshold))

    def columns(self, chosen: ChosenOptions) -> tuple[Ints, Ints, Floats]:
        table = self.table_under(chosen)
        counted = table.counted
        return table.unit[counted], table.worker[counted], table.value[counted]

    @property
    def rules(self) -> tuple[str, ...]:
        if self.kind.is_open or not self.has_votes:
            return ()
        if self.kind.compares_pairs:
            rules = PAIR_RULES
        else:
            rules = BINARY_RULES if self.kind.aggregation.level == "nominal" else GRADE_RULES
        lacking = {"dawid-skene", "standardised"} if self.anonymous else set()
        seen = {worker for worker, record in self.table.records.items() if record.seen}
        if not seen.issuperset(np.unique(self.table.worker[self.table.counted]).tolist()):
            lacking.add("control-weighted")  # votes of workers without control items would have no weight
        return tuple(rule for rule in rules if rule not in lacking)

    def consensus(self, chosen: ChosenOptions) -> Mapping[int, Consensus]:
        """Return the consensus of each unit by the aggregation rule of a specification."""
        rule = chosen.get("aggregation", "")
        consensus: Mapping[int, Consensus]
        if rule == "dawid-skene":
            model = self._model(chosen)
            values = np.array(model.values(), dtype=np.float64)
            consensus = _columns_of(model.units, values, model.posterior.max(axis=1))
        elif rule == "control-weighted":
            consensus = self._by_weight(chosen)
        else:
            consensus = unit_consensus(self.kind, self.table_under(chosen))
        return with_decisions(consensus, self.decisions)

    def _model(self, chosen: ChosenOptions) -> Any:
        def fitted() -> Any:
            return dawid_skene(*self.columns(chosen), labels=self.kind.outcomes, smoothing=SMOOTHING)

        return self.cached(("model", chosen.get("controls")), fitted)

    def _by_weight(self, chosen: ChosenOptions) -> Mapping[int, Consensus]:
        unit, worker, value = self.columns(chosen)
        workers = np.array(list(self.table.records), dtype=np.int64)
        records = self.table.records.values()
        right, seen = ([getattr(record, name) for record in records] for name in ("right", "seen"))
        weights = accuracy_weights(right, seen, labels=len(self.kind.outcomes))
        vote = weighted_vote(unit, value, weights[places_in(workers, worker)], labels=self.kind.outcomes)
        return _columns_of(vote.units, np.array(vote.values(), dtype=np.float64), vote.share)

    def winners(self, chosen: ChosenOptions, pks: Sequence[int]) -> Ints:
        """Return people's winners of P pairs: (P,), 1, 2, or 0 for none."""
        ties = chosen.get("triplet_ties", TRIPLET_TIES[0])

        def compute() -> Ints:
            consensus = pair_consensus(self.units, self.pairs, self.consensus(chosen), ties)
            return np.array([consensus[pk].value or 0 for pk in pks], dtype=np.int64)

        key = ("winners", chosen.get("controls"), chosen.get("aggregation"), ties)
        return self.cached(key, compute)

    def people(self, chosen: ChosenOptions, captions: Sequence[CaptionTexts]) -> Floats:
        """Return people's scores of N captions: (N,); nan without a vote."""
        key = ("people", chosen.get("controls"), chosen.get("aggregation"))
        return self.cached(key, lambda: self._people(chosen, captions))

    def _people(self, chosen: ChosenOptions, captions: Sequence[CaptionTexts]) -> Floats:
        results, rule = self.kind.results, chosen.get("aggregation", "")
        table = self.table_under(chosen)
        if None in {caption.unit for caption in captions}:
            assert results is not None
            scores = results.caption_scores(loaders.judged_answers(self.study, table)) or []
            score_of = {(score.item, score.key, score.systems): score.score for score in scores}
            return np.array(
                [score_of.get((row.item, row.key, row.systems), np.nan) for row in captions], dtype=np.float64
            )
        pks = np.array([caption.unit for caption in captions], dtype=np.int64)
        if rule in ("", "share", "mean"):
            consensus = self.consensus(chosen)
            whole = StudyConsensus(self.units, self.pairs, consensus, {}, self.decisions, "")
            return people_of_units(whole, pks.tolist())
        unit, worker, value = self.columns(chosen)
        if rule == "standardised":  # adjudicated grades belong to no worker's scale
            z = standardised_mean(unit, worker, value)
            return _values_at(pks, z.units, z.z)
        if rule == "median":
            people = _values_at(pks, *unit_medians(unit, value))
        elif rule == "dawid-skene":
            model = self._model(chosen)
            people = _values_at(pks, model.units, model.posterior[:, list(self.kind.outcomes).index(1)])
        else:
            consensus = self.consensus(chosen)
            values = [consensus.get(pk, EMPTY_CONSENSUS).value for pk in pks.tolist()]
            people = np.array(values, dtype=np.float64)  # this turns None into nan
        for index, pk in enumerate(pks.tolist()):
            if pk in self.decisions:
                people[index] = self.decisions[pk].value
        return people

    def clusters_of_votes(self) -> tuple[str, ...]:
        return (ITEM, NAIVE) if self.anonymous else (BOTH_CLUSTERS, ITEM, NAIVE)

    @cached_property
    def images(self) -> Ints:
        return loaders.clusters_of_units(self.study, self.units)

    @cached_property
    def full_depth(self) -> set[int] | None:
        return loaders.full_depth_units(self.study)

    def alpha(self, chosen: ChosenOptions) -> dict[str, Any]:
        """Return Krippendorff's alpha, measured as by ``aggregate``."""
        table = self.table_under(chosen)
        by = chosen.get("clusters", self.clusters_of_votes()[0])
        judged = loaders.judged_answers(self.study, table) if self.kind.results and self.kind.is_open else []
        return agreement_alpha(
            self.kind,
            table,
            self.units,
            judged,
            chosen.get("level", self.kind.aggregation.level),
            seed=self.seed,
            full_depth=self.full_depth,
            images=None if by == NAIVE else self.images,
            anonymous=self.anonymous or by == ITEM,
        )

    @property
    def options_of_alpha(self) -> dict[str, Sequence[str]]:
        level = self.kind.aggregation.level
        return {
            "controls": self.thresholds,
            "level": () if self.kind.is_open else LEVELS.get(level, ()),
            "clusters": self.clusters_of_votes(),
        }


def _columns_of(units: Ints, value: Floats, share: Floats) -> ConsensusColumns:
    n = len(units)
    return ConsensusColumns(
        unit=units,
        n=np.ones(n, dtype=np.int64),
        value=value,
        share=share,
        margin=None,
        tie=np.isnan(value),
        votes=np.empty((n, 0), dtype=np.int64),
        answers=(),
        is_integer=True,
    )


def _values_at(wanted: Ints, units: Any, values: Floats) -> Floats:
    position = places_in(np.asarray(units, dtype=np.int64), wanted)
    return np.where(position >= 0, values[position], np.nan)


def draw_half(references: References, generator: np.random.Generator) -> References:
    """Return a random half of the references, at least one."""
    (indices,) = random_subsets(len(references), max(1, len(references) // 2), 1, seed=generator)
    return [references[index] for index in indices.tolist()]


class _Metrics:
    def __init__(self, votes: StudyVotes, metrics: Sequence[str], tokenizer: str) -> None:
        self._votes, self._metrics, self._tokenizer = votes, metrics, tokenizer
        self._imported = imported_scores(votes.study.dataset, metrics)
        self.computed = [name for name in metrics if name not in self._imported.names]

    def _with_half(self, rows: Sequence[Texts]) -> list[Texts]:
        generator = np.random.default_rng(self._votes.seed)
        return [replace(row, references=draw_half(row.references, generator)) for row in rows]


class PairMetrics(_Metrics):
    axis = "accuracy"
    shows = "share"

    def __init__(self, votes: StudyVotes, metrics: Sequence[str], tokenizer: str) -> None:
        super().__init__(votes, metrics, tokenizer)
        references = loaders.load_references(votes.study)
        self._pairs, self._documents, _ = texts_of_pairs(votes.study, references)
        self._pks = [pair.pk for pair in self._pairs]
        items = loaders.clusters_of_items(votes.study, [pair.image for pair in self._pairs])
        self._images = np.unique(items, return_inverse=True)[1]

    @property
    def options(self) -> dict[str, Sequence[str]]:
        several = len(np.unique(self._votes.units.pair)) < len(self._votes.units)
        undecided = not self._votes.winners({}, self._pks).all()
        fewest = min(len(pair.references) for pair in self._pairs)
        return {
            "controls": self._votes.thresholds,
            "aggregation": self._votes.rules,
            "triplet_ties": TRIPLET_TIES if several else (),
            "undecided": UNDECIDED if undecided else (),
            "metric_ties": METRIC_TIES,
            "references": (ALL, HALF) if self.computed and fewest > 1 else (),
            "clusters": (ITEM, NAIVE),
        }

    def named(self, chosen: ChosenOptions) -> Mapping[str, Ints]:
        """Return the winners that each metric names, by metric: (P,) for P pairs, 1, 2, or 0 for none."""
        tokenizer = chosen.get("tokenizer", self._tokenizer)
        references = chosen.get("references", ALL)

        def compute() -> dict[str, Ints]:
            pairs = self._pairs if references == ALL else self._with_half(self._pairs)
            _, scores = score_pairs(
                pairs,
                self._documents,
                metrics=self._metrics,
                tokenizer=tokenizer,
                imported=self._imported,
            )
            return {name: metric_winners(both[:, 0], both[:, 1]) for name, both in scores.items()}

        return self._votes.cached(("scores", tokenizer, references), compute)

    def figures(self, chosen: ChosenOptions) -> SpecificationFigures:
        winners = self._votes.winners(chosen, self._pks)
        rules = {
            "metric_ties": chosen.get("metric_ties", METRIC_TIES[0]),
            "undecided": chosen.get("undecided", UNDECIDED[0]),
        }
        values, influences = {}, {}
        used: Flags = np.zeros(len(winners), dtype=np.bool_)
        for name, named in self.named(chosen).items():
            credit, counts = pair_credits(named, winners, **rules)
            n = int(counts.sum())
            values[name] = float(credit[counts].mean()) if n else math.nan
            influences[name] = np.where(counts, credit - values[name], 0.0) / max(n, 1)
            used |= counts
        return _figures(values, influences, used, self._images, chosen)


class CaptionMetrics(_Metrics):
    axis = "tau"
    shows = "coefficient"

    def __init__(self, votes: StudyVotes, metrics: Sequence[str], tokenizer: str) -> None:
        super().__init__(votes, metrics, tokenizer)
        study, kind = votes.study, votes.kind
        self._references = loaders.load_references(study)
        self._documents = self._references.documents()
        table = votes.table_under({})
        scores = kind.results.caption_scores(loaders.judged_answers(study, table)) if kind.results else None
        rated = (
            self._of_units()
            if scores is None
            else [
                CaptionConsensus(None, row.item, row.key, row.text, row.score, systems=row.systems)
                for row in scores
            ]
        )
        self._by_unit = scores is None
        self._captions, counts = caption_texts(study, rated, self._references)
        self._weights = weights_of_captions(self._captions)
        self._has_own = counts["own_reference_dropped"] > 0
        self._images = np.unique([caption.item for caption in self._captions], return_inverse=True)[1]

    def _of_units(self) -> list[CaptionConsensus]:
        """Return the captions of all units.

        Captions that have neither a judgment nor an imported score are left out.
        """
        rows = loaders.caption_units(self._votes.study)
        consensus = self._votes.consensus({})
        judged = {unit for unit, outcome in consensus.items() if outcome.value is not None}
        have = self._imported.has_scores([(item, text) for _unit, item, _key, text in rows])
        return [
            CaptionConsensus(*row, 0.0)
            for row, scored in zip(rows, have.tolist(), strict=True)
            if scored or row[0] in judged
        ]

    @property
    def options(self) -> dict[str, Sequence[str]]:
        references = [OWN_DROPPED if self._has_own else ALL]
        references += [OWN_KEPT] if self._has_own else []
        if min(len(caption.references) for caption in self._captions) > 1:
            references.append(HALF)
        return {
            "controls": self._votes.thresholds,
            "aggregation": self._votes.rules if self._by_unit else (),
            "coefficient": COEFFICIENTS,
            "references": references if self.computed else (),
            "clusters": (ITEM, NAIVE),
        }

    def scores(self, chosen: ChosenOptions) -> Mapping[str, Floats]:
        tokenizer, references = chosen.get("tokenizer", self._tokenizer), chosen.get("references", "")

        def compute() -> dict[str, Floats]:
            captions = self._with(references)
            scored = score_captions(
                captions,
                self._documents,
                metrics=self._metrics,
                tokenizer=tokenizer,
                imported=self._imported,
            )
            return {name: metric_scores.images for name, metric_scores in scored.scores.items()}

        return self._votes.cached(("scores", tokenizer, references), compute)

    def _with(self, references: str) -> list[CaptionTexts]:
        if references == HALF:
            return self._with_half(self._captions)
        if references == OWN_KEPT:
            texts = {item: [text for _, text in rows] for item, rows in self._references.of_item.items()}
            return [replace(caption, references=texts[caption.item]) for caption in self._captions]
        return self._captions

    def figures(self, chosen: ChosenOptions) -> SpecificationFigures:
        people = self._votes.people(chosen, self._captions)
        used = ~np.isnan(people)
        coefficient = chosen.get("coefficient", COEFFICIENTS[0])
        values, influences = {}, {}
        for name, scores in self.scores(chosen).items():
            weights = None if self._weights is None else self._weights[used]
            estimate = correlation(scores[used], people[used], coefficient, weights=weights, resamples=0)
            values[name] = estimate.value
            influences[name] = np.zeros(len(people))
            if not estimate.reason:
                of_rows = correlation_influences(
                    scores[used], people[used], coefficient, estimate.value, None, weights
                )
                influences[name][used] = of_rows if weights is None else weights * of_rows
        return _figures(values, influences, used, self._images, chosen)


def _figures(
    values: dict[str, float], influences: dict[str, Floats], used: Flags, images: Ints, chosen: ChosenOptions
) -> SpecificationFigures:
    naive = chosen.get("clusters") == NAIVE
    columns = {"row": np.arange(len(used))} if naive else {ITEM: images}
    clusters = Clusters.of(columns, len(used), used)
    return SpecificationFigures(
        values, {name: influence[used] for name, influence in influences.items()}, clusters
    )
