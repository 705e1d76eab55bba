# ruff: noqa: E501 (a sentence is one line)
"""Check sentences about agreement."""

from collections import Counter, defaultdict
from statistics import mean

import numpy as np

from benchmarks.claims.patterns import is_near, number, says_ends, sentences_about, two_digits
from benchmarks.claims.rows import INTERVAL, PAIRED, Rows, items, mirrored_choice
from benchmarks.claims.spreads import Answer, of_answers, of_coefficient
from benchmarks.claims.variances import components, value_of
from benchmarks.claims.worker_models import likely_answers

says = sentences_about("agreement")
ITEMS_SHOWN = 8  # number of items shown on which a model of people has another answer than the consensus
NARROW_WIDTH = 0.05  # width of an interval that more judgments hardly change


@says(
    "Krippendorff's alpha is <value:CO> ({95 % interval <ends:ENDS>|no interval}, {nominal|interval}). Items with at "
    "least two judgments: <n:N>. 0 is chance, and 1 is full agreement."
)
@says(
    "Judges agree with alpha <value:CO> ({nominal|interval} level[, 95 % interval <ends:ENDS>]) on <n:N> unit{s|}."
)
def says_alpha(rows: Rows, value: str, ends: str | None, n: str) -> bool:
    alpha = rows.alpha
    return (
        alpha is not None
        and is_near(value, alpha)
        and says_ends(ends or "undefined", ends_of_alpha(rows))
        and number(n) == len(rows.pairable)
    )


def ends_of_alpha(rows: Rows) -> tuple[float, float] | None:
    """Return the interval of alpha, from numeric derivatives by the weights of answers, or None if it is undefined."""
    answers = [(unit, name, value) for unit in rows.pairable for name, value in rows.votes[unit]]
    weights, step = np.ones(len(answers)), 1e-5
    slopes = [
        (weighted_alpha(rows, answers, weights + move) - weighted_alpha(rows, answers, weights - move))
        / (2 * step)
        for move in step * np.eye(len(answers))
    ]
    influences = [
        Answer(rows.units[unit].item_id, name, slope - mean(slopes))
        for (unit, name, _), slope in zip(answers, slopes, strict=True)
    ]
    found = of_answers(influences, anonymous=rows.anonymous, fewest=3)
    if found is None or rows.alpha is None:
        return None
    return of_coefficient(
        rows.alpha, *found, len(answers) / len(rows.pairable), disagreement_chance(rows, answers)
    )


def sides_of(rows: Rows, answers: list[tuple[int, str, float]]) -> list[tuple[tuple[int, int], float]]:
    """Return the ((unit, order), answer) pairs of answers. Choices between two texts are returned in both orders."""
    own = [((unit, 0), value) for unit, _, value in answers]
    return own + (
        [((unit, 1), mirrored_choice(value)) for unit, _, value in answers] if rows.protocol in PAIRED else []
    )


def weighted_alpha(rows: Rows, answers: list[tuple[int, str, float]], weights: np.ndarray) -> float:
    """Return alpha = 1 - (n - 1) O / E with weighted answers.

    A unit with the total weight m adds m times the mean distance between its answers to O.
    """
    sides = sides_of(rows, answers)
    weight = np.resize(weights, len(sides))
    values, units = np.array([value for _, value in sides]), [unit for unit, _ in sides]
    far = np.abs(values[:, np.newaxis] - values)
    far = far**2 if rows.protocol in INTERVAL else np.sign(far)
    pairs, observed = np.outer(weight, weight), 0.0
    for unit in set(units):
        own = np.array([other == unit for other in units])
        here, of_unit = np.ix_(own, own), weight[own]
        together = of_unit.sum() ** 2 - np.square(of_unit).sum()
        observed += of_unit.sum() * (pairs * far)[here].sum() / together
    return float(1 - (weight.sum() - 1) * observed / (pairs * far).sum())


def disagreement_chance(rows: Rows, answers: list[tuple[int, str, float]]) -> float:
    """Return the chance that two random answers differ."""
    count = Counter(value for _, value in sides_of(rows, answers))
    n = count.total()
    return sum(one * (n - one) for one in count.values()) / (n * (n - 1))


@says(
    "Note: if 15 % of people answer at random, <missed:PC> of groups of <n:N> have none of them, as this one may, and alpha "
    "is about <left:CO>, below the interval; check questions keep them out."
)
def _(rows: Rows, missed: str, n: str, left: str) -> bool:
    ends, people = ends_of_alpha(rows), {name for unit in rows.pairable for name, _ in rows.votes[unit]}
    if (
        ends is None
        or rows.alpha is None
        or rows.seen
        or number(n) != len(people)
        or not 3 <= len(people) <= 18
    ):
        return False
    return (
        is_near(missed, 0.85 ** len(people))
        and is_near(left, 0.85**2 * rows.alpha)
        and ends[0] > 0.85**2 * rows.alpha
    )


def width_of(ends: str) -> float:
    low, high = (number(end) for end in ends.split(" to "))
    return high - low


@says(
    "Alpha is <value:CO>[, 95 % interval <ends:ENDS>]. Items with two or more judgments: <n:N>.[ The interval is <width:CO> wide.]"
)
def _(rows: Rows, value: str, ends: str | None, n: str, width: str | None) -> bool:
    apart = width is None or (
        abs(number(width) - width_of(ends or "")) <= 0.0151 and number(width) >= NARROW_WIDTH
    )
    return apart and says_alpha(rows, value, ends, n)


@says(
    "Alpha is <value:CO>, 95 % interval <ends:ENDS>. Items with two or more judgments: <n:N>. More judgments will hardly "
    "change alpha."
)
def _(rows: Rows, value: str, ends: str, n: str) -> bool:
    return width_of(ends) <= NARROW_WIDTH + 0.01 and says_alpha(rows, value, ends, n)


@says("Agreement is highest on <kind:NAMES> pairs (<value:CO>).")
def _(rows: Rows, kind: str, value: str) -> bool:
    of_kind = defaultdict(list)
    for unit in rows.pairable:
        of_kind[rows.units[unit].kind].append(unit)
    alphas = {name: alpha for name, units in of_kind.items() if (alpha := rows.alpha_of(units)) is not None}
    return len(alphas) > 1 and alphas[kind] == max(alphas.values()) and is_near(value, alphas[kind])


@says("{There is no interval: |Note: }there is 1 item, expected 2 or more to say what others would give.")
def _(rows: Rows) -> bool:
    return len(items(rows, rows.pairable)) == 1


@says("Note: with 2 raters, expected 3 or more, the interval is for these raters alone.")
def _(rows: Rows) -> bool:
    return len({name for votes in rows.votes.values() if len(votes) > 1 for name, _ in votes}) <= 2


@says("Note: with 1 item, expected 2 or more, the interval is for this item alone.")
def _(rows: Rows) -> bool:
    return len(items(rows, rows.pairable)) == 1


@says(
    "Note: with <n:N> item{s|}, expected <least:N> or more, the interval is for {this item|these items} alone."
)
def _(rows: Rows, n: str, least: str) -> bool:
    return number(n) == len(items(rows, rows.pairable)) < number(least)


@says(
    "The variance of the answers has three parts: <item:PC> between items, <rater:PC> between participants, and "
    "<residual:PC> residual. The residual includes differences between texts of one item."
)
def _(rows: Rows, **shares: str) -> bool:
    parts = components(rows)
    whole = parts.item + parts.rater + parts.residual
    return all(is_near(share, getattr(parts, name) / whole) for name, share in shares.items())


@says(
    "The standard error of the mean answer is <error:CO>. With twice as many items, it would be <a:CO>. With twice as many "
    "participants, it would be <b:CO>. With twice as many answers per participant and item, it would be <c:CO>."
)
def _(rows: Rows, error: str, a: str, b: str, c: str) -> bool:
    parts = components(rows)
    ratios = (1.0, parts.ratio(items=2, answers=2), parts.ratio(raters=2, answers=2), parts.ratio(answers=2))
    errors = zip((error, a, b, c), ratios, strict=True)
    return number(error) > 0 and all(two_digits(said, ratio * parts.error) for said, ratio in errors)


@says(
    "All items have the same mean answer. These answers therefore cannot show whether more items, "
    "participants or answers would make the mean more precise."
)
def _(rows: Rows) -> bool:
    of_item: defaultdict[int, list[float]] = defaultdict(list)
    for unit, votes in rows.votes.items():
        of_item[rows.units[unit].item_id] += [value_of(rows, value) for _, value in votes]
    means = [mean(values) for values in of_item.values()]
    return len(means) > 1 and max(means) - min(means) < 1e-9


@says("Fleiss’ kappa is undefined: all judgments name the same category.")
def _(rows: Rows) -> bool:
    return len({value for values in rows.pairable.values() for value in values}) == 1


@says(
    "Fleiss’ kappa is undefined: items have different numbers of judgments, expected equally many (alpha takes any)."
)
def _(rows: Rows) -> bool:
    return len({len(values) for values in rows.pairable.values()}) > 1


@says("Fleiss’ kappa is undefined: there is 1 item, expected 2 or more to say what others would give.")
def _(rows: Rows) -> bool:
    return len(items(rows, rows.pairable)) == 1


def count_differing_items(rows: Rows) -> tuple[int, int]:
    """Return the number of items on which the model differs from the consensus, and of tied items that the model decides."""
    likely, consensus = likely_answers(rows), rows.consensus
    decided = [unit for unit, answer in likely.items() if answer is not None]
    tied = sum(consensus[unit] is None for unit in decided)
    return sum(consensus[unit] != likely[unit] for unit in decided) - tied, tied


@says(
    "No. A model that weights participants by their accuracy gives the same answers on all judged items (<n:N>)."
)
@says(
    "Yes. A model that weights participants by their accuracy differs from the consensus. Judged items on which it "
    "differs: <differ:N> of <n:N>.[ Number of ties that it decides: <ties:N>.]"
)
def _(rows: Rows, n: str, differ: str = "0", ties: str | None = None) -> bool:
    return number(n) == len(rows.votes) and (number(differ), number(ties or "0")) == count_differing_items(
        rows
    )


@says("Not shown: <n:N>. A release contains all of them.")
def _(rows: Rows, n: str) -> bool:
    return number(n) == count_differing_items(rows)[0] - ITEMS_SHOWN > 0


@says("Note: only one participant answered, so the accuracy of this participant cannot be estimated.")
def _(rows: Rows) -> bool:
    return len({name for votes in rows.votes.values() for name, _ in votes}) == 1


@says("Note: no {unit|item} has two judgments, so {every|the} <why:WHY>.")
def _(rows: Rows, why: str) -> bool:
    return not rows.pairable
