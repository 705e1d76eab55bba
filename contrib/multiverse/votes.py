"""A study's votes under one specification: who counts, the consensus and alpha."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar, cast

import numpy as np

from contrib.multiverse.choices import (
    BINARY_RULES,
    BOTH_CLUSTERS,
    GRADE_RULES,
    LEVELS,
    PAIR_RULES,
    THRESHOLDS,
    TRIPLET_TIES,
    ChosenOptions,
)
from evaluation.data.judgment_sets import loaders
from evaluation.data.judgment_sets.records import Decision, JudgmentTable, PairRow, Units
from evaluation.reports.loading import people_of_units
from evaluation.results.agreement import (
    agreement_rows,
    alpha_of_open,
    alpha_of_ratings,
    counted_ratings,
    exchange_of,
)
from evaluation.results.consensus.study import (
    EMPTY_CONSENSUS,
    StudyConsensus,
    pair_consensus,
    unit_consensus,
    with_decisions,
)
from evaluation.results.metrics.texts import CaptionTexts, References
from evaluation.results.worker_models import SMOOTHING
from judgments.design.tables.controls import Controls
from judgments.kinds import Consensus, Kind
from judgments.kinds.consensus import ConsensusColumns
from judgments.models import Study
from judgments.studies.designs import design_of, kind_of
from quorum.numeric.arrays import Floats, Ints, places_in
from quorum.statistics.aggregation import (
    accuracy_weights,
    dawid_skene,
    standardised_mean,
    unit_medians,
    weighted_vote,
)
from quorum.statistics.crossed import ITEM, NAIVE
from quorum.statistics.meta import random_subsets

Result = TypeVar("Result")


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
    def for_study(cls, study: Study) -> StudyVotes:
        units = loaders.study_units(study)
        return cls(
            study=study,
            kind=kind_of(study),
            seed=design_of(study).seed,
            table=loaders.load_judgments(study, units=units, rule=Controls(threshold=0.0)),
            units=units.judged_units,
            pairs=loaders.pair_rows(study),
            decisions=loaders.decisions_of(study),
            rule=loaders.rule_of_controls(study),
            anonymous=loaders.is_anonymous(study),
        )

    def cached_result(self, key: tuple[Any, ...], make: Callable[[], Result]) -> Result:
        if key not in self._cache:
            self._cache[key] = make()
        return cast(Result, self._cache[key])

    @property
    def has_votes(self) -> bool:
        """Whether any vote is used under the study's own threshold."""
        return bool(self.table_under({}).is_counted.any())

    @cached_property
    def thresholds(self) -> tuple[str, ...]:
        """The study's own threshold, and the other thresholds that exclude a different set of workers."""
        if self.study.source == Study.Source.IMPORTED or not self.has_votes:
            return ()
        by_excluded: dict[frozenset[int], str] = {}
        for threshold in (self.rule.threshold, *THRESHOLDS):
            if self._with_controls(threshold).is_counted.any():
                by_excluded.setdefault(self._workers_below(threshold), str(threshold).removesuffix(".0"))
        return tuple(by_excluded.values())

    def _workers_below(self, threshold: float) -> frozenset[int]:
        rule = self.rule.model_copy(update={"threshold": threshold})
        records = self.table.records.items()
        return frozenset(
            worker for worker, record in records if rule.excludes(record.answers, record.right_answers)
        )

    def _with_controls(self, threshold: float) -> JudgmentTable:
        out = np.array(list(self._workers_below(threshold)), dtype=np.int64)
        return replace(self.table, used=self.table.used & ~np.isin(self.table.worker, out))

    def table_under(self, chosen: ChosenOptions) -> JudgmentTable:
        name = chosen.get("controls")
        threshold = self.rule.threshold if name is None else float(name)
        return self.cached_result(("votes", name), lambda: self._with_controls(threshold))

    def columns(self, chosen: ChosenOptions) -> tuple[Ints, Ints, Floats]:
        table = self.table_under(chosen)
        counted = table.is_counted
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
        seen = {worker for worker, record in self.table.records.items() if record.answers}
        if not seen.issuperset(np.unique(self.table.worker[self.table.is_counted]).tolist()):
            lacking.add("control-weighted")  # votes of workers without control items would have no weight
        return tuple(rule for rule in rules if rule not in lacking)

    def consensus(self, chosen: ChosenOptions) -> Mapping[int, Consensus]:
        """Return the consensus of each unit by the aggregation rule of a specification."""
        rule = chosen.get("aggregation", "")
        consensus: Mapping[int, Consensus]
        if rule == "dawid-skene":
            model = self._model(chosen)
            values = np.array(model.values(), dtype=np.float64)
            consensus = consensus_columns(model.units, values, model.posterior.max(axis=1))
        elif rule == "control-weighted":
            consensus = self._weighted_consensus(chosen)
        else:
            consensus = unit_consensus(self.kind, self.table_under(chosen))
        return with_decisions(consensus, self.decisions)

    def _model(self, chosen: ChosenOptions) -> Any:
        def fit_model() -> Any:
            return dawid_skene(*self.columns(chosen), labels=self.kind.outcomes, smoothing=SMOOTHING)

        return self.cached_result(("model", chosen.get("controls")), fit_model)

    def _weighted_consensus(self, chosen: ChosenOptions) -> Mapping[int, Consensus]:
        unit, worker, value = self.columns(chosen)
        workers = np.array(list(self.table.records), dtype=np.int64)
        records = self.table.records.values()
        right, seen = ([getattr(record, name) for record in records] for name in ("right_answers", "answers"))
        weights = accuracy_weights(right, seen, labels=len(self.kind.outcomes))
        vote = weighted_vote(unit, value, weights[places_in(workers, worker)], labels=self.kind.outcomes)
        return consensus_columns(vote.units, np.array(vote.values(), dtype=np.float64), vote.share)

    def winners(self, chosen: ChosenOptions, pks: Sequence[int]) -> Ints:
        """Return people's winners of P pairs: (P,), 1, 2, or 0 for none."""
        ties = chosen.get("triplet_ties", TRIPLET_TIES[0])

        def compute() -> Ints:
            consensus = pair_consensus(self.units, self.pairs, self.consensus(chosen), ties)
            return np.array([consensus[pk].value or 0 for pk in pks], dtype=np.int64)

        key = ("winners", chosen.get("controls"), chosen.get("aggregation"), ties)
        return self.cached_result(key, compute)

    def people(self, chosen: ChosenOptions, captions: Sequence[CaptionTexts]) -> Floats:
        """Return people's scores of N captions: (N,); nan without a vote."""
        key = ("people", chosen.get("controls"), chosen.get("aggregation"))
        return self.cached_result(key, lambda: self._people(chosen, captions))

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
            study_consensus = StudyConsensus(self.units, self.pairs, consensus, {}, self.decisions, "")
            return people_of_units(study_consensus, pks.tolist())
        unit, worker, value = self.columns(chosen)
        if rule == "standardised":  # adjudicated grades belong to no worker's scale
            z = standardised_mean(unit, worker, value)
            return values_at(pks, z.units, z.z)
        if rule == "median":
            people = values_at(pks, *unit_medians(unit, value))
        elif rule == "dawid-skene":
            model = self._model(chosen)
            people = values_at(pks, model.units, model.posterior[:, list(self.kind.outcomes).index(1)])
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
        table, kind = self.table_under(chosen), self.kind
        by = chosen.get("clusters", self.clusters_of_votes()[0])
        images, anonymous = None if by == NAIVE else self.images, self.anonymous or by == ITEM
        if kind.is_open:
            judged = loaders.judged_answers(self.study, table) if kind.results else []
            return alpha_of_open(kind, judged, self.units, images, seed=self.seed, anonymous=anonymous)
        counted = agreement_rows(table, self.full_depth)
        ratings, grouped = counted_ratings(table, self.units, counted, images, anonymous=anonymous)
        level = chosen.get("level", kind.aggregation.level)
        return alpha_of_ratings(ratings, grouped, level, seed=self.seed, exchange=exchange_of(kind))

    @property
    def options_of_alpha(self) -> dict[str, Sequence[str]]:
        level = self.kind.aggregation.level
        return {
            "controls": self.thresholds,
            "level": () if self.kind.is_open else LEVELS.get(level, ()),
            "clusters": self.clusters_of_votes(),
        }


def consensus_columns(units: Ints, value: Floats, share: Floats) -> ConsensusColumns:
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


def values_at(wanted: Ints, units: Any, values: Floats) -> Floats:
    position = places_in(np.asarray(units, dtype=np.int64), wanted)
    return np.where(position >= 0, values[position], np.nan)


def draw_half(references: References, generator: np.random.Generator) -> References:
    """Return a random half of the references, at least one."""
    (indices,) = random_subsets(len(references), max(1, len(references) // 2), 1, seed=generator)
    return [references[index] for index in indices.tolist()]
