# ruff: noqa: E501 (a sentence is one line)
"""Check sentences about the metric, the system and the side that people prefer."""

import re
from collections import defaultdict
from collections.abc import Mapping
from statistics import mean

from benchmarks.claims.contrasts import (
    Share,
    accuracies,
    accuracy,
    item_of_pair,
    means_of,
    of_systems,
    p_of_accuracies,
    taus,
    won_by,
)
from benchmarks.claims.halves import expected_accuracy as share_of_halves
from benchmarks.claims.halves import people_and_ceiling
from benchmarks.claims.patterns import is_near, names_in, number, says_ends, says_p, sentences_about, spread
from benchmarks.claims.rows import CHOICES, METRICS, PAIRED, Rows, items
from benchmarks.claims.spreads import (
    TINY,
    Answer,
    Difference,
    Larger,
    Open,
    independent_rows,
    of_answers,
    of_coefficient,
    of_independent,
    smallest_study,
    wilson,
)
from benchmarks.claims.strengths import differences, fit_strengths

Ends = tuple[float, float] | None
ROUNDING = 1e-6  # largest error of fitted strengths

says = sentences_about("metrics and systems")


def verdict_is_right(rows: Rows, leaders: str, rest: str | None, p: str | None) -> bool:
    """Return whether the leaders include the highest value, the rest have lower ones, and p is right.

    p must be at most .05 if there is a rest, and above .05 if there is none.
    """
    values = {name: value for name in rows.scores if (value := rows.accuracy_of(name)) is not None}
    first = [name for name in values if name in names_in(leaders)]
    others = [name for name in values if name not in first]
    top = max(values.values())
    apart = p is None or (float(re.sub(r"[^\d.]", "", p)) <= 0.05) == bool(rest)
    behind = all(values[name] < top for name in others)
    if rows.protocol in PAIRED and p is not None:
        best_first = sorted(METRICS, key=lambda name: -values[name])
        apart &= says_p(p, p_of_accuracies(rows, *best_first))
    return (
        bool(first)
        and any(values[name] == top for name in first)
        and behind
        and apart
        and bool(rest) == bool(others)
    )


@says(
    "No metric is ahead. There is no significant difference between <leaders:NAMES> ([<p:P>, ]<tests:TESTS>). {They name "
    "people’s winner on <share:RANGE> of <n:N> pair{s|}|Their tau-b with people is <tau:RANGE> over <m:N> text{s|}}."
)
def _(
    rows: Rows,
    leaders: str,
    p: str | None,
    share: str | None,
    n: str | None,
    tau: str | None,
    m: str | None,
    tests: str,
) -> bool:
    values = [value for name in names_in(leaders) if (value := rows.accuracy_of(name)) is not None]
    rows.open = open_metrics(rows, values, names_in(leaders))
    return (
        spread(share or tau or "", values)
        and number(n or m or "0") == rows.comparison_count
        and verdict_is_right(rows, leaders, None, p)
    )


def open_metrics(rows: Rows, values: list[float], leaders: list[str]) -> Open:
    """Return the differences between the metric with the highest value and the other leaders, which are undecided."""
    first = leaders[values.index(max(values))]
    contrast = accuracies if rows.protocol in PAIRED else taus
    decided = [pair for pair, winner in rows.pairs.items() if winner]
    of_pairs = {item_of_pair(rows)[pair] for pair in decided}
    return Open(
        [contrast(rows, first, other) for other in leaders if other != first],
        len(of_pairs if rows.protocol in PAIRED else items(rows, rows.scores[first])),
        None if rows.anonymous else len(rows.voters),
    )


@says(
    "<leader:NAMES> is {ahead of <rest:NAMES> ([<p:P>, ]<tests:TESTS>)|the only metric[ that can be ranked]}: {it names "
    "people’s winner on <share:RANGE> of <n:N> pair{s|}|its tau-b with people is <tau:RANGE> over <m:N> text{s|}} (95 % "
    "interval <ends:ENDS>)."
)
def _(
    rows: Rows,
    leader: str,
    rest: str | None,
    p: str | None,
    share: str | None,
    n: str | None,
    m: str | None,
    tau: str | None,
    ends: str,
    tests: str | None,
) -> bool:
    value = rows.accuracy_of(leader)
    said = (
        value is not None
        and spread(share or tau or "", [value])
        and says_ends(ends, ends_of_metric(rows, leader))
    )
    return said and number(n or m or "0") == rows.comparison_count and verdict_is_right(rows, leader, rest, p)


def ends_of_metric(rows: Rows, metric: str) -> Ends:
    if rows.protocol in PAIRED:
        return ends_of_share(accuracy(rows, metric))
    found = taus(rows, metric)
    return None if found is None else of_coefficient(*found, len(items(rows, rows.scores[metric])))


def ends_of_share(share: Share | None) -> Ends:
    return share and wilson(share.value, share.spread, share.rows, independent=share.independent)


@says(
    "Metrics not ranked: <metrics:NAMES> ({the metric gives every text the same score|people gave every text the same score})."
)
def _(rows: Rows, metrics: str) -> bool:
    return all(rows.accuracy_of(name) is None for name in names_in(metrics))


@says("No metric can be compared with people: bleu-1 (<first:WHY>) and rouge-l (<second:WHY>).")
def _(rows: Rows, first: str, second: str) -> bool:
    alike = len({rows.people_of(unit) for unit in rows.scores[METRICS[0]]}) == 1
    for name, why in (("bleu-1", first), ("rouge-l", second)):
        same = len({one for one, _ in rows.scores[name].values()}) == 1
        if not {"the metric gives every text the same score": same, "people gave every text the same score": alike,
                "there are fewer than two observations": len(rows.scores[name]) < 2}[why]:  # fmt: skip
            return False
    return True


@says(
    "{None of these pairs has a winner yet, so metrics cannot be compared with people.|Study 's-<n:N>' has no candidate pair with a consensus to compare a metric with.}"
)
def _(rows: Rows, n: str | None) -> bool:
    return not any(rows.pairs.values())


@says(
    "An item of study 's-<n:N>' has no references to score against. Add references to dataset 'd-<m:N>', then compute again."
)
def _(rows: Rows, n: str, m: str) -> bool:
    return not rows.study.dataset.captions.filter(role="reference").exists()


@says(
    "Study 's-<n:N>' has no judged text with references to compare a metric with.[ Add references to dataset 'd-<m:N>', then compute again.]"
)
def _(rows: Rows, n: str, m: str | None) -> bool:
    with_references = set(
        rows.study.dataset.captions.filter(role="reference").values_list("item_id", flat=True)
    )
    judged = items(rows, rows.votes)
    lacking = items(rows, rows.units) - with_references
    return not judged & with_references and (bool(lacking) if m else not judged)


@says("Chance is 50 %.")
def _(rows: Rows) -> bool:
    return rows.protocol in PAIRED


@says("{0 is chance, and 1 is the same order as people.|0 is chance.}")
def _(rows: Rows) -> bool:
    return rows.protocol not in PAIRED


@says(
    "On random halves of the votes, half of the people name the other half{’|'}s winner on <people:PC> of the pairs, "
    "<leaders:NAMES> on <reached:RANGE>; answers can be expected to reach <most:PC> at most."
)
@says(
    "If the votes are split at random, one half of the votes predicts the winner of the other half on <people:PC> of the "
    "pairs. <leaders:NAMES>: <reached:RANGE>. A metric can be expected to reach at most <most:PC>."
)
def _(rows: Rows, people: str, leaders: str, reached: str, most: str) -> bool:
    half, ceiling = people_and_ceiling(rows)
    said = spread(reached, [share_of_halves(rows, name) for name in names_in(leaders)])
    return said and is_near(people, half) and is_near(most, ceiling)


@says("Whoever names none is wrong; halves that are tied need not be named.")
def _(rows: Rows) -> bool:
    return True


@says("Intervals and tests generalise to other items, but not to other participants.")
def _(rows: Rows) -> bool:
    return rows.anonymous or len({name for votes in rows.votes.values() for name, _ in votes}) < 2


@says(
    "“Within items” is the mean over <n:RANGE> of <all:N> item{s|}. In the other items, people or the metric give all texts the same score."
)
def _(rows: Rows, n: str, all: str) -> bool:
    kept = []
    for scores in rows.scores.values():
        of_item = defaultdict(list)
        for unit, (score, _) in scores.items():
            of_item[rows.units[unit].item_id].append((score, rows.people_of(unit)))
        kept.append(sum(all_differ(points) for points in of_item.values()))
    return spread(n, [float(count) for count in kept]) and number(all) == len(
        items(rows, rows.scores[METRICS[0]])
    )


def all_differ(points: list[tuple[float, float]]) -> bool:
    return all(len({point[side] for point in points}) > 1 for side in (0, 1))


def figure_of(rows: Rows, system: str) -> float:
    return mean(rows.systems[system])


def compared_systems(rows: Rows, leaders: str, rest: str | None, p: str) -> bool:
    first, others = names_in(leaders), names_in(rest) if rest else []
    asked = {unit for units in rows.outputs.values() for unit in units}
    if rows.protocol in PAIRED:
        asked = {pk for pk in rows.votes if rows.units[pk].pair_id in rows.systems_of_pairs}
    people = {name for unit in asked for name, _ in rows.votes[unit]}
    values: Mapping[str, float] = {name: figure_of(rows, name) for name, came in rows.systems.items() if came}
    known = set(first) | set(others) == set(values) and len(values) > 1
    if rows.protocol in PAIRED and len(values) > 2:
        fit = fit_strengths(rows)
        values = fit.strengths if fit else values
        contrasts = differences(rows, fit, first[0])
    else:
        contrasts = {name: of_systems(rows, first[0], name) for name in [*first[1:], *others]}
    rows.open = Open(
        [contrasts[name] for name in first[1:]],
        len(items(rows, asked)),
        None if rows.anonymous else len(people),
    )
    best = values[first[0]] >= max(values.values()) - ROUNDING
    return known and best and differences_are_right(contrasts, first[1:] or others, others, p)


def differences_are_right(
    contrasts: Mapping[str, Difference | None], of_p: list[str], behind: list[str], p: str
) -> bool:
    """Return whether t tests with Holm's correction find exactly the metrics or systems in `behind` to be worse.

    p must also be the largest adjusted p of those in `of_p`.
    """
    tested = {name: one for name, one in contrasts.items() if one is not None}
    found = {name: one.spread.p(one.value) for name, one in tested.items()}
    adjusted, highest = {}, 0.0
    for place, name in enumerate(sorted(found, key=lambda name: found[name])):
        adjusted[name] = highest = max(highest, min(found[name] * (len(found) - place), 1.0))
    told = {name for name, one in adjusted.items() if one <= 0.05 and tested[name].value > 0}
    largest = max((adjusted[name] for name in of_p if name in adjusted), default=None)
    return told == set(behind) and (largest is None if not p else largest is not None and says_p(p, largest))


FIGURE = (
    "{<won:PC> of <n:N> comparison{s|} won, where a tie counts as half a win|<yes:PC> of the answers to <k:N> output{s|} were yes|"
    "a mean of <value:CO> for <m:N> output{s|}} (95 % interval <ends:ENDS>)."
)


def says_figure(rows: Rows, system: str, ends: str, parts: dict[str, str | None]) -> bool:
    found = figure_of(rows, system)
    said = parts["won"] or parts["yes"] or parts["value"] or ""
    number_said = number(parts["n"] or parts["m"] or parts["k"] or "0")
    exact = says_ends(
        ends, ends_of_share(won_by(rows, system)) if parts["won"] else ends_of_mean(rows, system)
    )
    return is_near(said, found) and exact and number_said == len(rows.systems[system])


@says(f"The winner is <leader:NAMES>, ahead of <rest:NAMES> (<p:P>): {FIGURE}")
def _(rows: Rows, leader: str, rest: str, p: str, ends: str, **parts: str | None) -> bool:
    told = compared_systems(rows, leader, rest, p) and float(re.sub(r"[^\d.]", "", p)) <= 0.05
    return told and says_figure(rows, leader, ends, parts)


@says(
    "No winner yet. There is no significant difference between <leaders:NAMES> ({too few data to test|<p:P>}).[ Behind these: "
    "<rest:NAMES>.] Result of "
)
def _(rows: Rows, leaders: str, p: str | None, rest: str | None) -> bool:
    told = p is None or float(re.sub(r"[^\d.]", "", p)) > 0.05
    return told and compared_systems(rows, leaders, rest, p or "")


@says(f"<system:NAMES>: {FIGURE}")
def _(rows: Rows, system: str, ends: str, **parts: str | None) -> bool:
    return says_figure(rows, system, ends, parts)


def ends_of_mean(rows: Rows, system: str) -> Ends:
    found = means_of(rows, system)
    if found is None:
        return None
    if rows.protocol == "relevance":
        return wilson(found.value, found.spread, len(items(rows, rows.outputs[system])))
    low, high = min(CHOICES[rows.protocol]), max(CHOICES[rows.protocol])
    # A share of items, up to the limit for an observed share of zero, may be at either end of the scale.
    if not found.spread.variance:
        unseen = wilson(0.0, found.spread, len(items(rows, rows.outputs[system])))[1]
        return found.value + unseen * (low - found.value), found.value + unseen * (high - found.value)
    return max(found.value - found.spread.half_width(), low), min(
        found.value + found.spread.half_width(), high
    )


@says("The differences cannot be tested, so it is unknown how many items are needed to find a winner.")
def _(rows: Rows) -> bool:
    return all(one is None for one in rows.open.differences)


@says(
    "The difference that was found is very small. Even 20 times as many items and participants might be too few to find a winner."
)
def _(rows: Rows) -> bool:
    return larger_study(rows).items is None


def larger_study(rows: Rows) -> Larger:
    """Return the smallest study that settles the open comparisons.

    Its numbers are None if the variance of a difference is unknown.
    """
    known = [one for one in rows.open.differences if one is not None]
    if len(known) < len(rows.open.differences):
        return Larger(None, 0, None)
    return smallest_study(known, rows.open.items, rows.open.people)


def is_next_above(text: str, value: float | None) -> bool:
    """Return whether the number in a text is the value rounded up, with a tolerance of a thousandth of the value."""
    return value is not None and value * 0.998 <= number(text) <= value * 1.002 + 1


LARGER_STUDY_RESULT = "would find a winner with a probability of 80 %."
LARGER_STUDY_CONDITION = "If the true difference is as large as the one found, a study with "


@says(f"{LARGER_STUDY_CONDITION}<n:N> new item{{s|}} {LARGER_STUDY_RESULT}")
def _(rows: Rows, n: str) -> bool:
    larger = larger_study(rows)
    return larger.people == 0 and is_next_above(n, larger.items)


@says(
    f"{LARGER_STUDY_CONDITION}<n:N> new item{{s|}} and <more:N> more participant{{s|}} {LARGER_STUDY_RESULT}"
)
def _(rows: Rows, n: str, more: str) -> bool:
    larger = larger_study(rows)
    return is_next_above(n, larger.items) and is_next_above(more, larger.people)


@says("With the same <people:N> participants, {the study needs <n:N> items|no number of items is enough}.")
def _(rows: Rows, people: str, n: str | None) -> bool:
    larger = larger_study(rows)
    same = larger.of_same is None if n is None else is_next_above(n, larger.of_same)
    return same and number(people) == rows.open.people


@says(
    "Only one participant answered, so it is unknown how many more items and participants are needed to find a winner."
)
def _(rows: Rows) -> bool:
    return len(rows.voters) == 1


@says(
    "The dataset has too few unused items (<left:N>); the study needs <wanted:N>. Add items to the dataset first. d-<n:N>"
)
def _(rows: Rows, left: str, wanted: str, n: str) -> bool:
    asked = set(rows.study.units.filter(control=False).values_list("item_id", flat=True))
    return number(left) == rows.study.dataset.items.exclude(pk__in=asked).count() < number(wanted)


@says(
    "The left side was chosen in <share:PC> of <n:N> answer{s|} (95 % interval <ends:ENDS>[, <p:P>]).[ Sides are random, so "
    "50 % is expected.]"
)
def _(rows: Rows, share: str, n: str, ends: str, p: str | None) -> bool:
    sided = [row for row in rows.counted if row.presented and row.value in (1, 2)]
    chosen = [row.presented == ("first-left" if row.value == 1 else "second-left") for row in sided]
    left = mean(map(float, chosen))
    if number(n) != len(sided) or not is_near(share, left):
        return False
    answers = [
        Answer(rows.units[row.unit_id].item_id, row.assignment.worker.name, (chose - left) / len(sided))
        for row, chose in zip(sided, chosen, strict=True)
    ]
    independent = len({one.item for one in answers}) == len(answers) and (
        rows.anonymous or len({one.person for one in answers}) == len(answers)
    )
    found = (
        (of_independent(left, len(sided)), len(sided))
        if independent
        else of_answers(answers, anonymous=rows.anonymous)
    )
    if found is None:
        return says_ends(ends, None) and p is None
    even = 0.25 / independent_rows(left, *found, independent=independent)
    variance = found[0].variance
    told = found[0].scaled_spread(even / variance) if variance > TINY**2 else found[0]._replace(by_items=even)
    return says_ends(ends, wilson(left, *found, independent=independent)) and (
        p is None or says_p(p, told.p(left - 0.5))
    )
