"""Decide which system people like best, with what confidence, and how many new items would settle it.

The verdict has the same words on results, dashboard and report, in calls and commands.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any, TypedDict

import numpy as np
import scipy  # its parts load when they are first used
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from common.amounts import coefficient, thousands
from evaluation.data.judgment_sets import loaders
from evaluation.data.judgment_sets.records import JudgmentTable
from evaluation.data.ranked_lists import proposals_of
from evaluation.numeric.arrays import Flags, Floats, Ints, pairs_of_equal, places_in
from evaluation.presentation.content import (
    interval_in_text,
    join_names,
    json_float,
    p_in_text,
    percent,
    percent_number,
)
from evaluation.results.consensus import StudyConsensus, clusters_of_pairs, few_raters_sentence
from evaluation.results.error_spans.scores import segments_of
from evaluation.results.strengths.computing import PEOPLE, Choices, NothingToRank, fit_choices
from evaluation.statistics.aggregation import bradley_terry_of_comparisons
from evaluation.statistics.correlation import means_without_raters
from evaluation.statistics.inference import (
    CONFIDENCE,
    ITEM,
    NO_SPREAD,
    RATER,
    Clusters,
    RaterDeletions,
    Spread,
    renumbered,
)
from evaluation.statistics.inputs import encode
from evaluation.statistics.meta import PeoplesWinners, clusters_of_p_values
from evaluation.statistics.significance import LEVEL
from judgments.kinds import KINDS
from judgments.models import CandidatePair, Item, Study, Unit
from judgments.studies.studies import design_of

WON, BEST, YES, MEAN = "won", "best", "yes", "mean"
SHARES = (WON, BEST, YES)
POWER = 0.8
MOST_TIMES = 20  # as many items as there are: more would hardly be asked


class SystemsVerdict(TypedDict):
    """The best systems, as JSON.

    ``systems`` are best first, with the ``measure`` and its interval, and ``n`` comparisons or captions. ``leaders``
    are the first and those not separable from it; ``p`` is the largest adjusted p of the ``rest`` against the first
    if there is one leader, else that of the leader most like it. ``items`` were compared; ``more`` new ones alone
    would tell the leaders apart in four of five studies, if their differences are as large as they look; None if
    nothing is to settle, or if these are more than twenty times as many.
    """

    settled: bool
    leaders: list[str]
    rest: list[str]
    p: float | None
    measure: str
    systems: list[dict[str, Any]]
    items: int
    more: int | None
    raters: int | None
    sentence: str


@dataclass(frozen=True, slots=True)
class Standings:
    """What people's answers say of K systems.

    figures: value, interval and n by system. strength: (K,) what differences are taken of. error, freedom: (K, K) the
    standard error of a difference and the degrees of freedom of its t; nan where nothing is known.
    """

    measure: str
    names: Sequence[str]
    figures: Mapping[str, Mapping[str, Any]]
    strength: Floats
    error: Floats
    freedom: Floats
    items: int
    raters: int | None


def verdict_of_systems(
    study: Study, table: JudgmentTable, consensus: StudyConsensus
) -> SystemsVerdict | None:
    """Return which system wins; None where answers say nothing of two systems."""
    kind = KINDS[study.protocol]
    if kind.compares_pairs:
        standings = _of_pairs(study, table, consensus)
    elif kind.names_best:
        standings = _of_choices(study)
    elif kind.relevance is not None:
        standings = _of_captions(study, table, consensus, averaged=kind.relevance.averaged)
    elif loaders.marks_errors(study):
        standings = _of_segments(study)
    else:
        return None
    if standings is None or len(standings.names) < 2:
        return None
    return decide(standings)


def decide(standings: Standings) -> SystemsVerdict:
    """Separate the systems from the first by t tests of their differences, with Holm's correction."""
    names, strength = list(standings.names), standings.strength
    difference = strength[:, np.newaxis] - strength[np.newaxis, :]
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.abs(difference) / standings.error
    p = 2 * scipy.special.stdtr(standings.freedom, -t)
    p = np.triu(p, 1) + np.triu(p, 1).T  # two orders of a pair differ by the last bit of their errors
    np.fill_diagonal(p, np.nan)
    leaders, rest, largest = clusters_of_p_values(strength, p, names).leaders()
    order = sorted(range(len(names)), key=lambda index: -strength[index])
    settled = len(leaders) == 1
    more = None
    if not settled:
        pairs = math.comb(len(names), 2)
        others = [names.index(name) for name in leaders if name != names[order[0]]]
        against = t[order[0], others]
        largest = json_float(np.minimum(1.0, p[order[0], others] * pairs).max())
        times = [times_as_many(value, LEVEL / pairs) for value in against.tolist()]
        if max(times) <= MOST_TIMES:
            more = math.ceil(standings.items * max(times))
    verdict = SystemsVerdict(
        settled=settled,
        leaders=leaders,
        rest=rest,
        p=largest,
        measure=standings.measure,
        systems=[{"system": names[index], **standings.figures[names[index]]} for index in order],
        items=standings.items,
        more=more,
        raters=standings.raters,
        sentence="",
    )
    return verdict | {"sentence": systems_sentence(verdict)}


def items_left(study: Study) -> int:
    """Return how many items of the split that is judged no study asked about that this one's draw leaves out."""
    sampling = design_of(study).sampling
    studies = Study.objects.filter(dataset=study.dataset_id, slug__in=[study.slug, *sampling.not_in])
    judged = Unit.objects.filter(study__in=studies, control=False).values("item")
    items = Item.objects.filter(dataset=study.dataset_id)
    if items.exclude(split="").exists():
        items = items.filter(split=sampling.split)
    return items.exclude(pk__in=judged).count()


def orderable(study: Study, verdict: SystemsVerdict | None) -> dict[str, int] | None:
    """Return how many new items would settle the verdict, and how many can be ordered; None where none are needed."""
    if verdict is None or verdict["settled"] or verdict["more"] is None:
        return None
    if study.source == Study.Source.IMPORTED or study.simulated:
        return None
    return {"wanted": verdict["more"], "left": items_left(study)}


def verdict_context(study: Study, result: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a page shows of a stored verdict, in the reader's language."""
    verdict = result.get("systems_verdict")
    if verdict is None:
        return {}
    return {
        "winner": verdict | {"sentence": systems_sentence(verdict)},
        "orderable": orderable(study, verdict),
    }


def times_as_many(t: float, level: float) -> float:
    """Return how many times as many items give a difference of that t a power of .8; inf where t is 0 or nan.

    The noncentral t of the same difference grows with the root of the items; with many of them its quantiles are the
    normal distribution's (Cohen 1988, section 2.4).
    """
    if not t > 0:
        return math.inf
    return float((scipy.special.ndtri(1 - level / 2) + scipy.special.ndtri(POWER)) / t) ** 2


def systems_sentence(verdict: SystemsVerdict) -> str:
    """Word a verdict in the reader's language."""
    first, leaders, rest = verdict["systems"][0], verdict["leaders"], verdict["rest"]
    parts = {
        "leader": _name(first["system"]),
        "leaders": join_names([_name(name) for name in leaders]),
        "rest": join_names([_name(name) for name in rest]) if rest else "",
        "figure": _figure(verdict["measure"], first),
        "p": p_in_text(verdict["p"]) if verdict["p"] is not None else _("no p"),
    }
    if verdict["settled"]:
        sentence = _("The winner is %(leader)s, ahead of %(rest)s (%(p)s): %(figure)s.") % parts
    elif rest:
        sentence = (
            _(
                "No winner yet: %(leaders)s cannot be told apart (%(p)s), with %(rest)s behind. Of %(leader)s: "
                "%(figure)s."
            )
            % parts
        )
    else:
        sentence = (
            _("No winner yet: %(leaders)s cannot be told apart (%(p)s). Of %(leader)s: %(figure)s.") % parts
        )
    raters = {} if verdict["raters"] is None else {"raters": verdict["raters"]}
    return " ".join(filter(None, (sentence, _further(verdict), few_raters_sentence(raters))))


def _further(verdict: SystemsVerdict) -> str:
    if verdict["settled"]:
        return ""
    if verdict["p"] is None:
        return _("Too few items were compared to say how many would settle it.")
    if verdict["more"] is None:
        return _("They look so alike that even %(times)d times as many items might not settle it.") % {
            "times": MOST_TIMES
        }
    return ngettext(
        "%(n)s new item would settle it in four of five studies, if they differ as it now looks.",
        "%(n)s new items would settle it in four of five studies, if they differ as it now looks.",
        verdict["more"],
    ) % {"n": thousands(verdict["more"])}


def _name(system: str) -> str:
    return _("people’s captions") if system == PEOPLE else system


def _figure(measure: str, row: Mapping[str, Any]) -> str:
    if measure in SHARES:
        ends, value = interval_in_text(row, percent_number, percent), percent(row["value"])
    else:
        ends, value = interval_in_text(row, coefficient, coefficient), coefficient(row["value"])
    sentences = {
        WON: _("%(value)s of %(n)s comparisons won (95 %% interval %(ends)s)"),
        BEST: _("named the best in %(value)s of %(n)s lists (95 %% interval %(ends)s)"),
        YES: _("%(value)s yes for %(n)s outputs (95 %% interval %(ends)s)"),
        MEAN: _("a mean of %(value)s for %(n)s outputs (95 %% interval %(ends)s)"),
    }
    return sentences[measure] % {"value": value, "n": thousands(row["n"]), "ends": ends}


def _figures(value: float, low: float, high: float, n: int) -> dict[str, Any]:
    return {"value": json_float(value), "low": json_float(low), "high": json_float(high), "n": n}


def _of_pairs(study: Study, table: JudgmentTable, consensus: StudyConsensus) -> Standings | None:
    of_key = loaders.systems_of_pairs(study)
    images = dict(CandidatePair.objects.filter(study=study).values_list("pk", "item_id"))
    rows = []
    for pair in consensus.pairs:
        both, outcome = of_key[pair.key], consensus.of_pair[pair.pk]
        if both[0] != both[1] and (outcome.value is not None or outcome.tie):
            rows.append((pair.pk, *both, outcome.value or 0, images[pair.pk]))
    if not rows:
        return None
    pks, first_names, second_names, winners, items = (list(column) for column in zip(*rows, strict=True))
    clusters = clusters_of_pairs(
        table, consensus, np.array(pks, dtype=np.int64), items, anonymous=loaders.is_anonymous(study)
    )
    names = sorted({*first_names, *second_names})
    code_of = {name: code for code, name in enumerate(names)}
    first, second = (np.array([code_of[name] for name in column]) for column in (first_names, second_names))
    people = PeoplesWinners.of(winners, clusters=clusters)
    figures = {}
    for code, name in enumerate(names):
        sides = np.select([first == code, second == code], [1, 2])
        interval = people.share(partial(credit_of_side, sides), sides > 0, undecided=True)
        won = credit_of_side(sides, np.flatnonzero(sides), people.winners[sides > 0])
        figures[name] = _figures(float(won.mean()), interval.low, interval.high, len(won))
    fit = bradley_terry_of_comparisons(first, second, winners, tie_model="davidson", clusters=clusters)

    def compare(left: int, right: int) -> tuple[float, Spread]:
        sides = np.select([(first == left) & (second == right), (first == right) & (second == left)], [1, 2])
        if not sides.any():
            return math.nan, NO_SPREAD
        share, spread = people.spread_if_even(partial(credit_of_side, sides), sides > 0)
        return share - 0.5, spread

    strength, errors = fit.log_strength, _errors(fit.covariance, fit.freedom)
    if len(names) == 2 or fit.reason:
        strength = np.array([figures[name]["value"] for name in names])
        errors = _errors_where_compared(strength, compare)
    return Standings(WON, names, figures, strength, *errors, len(set(items)), _raters_of(people.deletions))


def credit_of_side(sides: Ints, pairs: Ints, winners: Floats) -> Floats:
    """Return what a system at these (P,) sides of pairs gets of some: 1 where it wins, half where nobody does."""
    return np.where(winners == 0, 0.5, winners == sides[pairs])


def _errors(covariance: Floats, freedom: Floats) -> tuple[Floats, Floats]:
    """Return the (K, K) standard errors and degrees of freedom of differences of estimates."""
    variance = np.diag(covariance)
    squared = variance[:, np.newaxis] + variance[np.newaxis, :] - (covariance + covariance.T)
    known = freedom if len(freedom) else np.full(len(variance), math.inf)
    return np.sqrt(np.maximum(squared, 0)), np.minimum(known[:, np.newaxis], known[np.newaxis, :])


def _errors_where_compared(
    strength: Floats, compare: Callable[[int, int], tuple[float, Spread]]
) -> tuple[Floats, Floats]:
    """Return the (K, K) errors that give differences of strengths the t of a difference of what both systems have.

    Where what both have says the opposite of all that each has, nothing is known.
    """
    error, freedom = np.full((2, len(strength), len(strength)), np.nan)
    for first, second in combinations(range(len(strength)), 2):
        difference, spread = compare(first, second)
        if spread.variance > 0:
            of_strengths = strength[first] - strength[second]
            agrees = difference * of_strengths > 0
            rescaled = math.sqrt(spread.variance) * of_strengths / difference if agrees else math.inf
            error[first, second] = error[second, first] = rescaled
            freedom[first, second] = freedom[second, first] = spread.df
    return error, freedom


def _raters_of(deletions: RaterDeletions | None) -> int | None:
    return None if deletions is None else deletions.raters


def _of_choices(study: Study) -> Standings | None:
    try:
        choices = fit_choices(study)
    except NothingToRank:
        return None
    fit, shares = choices.strengths, choices.shares()
    names = [str(name) for name in fit.items.tolist()]
    figures = {
        name: _figures(row["best"], row["best_low"], row["best_high"], row["shown"])
        for name, row in shares.items()
    }
    strength, errors = fit.log_strength, _errors(fit.covariance, fit.freedom)
    if fit.reason:  # strengths are infinite, as where a system is always the best, or have no errors
        strength = np.array([figures[name]["value"] for name in names])
        errors = _errors_where_compared(
            strength, lambda first, second: _lead_of_two(choices, names[first], names[second])
        )
    return Standings(BEST, names, figures, strength, *errors, choices.items, fit.clusters.get(RATER))


def _lead_of_two(choices: Choices, first: str, second: str) -> tuple[float, Spread]:
    """Return how often the first is the best where either is, less a half, and the spread if it is nought."""
    rows = np.array([(first in best) != (second in best) for best in choices.winners])
    if not rows.any() or not choices.clusters:
        return math.nan, NO_SPREAD
    winners = np.array([1 if first in best else 2 for best in choices.winners])[rows]
    clusters = {name: column[rows] for name, column in choices.clusters.items()}
    people = PeoplesWinners.of(winners, clusters=clusters)
    share, spread = people.spread_if_even(lambda _rows, winner: (winner == 1) * 1.0, winners > 0)
    return share - 0.5, spread


@dataclass(frozen=True, slots=True)
class Outputs:
    """R outputs with scores; an item has some of each of K systems.

    item, system: (R,) codes. cluster: of items, their documents or themselves. score: (R,).
    deletions: scores without the outputs' raters, where these are known.
    """

    names: Sequence[str]
    item: Ints
    system: Ints
    cluster: Ints
    score: Floats
    deletions: RaterDeletions | None

    def standings(self, measure: str) -> Standings:
        figures = {}
        for code, name in enumerate(self.names):
            mean, spread = self.contrast({code: 1.0})
            half = spread.half(CONFIDENCE)
            figures[name] = _figures(mean, mean - half, mean + half, int((self.system == code).sum()))
        strength = np.array([figures[name]["value"] for name in self.names])
        errors = _errors_where_compared(
            strength, lambda first, second: self.contrast({first: 1.0, second: -1.0})
        )
        items, raters = len(np.unique(self.item)), _raters_of(self.deletions)
        return Standings(measure, self.names, figures, strength, *errors, items, raters)

    def contrast(self, signs: Mapping[int, float]) -> tuple[float, Spread]:
        """Return the sum of the systems' means times their signs, on items with outputs of all, and its spread."""
        size, sign = len(self.cluster), np.array([signs.get(code, 0.0) for code in range(len(self.names))])
        here = sign[self.system] != 0
        counts = np.zeros((len(self.names), size))
        np.add.at(counts, (self.system[here], self.item[here]), 1)
        complete: Flags = np.all(counts[list(signs)] > 0, axis=0)
        n = int(complete.sum())
        if not n:
            return math.nan, NO_SPREAD
        here &= complete[self.item]
        system = self.system[here]
        number, total = np.bincount(system), np.bincount(system, self.score[here])
        means = np.divide(total, number, out=np.zeros(len(total)), where=number > 0)
        weight = np.zeros(len(self.item))
        weight[here] = sign[system] / number[system]
        mean = float(means @ sign[: len(means)])
        centred = weight[here] * (self.score[here] - means[system])
        influence: Floats = np.bincount(self.item[here], centred, minlength=size).astype(np.float64)
        items = Clusters.of({ITEM: self.cluster[complete]}, n)
        spread = items.spread(influence[complete])
        if self.deletions is None:
            return mean, spread
        left = self.deletions.subset(here)
        item, lost = self.item[left.row], self.score[left.row] - left.value
        key, at = np.unique(item * np.int64(left.raters) + left.rater, return_inverse=True)
        changes: Floats = np.bincount(at, np.nan_to_num(lost) * weight[left.row], minlength=len(key)).astype(
            np.float64
        )
        # Without its only rater an output is gone, and its item with it.
        gone = np.bincount(at, np.isnan(lost), minlength=len(key)) > 0
        changes[gone] = influence[key[gone] // left.raters]
        raters = RaterDeletions(key // left.raters, renumbered(key % left.raters), changes)
        return mean, raters.widen(spread, items, lambda: changes)[0]


def _of_captions(
    study: Study, table: JudgmentTable, consensus: StudyConsensus, *, averaged: bool
) -> Standings | None:
    """Compare systems by the mean answer to each of their captions."""
    proposals = proposals_of(study)
    units = proposals.units
    output, unit = proposals.credits()
    annotated = ~proposals.search[output]
    output, unit = output[annotated], unit[annotated]
    answered = places_in(units.pk, table.unit)
    rated = table.counted & ~np.isnan(table.value) & (answered >= 0)
    sums, counts = (
        np.bincount(answered[rated], weights, minlength=len(units.pk))
        for weights in (table.value[rated], None)
    )
    decided = places_in(units.pk, np.array(list(consensus.decisions), dtype=np.int64))
    for index, decision in zip(decided.tolist(), consensus.decisions.values(), strict=True):
        counts[index] = 0 if decision.value is None else max(1, counts[index])
        sums[index] = 0 if decision.value is None else decision.value * counts[index]
    sums, counts = (np.bincount(output, values[unit], minlength=len(proposals)) for values in (sums, counts))
    rows = np.flatnonzero(counts)
    if not len(rows):
        return None
    rated &= ~np.isin(table.unit, list(consensus.decisions))
    vote, credit = pairs_of_equal(answered[rated], unit)
    systems, system = np.unique(proposals.system[rows], return_inverse=True)
    outputs = Outputs(
        names=[str(proposals.systems[code]) for code in systems.tolist()],
        item=renumbered(proposals.image[rows]),
        system=system,
        cluster=np.arange(len(np.unique(proposals.image[rows]))),
        score=sums[rows] / counts[rows],
        deletions=_deletions(
            study,
            places_in(rows, output[credit]),
            table.worker[rated][vote],
            table.value[rated][vote],
            len(rows),
        ),
    )
    return outputs.standings(MEAN if averaged else YES)


def _deletions(study: Study, row: Ints, worker: Ints, value: Floats, rows: int) -> RaterDeletions | None:
    if loaders.is_anonymous(study) or not len(row):
        return None
    return means_without_raters(row, worker, value, rows)


def _of_segments(study: Study) -> Standings | None:
    """Compare systems by the scores of their segments, as `errors` does."""
    segments = segments_of(study)
    rows = [(name, segment) for name, judged in segments.items() for segment in judged]
    if not rows:
        return None
    names = list(segments)
    items, item = np.unique([segment.item for _, segment in rows], return_inverse=True)
    cluster_of = {segment.item: segment.cluster for _, segment in rows}
    votes = [
        (row, worker, score)
        for row, (_, segment) in enumerate(rows)
        for worker, score in zip(segment.workers, segment.scores, strict=True)
    ]
    row, worker, score = (np.array(column) for column in zip(*votes, strict=True))
    outputs = Outputs(
        names=names,
        item=item,
        system=np.array([names.index(name) for name, _ in rows]),
        cluster=encode([cluster_of[pk] for pk in items.tolist()], "documents")[1],
        score=np.array([segment.score for _, segment in rows]),
        deletions=_deletions(study, row, worker, score, len(rows)),
    )
    return outputs.standings(MEAN)
