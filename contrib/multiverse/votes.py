"""Results of a study's votes under a specification: the consensus, people's scores of captions, and alpha."""

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
    Specification,
)
from evaluation.data.judgment_sets import loaders
from evaluation.data.judgment_sets.records import Decision, JudgmentTable, PairRow, Units
from evaluation.results.agreement import (
    alpha_of_open_answers,
    alpha_of_ratings,
    counted_ratings,
    exchange_of,
    flag_judgments_for_agreement,
)
from evaluation.results.consensus.study import (
    EMPTY_CONSENSUS,
    StudyConsensus,
    pair_consensus,
    unit_consensus,
    with_decisions,
)
from evaluation.results.metrics.study_texts import values_of_units
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
    """A study's votes, and the results that follow from them under a specification. Results are cached.

    Attributes:
        seed: seed of random halves of references, and of intervals.
        table: all judgments, including those of workers whom the control rule excludes.
        units: the judged units.
        decisions: adjudicated answers, by the unit's row id.
        control_rule: the study's own rule by which workers are excluded for wrong answers to control items.
        anonymous: whether it is unknown who gave which vote.
    """

    study: Study
    kind: Kind
    seed: int
    table: JudgmentTable
    units: Units
    pairs: list[PairRow]
    decisions: Mapping[int, Decision]
    control_rule: Controls
    anonymous: bool
    _cache: dict[Any, Any] = field(default_factory=dict)

    @classmethod
    def for_study(cls, study: Study) -> StudyVotes:
        units = loaders.study_units(study)
        return cls(
            study=study,
            kind=kind_of(study),
            seed=design_of(study).seed,
            table=loaders.load_judgments(study, units=units, rule=Controls(threshold=0.0)),  # excludes nobody
            units=units.judged_units,
            pairs=loaders.pair_rows(study),
            decisions=loaders.decisions_of(study),
            control_rule=loaders.rule_of_controls(study),
            anonymous=loaders.is_anonymous(study),
        )

    def cached_result(self, key: tuple[Any, ...], make: Callable[[], Result]) -> Result:
        """Return the result that is cached under this key. If there is none, compute it by ``make``."""
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
        # Imported answers are used as they are.
        if self.study.source == Study.Source.IMPORTED or not self.has_votes:
            return ()
        threshold_by_workers: dict[frozenset[int], str] = {}  # by the workers that it excludes
        for threshold in (self.control_rule.threshold, *THRESHOLDS):
            if self._table_at_threshold(threshold).is_counted.any():
                excluded_workers = self._workers_below(threshold)
                threshold_by_workers.setdefault(excluded_workers, str(threshold).removesuffix(".0"))
        return tuple(threshold_by_workers.values())

    def _workers_below(self, threshold: float) -> frozenset[int]:
        """Return the row ids of the workers who would be excluded if the control rule had this threshold."""
        rule = self.control_rule.model_copy(update={"threshold": threshold})
        records = self.table.records.items()
        return frozenset(
            worker for worker, record in records if rule.excludes(record.answers, record.right_answers)
        )

    def _table_at_threshold(self, threshold: float) -> JudgmentTable:
        """Return the judgments, with those of the workers below the threshold marked as not used."""
        excluded_workers = np.array(list(self._workers_below(threshold)), dtype=np.int64)
        return replace(self.table, used=self.table.used & ~np.isin(self.table.worker, excluded_workers))

    def table_under(self, specification: Specification) -> JudgmentTable:
        """Return the judgments, marked as used or not by the specification's threshold for control items."""
        name = specification.get("controls")
        threshold = self.control_rule.threshold if name is None else float(name)
        return self.cached_result(("votes", name), lambda: self._table_at_threshold(threshold))

    def counted_columns(self, specification: Specification) -> tuple[Ints, Ints, Floats]:
        """Return the (N,) unit, worker and value of each vote that counts: it is used, and not on a control item."""
        table = self.table_under(specification)
        is_counted = table.is_counted
        return table.unit[is_counted], table.worker[is_counted], table.value[is_counted]

    @property
    def aggregation_rules(self) -> tuple[str, ...]:
        """The rules by which the study's votes can become a consensus, its own first."""
        if self.kind.is_open or not self.has_votes:  # open answers are JSON, and not one of a few values
            return ()
        if self.kind.compares_pairs:
            rules = PAIR_RULES
        else:
            rules = BINARY_RULES if self.kind.aggregation.level == "nominal" else GRADE_RULES
        unusable_rules = {"dawid-skene", "standardised"} if self.anonymous else set()
        workers_with_controls = {worker for worker, record in self.table.records.items() if record.answers}
        if not workers_with_controls.issuperset(np.unique(self.table.worker[self.table.is_counted]).tolist()):
            # votes of workers without control items would have no weight
            unusable_rules.add("control-weighted")
        return tuple(rule for rule in rules if rule not in unusable_rules)

    def consensus(self, specification: Specification) -> Mapping[int, Consensus]:
        """Return the consensus of each unit by the aggregation rule of a specification."""
        rule = specification.get("aggregation", "")
        consensus: Mapping[int, Consensus]
        if rule == "dawid-skene":
            model = self._dawid_skene_model(specification)
            values = np.array(model.values(), dtype=np.float64)
            consensus = consensus_columns(model.units, values, model.posterior.max(axis=1))
        elif rule == "control-weighted":
            consensus = self._weighted_consensus(specification)
        else:
            consensus = unit_consensus(self.kind, self.table_under(specification))
        return with_decisions(consensus, self.decisions)

    def _dawid_skene_model(self, specification: Specification) -> Any:
        def fit_model() -> Any:
            return dawid_skene(
                *self.counted_columns(specification), labels=self.kind.outcomes, smoothing=SMOOTHING
            )

        return self.cached_result(("model", specification.get("controls")), fit_model)

    def _weighted_consensus(self, specification: Specification) -> Mapping[int, Consensus]:
        """Return the consensus in which workers are weighted by their accuracy on control items."""
        unit, worker, value = self.counted_columns(specification)
        workers = np.array(list(self.table.records), dtype=np.int64)
        records = self.table.records.values()
        right_counts = [record.right_answers for record in records]
        answer_counts = [record.answers for record in records]
        weights = accuracy_weights(right_counts, answer_counts, labels=len(self.kind.outcomes))
        vote = weighted_vote(unit, value, weights[places_in(workers, worker)], labels=self.kind.outcomes)
        return consensus_columns(vote.units, np.array(vote.values(), dtype=np.float64), vote.share)

    def winners(self, specification: Specification, pks: Sequence[int]) -> Ints:
        """Return people's winners of the pairs with P row ids, ``pks``, as (P,) numbers: 1 or 2, or 0 for none."""
        ties = specification.get("triplet_ties", TRIPLET_TIES[0])

        def compute() -> Ints:
            consensus = pair_consensus(self.units, self.pairs, self.consensus(specification), ties)
            return np.array([consensus[pk].value or 0 for pk in pks], dtype=np.int64)

        key = ("winners", specification.get("controls"), specification.get("aggregation"), ties)
        return self.cached_result(key, compute)

    def people_scores(self, specification: Specification, captions: Sequence[CaptionTexts]) -> Floats:
        """Return people's (N,) scores of N captions; nan without a vote.

        The captions must be the same at each call, since results are cached by specification only.
        """
        key = ("people", specification.get("controls"), specification.get("aggregation"))
        return self.cached_result(key, lambda: self._compute_people_scores(specification, captions))

    def _compute_people_scores(
        self, specification: Specification, captions: Sequence[CaptionTexts]
    ) -> Floats:
        # If several units judge each caption, as in studies of the best of several, captions name no unit.
        if None in {caption.unit for caption in captions}:
            return self._scores_of_open_answers(self.table_under(specification), captions)
        pks = np.array([caption.unit for caption in captions], dtype=np.int64)
        rule = specification.get("aggregation", "")
        if rule in ("", "share", "mean"):
            consensus = self.consensus(specification)
            # the consensus of pairs and the hash of the data are not needed for units
            study_consensus = StudyConsensus(self.units, self.pairs, consensus, {}, self.decisions, "")
            return values_of_units(study_consensus, pks.tolist())
        unit, worker, value = self.counted_columns(specification)
        if rule == "standardised":  # adjudicated grades belong to no worker's scale
            z_scores = standardised_mean(unit, worker, value)
            return values_at(pks, z_scores.units, z_scores.z)
        if rule == "median":
            people_scores = values_at(pks, *unit_medians(unit, value))
        elif rule == "dawid-skene":
            model = self._dawid_skene_model(specification)
            yes_index = list(self.kind.outcomes).index(1)
            people_scores = values_at(pks, model.units, model.posterior[:, yes_index])
        else:  # "two-thirds": 1 for yes, 0 for no
            consensus = self.consensus(specification)
            values = [consensus.get(pk, EMPTY_CONSENSUS).value for pk in pks.tolist()]
            people_scores = np.array(values, dtype=np.float64)  # this turns None into nan
        for index, pk in enumerate(pks.tolist()):
            if pk in self.decisions:
                people_scores[index] = self.decisions[pk].value
        return people_scores

    def _scores_of_open_answers(self, table: JudgmentTable, captions: Sequence[CaptionTexts]) -> Floats:
        results = self.kind.results
        assert results is not None
        scores = results.caption_scores(loaders.included_judgments(self.study, table)) or []
        score_by_caption = {(score.item, score.key, score.systems): score.score for score in scores}
        return np.array(
            [
                score_by_caption.get((caption.item, caption.key, caption.systems), np.nan)
                for caption in captions
            ],
            dtype=np.float64,
        )

    def clusters_of_votes(self) -> tuple[str, ...]:
        """Return the possible clusters of votes for intervals, the default first."""
        return (ITEM, NAIVE) if self.anonymous else (BOTH_CLUSTERS, ITEM, NAIVE)

    @cached_property
    def images(self) -> Ints:
        """The images of the units, as clusters."""
        return loaders.clusters_of_units(self.study, self.units)

    @cached_property
    def full_depth(self) -> set[int] | None:
        """Row ids of the units that early stopping did not end; None if the study does not stop early."""
        return loaders.full_depth_units(self.study)

    def alpha(self, specification: Specification) -> dict[str, Any]:
        """Return Krippendorff's alpha with its interval, as the command ``aggregate`` computes it.

        The specification may state another control threshold, level or clusters. An answer that names one of two texts
        also counts with the texts exchanged, since which one is called the first is arbitrary.
        """
        table, kind = self.table_under(specification), self.kind
        clustering = specification.get("clusters", self.clusters_of_votes()[0])
        images = None if clustering == NAIVE else self.images
        without_raters = self.anonymous or clustering == ITEM  # only images are clusters then
        if kind.is_open:
            # A kind that a feature adds may have no results, and then has no alpha.
            answers = loaders.included_judgments(self.study, table) if kind.results else []
            return alpha_of_open_answers(
                kind, answers, self.units, images, seed=self.seed, anonymous=without_raters
            )
        rows = flag_judgments_for_agreement(table, self.full_depth)
        ratings, clusters = counted_ratings(table, self.units, rows, images, anonymous=without_raters)
        level = specification.get("level", kind.aggregation.level)
        return alpha_of_ratings(ratings, clusters, level, seed=self.seed, exchange=exchange_of(kind))

    @property
    def options_of_alpha(self) -> dict[str, Sequence[str]]:
        """The possible options of the choices on which alpha depends, by name of the choice."""
        level = self.kind.aggregation.level
        return {
            "controls": self.thresholds,
            "level": () if self.kind.is_open else LEVELS.get(level, ()),
            "clusters": self.clusters_of_votes(),
        }


def consensus_columns(units: Ints, value: Floats, share: Floats) -> ConsensusColumns:
    """Return the consensus of N units that a model gives. It has no counts of votes; each unit counts as one.

    Args:
        units: (N,) row ids.
        value: (N,) values; nan for a tie.
        share: (N,) shares of the votes, or probabilities, of these values.
    """
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


def values_at(pks: Ints, units: Any, values: Floats) -> Floats:
    """Return the values of the units with N row ids, ``pks``; nan if ``units`` lacks one: (N,).

    ``values`` are in the order of ``units``, which are row ids.
    """
    position = places_in(np.asarray(units, dtype=np.int64), pks)  # -1 if missing
    return np.where(position >= 0, values[position], np.nan)


def draw_half(references: References, generator: np.random.Generator) -> References:
    """Return a random half of the references, at least one."""
    (indices,) = random_subsets(len(references), max(1, len(references) // 2), 1, seed=generator)
    return [references[index] for index in indices.tolist()]
