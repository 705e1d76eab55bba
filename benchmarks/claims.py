# ruff: noqa: E501 (a sentence is one line)
"""What results, dashboard and report say of a study, sentence by sentence, held against its rows by plain code.

Each pattern stands above the function that checks it. A text that no pattern matches is an error, so that whoever
writes a new sentence writes its checker, too.
"""

import html
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cached_property
from itertools import combinations
from pathlib import Path
from statistics import mean, median
from typing import Any

from django.test import Client

from annotation.models import Assignment, Judgment
from evaluation.errors import EvaluationError
from evaluation.models import Analysis, MetricScore
from evaluation.presentation.content import Section
from evaluation.reports.storage import build_report
from evaluation.results.aggregation import aggregate_study
from evaluation.results.dashboard.progress import has_dashboard
from evaluation.results.dashboard.snapshot import compute_snapshot, store_snapshot
from evaluation.results.meta_evaluation import evaluate_study
from judgments.models import Output, Study
from judgments.studies.studies import design_of
from tests.evaluation.drawn_studies import drawn_study
from tests.judgments.desk import page

METRICS = ["bleu-1", "rouge-l"]
FINISHED, GONE = ("submitted", "approved", "rejected"), ("invalidated", "apart")
PAIRED, INTERVAL = ("pairwise", "triplet"), ("graded", "slider")
Claim = Callable[..., bool]
CHECKS: list[tuple[re.Pattern[str], Claim, str]] = []
KINDS = ["counts"]  # what the checkers below are about
PARTS = {
    "N": r"[\d,]+", "PC": r"\d+(?: %)?", "CO": r"-?\d*\.?\d+", "P": r"(?:p = |p < |p > )?\.\d+", "NAMES": r"[\w.-]+(?:(?:, | and )[\w.-]+)*",
    "ENDS": r"(?:undefined|-?[\d.]+ to -?[\d.]+(?: %)?)", "TESTS": r"[^)]*", "WHY": r"[^.]*",
}  # fmt: skip


def says(pattern: str) -> Callable[[Claim], Claim]:
    """Register a checker; ``<name:PART>`` in the pattern is an argument of it, all else is literal."""
    literal = re.split(r"<(\w+):(\w+)>", pattern)
    for at, text in enumerate(literal):
        if at % 3 == 0:
            literal[at] = re.escape(text).replace(r"\{", "(?:").replace(r"\}", ")").replace(r"\|", "|")
            literal[at] = literal[at].replace(r"\[", "(?:").replace(r"\]", ")?")
        elif at % 3 == 1:
            literal[at] = f"(?P<{text}>{PARTS[literal[at + 1]]})"
    expression = re.compile("".join(text for at, text in enumerate(literal) if at % 3 != 2))

    def add(claim: Claim) -> Claim:
        CHECKS.append((expression, claim, KINDS[-1]))
        return claim

    return add


def mirrored(value: float) -> float:
    """A choice of one of two texts if these change places."""
    return 3 - value if value in (1, 2) else value


def number(text: str) -> float:
    return float(text.replace(",", "").removesuffix(" %"))


def near(text: str, value: float, unit: float = 0.01) -> bool:
    """Whether a rounded number is that value."""
    return abs(number(text) * (0.01 if "%" in text or unit == 1 else 1) - value) <= 0.0051


def inside(ends: str, value: float) -> bool:
    if ends == "undefined":
        return True
    low, high = (number(end) for end in ends.split(" to "))
    scale = 0.01 if "%" in ends else 1
    return scale * low - 0.0051 <= value <= scale * high + 0.0051


def tau_b(first: list[float], second: list[float]) -> float | None:
    pairs = list(combinations(zip(first, second, strict=True), 2))
    signs = [((a > c) - (a < c), (b > d) - (b < d)) for (a, b), (c, d) in pairs]
    here, there = (sum(sign[side] != 0 for sign in signs) for side in (0, 1))
    return sum(one * other for one, other in signs) / (here * there) ** 0.5 if here and there else None


def named(text: str) -> list[str]:
    return re.split(r", | and ", text)


class Rows:
    """A study's rows, and what follows from them by counting."""

    def __init__(self, study: Study) -> None:
        self.study, self.protocol = study, study.protocol
        every = Judgment.objects.filter(assignment__study=study, replaced_by=None)
        every = every.select_related("unit", "assignment", "assignment__worker").order_by("pk")
        self.gone = [row for row in every if row.assignment.state in GONE]
        self.rows = [row for row in every if row.assignment.state not in GONE]
        self.designed = study.source == "designed"
        self.threshold, self.least = design_of(study).controls.threshold, design_of(study).controls.least
        self.work = Assignment.objects.filter(study=study, state__in=FINISHED)
        self.people = sorted(set(self.work.values_list("worker__name", flat=True)))
        self.anonymous = self.work.filter(worker__anonymous=True).exists()
        self.seen: Counter[str] = Counter()
        self.right: Counter[str] = Counter()
        for row in self.rows:
            if row.unit.control:
                name = row.assignment.worker.name
                low, _, high = str(row.unit.expected).partition("-")
                self.seen[name] += 1
                self.right[name] += float(low) <= float(row.value or 0) <= float(high or low)
        self.below = {
            name
            for name, seen in self.seen.items()
            if self.designed and seen >= self.least and self.right[name] / seen < self.threshold
        }
        self.on_items = [row for row in self.rows if not row.unit.control]
        self.counted = [row for row in self.on_items if self.used(row)]
        self.units = {unit.pk: unit for unit in study.units.filter(control=False)}
        self.votes: defaultdict[int, list[tuple[str, float]]] = defaultdict(list)
        for row in self.counted:
            self.votes[row.unit_id].append((row.assignment.worker.name, float(row.value or 0)))

    @property
    def voters(self) -> set[str]:
        return {row.assignment.worker.name for row in self.counted}

    def used(self, row: Any) -> bool:
        return not row.set_aside and row.assignment.worker.name not in self.below

    @cached_property
    def aside(self) -> set[str]:
        by_person = defaultdict(list)
        for row in self.rows:
            by_person[row.assignment.worker.name].append(self.used(row))
        return {name for name, used in by_person.items() if not any(used)}

    @cached_property
    def consensus(self) -> dict[int, float | None]:
        outcome: dict[int, float | None] = {}
        for unit, votes in self.votes.items():
            values = [value for _, value in votes]
            if self.protocol in PAIRED:
                (first, most), *others = Counter(values).most_common()
                outcome[unit] = None if any(n == most for _, n in others) else first
            elif self.protocol == "relevance":
                outcome[unit] = float(3 * sum(values) >= 2 * len(values))
            else:
                outcome[unit] = mean(values)
        return outcome

    @property
    def decided(self) -> int:
        return sum(value is not None for value in self.consensus.values())

    @property
    def tied(self) -> int:
        return sum(value is None for value in self.consensus.values())

    @cached_property
    def pairs(self) -> dict[int, float | None]:
        """Pair -> its winner, 0 for a tie, None without a vote."""
        lead: dict[int, float | None] = dict.fromkeys(self.study.pairs.values_list("pk", flat=True))
        for unit, winner in self.consensus.items():
            pair = self.units[unit].pair_id
            if pair is not None:
                lead[pair] = (lead[pair] or 0) + {1.0: 1, 2.0: -1}.get(winner or 0, 0)
        return {pair: None if one is None else (one > 0) + 2 * (one < 0) for pair, one in lead.items()}

    @cached_property
    def pairable(self) -> dict[int, list[float]]:
        return {unit: [value for _, value in votes] for unit, votes in self.votes.items() if len(votes) > 1}

    @cached_property
    def alpha(self) -> float | None:
        """Krippendorff 2011, by every two values; choices between two texts in both orders."""
        far = (lambda a, b: (a - b) ** 2) if self.protocol in INTERVAL else (lambda a, b: float(a != b))
        units = list(self.pairable.values())
        if self.protocol in PAIRED:
            units += [list(map(mirrored, of_unit)) for of_unit in units]
        values = [value for of_unit in units for value in of_unit]
        expected = sum(far(a, b) for a, b in combinations(values, 2)) / max(len(values) - 1, 1)
        observed = sum(
            sum(far(a, b) for a, b in combinations(of_unit, 2)) / (len(of_unit) - 1) for of_unit in units
        )
        return 1 - observed / expected if expected else None

    @cached_property
    def scores(self) -> dict[str, dict[int, Any]]:
        """Metric -> pair or unit -> its scores, of the newest evaluation."""
        newest = Analysis.objects.newest(self.study, Analysis.What.META_EVALUATION)
        scores: dict[str, dict[int, Any]] = defaultdict(dict)
        for row in MetricScore.objects.filter(analysis=newest) if newest else ():
            scores[row.metric][row.pair_id or row.unit_id or 0] = (row.first, row.second)
        return scores

    def people_of(self, unit: int) -> float:
        return mean(value for _, value in self.votes[unit])

    def reached(self, metric: str) -> float | None:
        """A metric's accuracy, or its tau-b."""
        scores = self.scores[metric]
        if self.protocol in PAIRED:
            decided = [(scores[pair], winner) for pair, winner in self.pairs.items() if winner]
            right = [
                1 + (first < second) == winner and first != second for (first, second), winner in decided
            ]
            return mean(map(float, right)) if right else None
        return tau_b([first for first, _ in scores.values()], [self.people_of(unit) for unit in scores])

    @property
    def compared(self) -> int:
        return (
            sum(bool(w) for w in self.pairs.values())
            if self.protocol in PAIRED
            else len(self.scores[METRICS[0]])
        )

    @cached_property
    def systems(self) -> dict[str, list[float]]:
        """System -> what its comparisons or outputs came to."""
        of_text: defaultdict[tuple[int, int], list[str]] = defaultdict(list)
        for output in Output.objects.filter(item__dataset=self.study.dataset).select_related("system"):
            of_text[output.item_id, output.caption_id].append(output.system.name)
        came: defaultdict[str, list[float]] = defaultdict(list)
        for pair in self.study.pairs.all() if self.protocol in PAIRED else ():
            first, second = (
                of_text[pair.item_id, text] or ["people"] for text in (pair.first_id, pair.second_id)
            )
            if first != second and (winner := self.pairs[pair.pk]) is not None:
                came[first[0]].append({1: 1.0, 2: 0.0}.get(int(winner), 0.5))
                came[second[0]].append({1: 0.0, 2: 1.0}.get(int(winner), 0.5))
        for pk in self.votes if self.protocol not in PAIRED else ():
            for name in of_text[self.units[pk].item_id, self.units[pk].first_id or 0]:
                came[name].append(self.people_of(pk))
        return came


# Counts of people, answers and items


@says("Judgments: <n:N>[ of <wanted:N>]")
def _(rows: Rows, n: str, wanted: str | None) -> bool:
    sizes = [(hit, hit.places.count()) for hit in rows.study.hits.all()]
    whole = bool(sizes) and all(rows.work.filter(hit=hit).count() >= max(hit.required, 1) for hit, _ in sizes)
    asked = len(rows.rows) if whole else sum(hit.required * size for hit, size in sizes)
    return number(n) == len(rows.rows) and (wanted is None or number(wanted) == asked)


@says("Judgments> <n:N> pages of work submitted")
def _(rows: Rows, n: str) -> bool:
    return number(n) == rows.work.count()


@says("{Judgments> imported|Pages of work complete> imported judgments have none here}")
def _(rows: Rows) -> bool:
    return not rows.designed


@says("{Judgments|Pages of work complete}> the study is closed")
def _(rows: Rows) -> bool:
    return rows.study.state == "closed"


def complete(rows: Rows) -> int:
    return sum(0 < rows.work.filter(hit=hit).count() >= hit.required for hit in rows.study.hits.all())


@says("Pages of work complete: <done:N> of <all:N>")
def _(rows: Rows, done: str, all: str) -> bool:
    return number(done) == complete(rows) and number(all) == rows.study.hits.count()


@says("<n:N> of <wanted:N> judgments are in (<share:PC>); <done:N> of <pages:N> pages of work are complete.")
def _(rows: Rows, n: str, wanted: str, share: str, done: str, pages: str) -> bool:
    whole = number(done) == complete(rows) and number(pages) == rows.study.hits.count()
    return whole and number(n) == len(rows.rows) and number(share) == 100 * number(n) // number(wanted)


@says("No judgments yet. <wanted:N> are wanted on <pages:N> pages of work.")
def _(rows: Rows, wanted: str, pages: str) -> bool:
    return not rows.rows and number(pages) == rows.study.hits.count() and number(wanted) > 0


@says("Agreement: <value:CO> alpha, {nominal|interval}")
def _(rows: Rows, value: str) -> bool:
    return rows.alpha is not None and near(value, rows.alpha)


@says("Agreement> {95 % interval <ends:ENDS>|no interval}, n = <n:N> items")
def _(rows: Rows, ends: str | None, n: str) -> bool:
    return (
        number(n) == len(rows.pairable) and rows.alpha is not None and inside(ends or "undefined", rows.alpha)
    )


@says(
    "{Agreement> no item has two answers that count|No item has two judgments that count yet.|Agreement is measured "
    "once an item has two answers that count.|Agreement is not measured: no unit has two judgments.}"
)
def _(rows: Rows) -> bool:
    return not rows.pairable


@says(
    "[Agreement> ][Agreement is {undefined|not measured}: ]every judgment that can be compared has the "
    "same value[.]"
)
def _(rows: Rows) -> bool:
    return bool(rows.pairable) and rows.alpha is None


@says("Check questions: <share:PC> right")
def _(rows: Rows, share: str) -> bool:
    return near(share, rows.right.total() / rows.seen.total())


@says("Check questions> <right:N> of <seen:N> answers to check questions")
def _(rows: Rows, right: str, seen: str) -> bool:
    return (number(right), number(seen)) == (rows.right.total(), rows.seen.total())


@says("; <below:N> of <people:N> participants got less than <share:PC> right")
def _(rows: Rows, below: str, people: str, share: str) -> bool:
    low = sum(rows.right[name] / seen < rows.threshold for name, seen in rows.seen.items())
    return number(below) == low > 0 and number(people) == len(rows.seen) and near(share, rows.threshold)


@says("; <n:N> answers set aside")
def _(rows: Rows, n: str) -> bool:
    return number(n) == len(rows.on_items) - len(rows.counted) > 0


@says("Check questions> no answer to one counts[ yet]")
def _(rows: Rows) -> bool:
    return not rows.seen


@says("{Agreement|Check questions|Pages of work complete}: –")
def _(rows: Rows) -> bool:
    return True  # what stands below says why


@says("<n:N> of <all:N> answers (<share:PC>) are not used: ")
def _(rows: Rows, n: str, all: str, share: str) -> bool:
    gone = [row for row in rows.gone if not row.unit.control]
    unused = len(rows.on_items) - len(rows.counted) + len(gone)
    whole = len(rows.on_items) + len(gone)
    return number(n) == unused > 0 and number(all) == whole and near(share, unused / whole)


@says("[, and ]<n:N> participant{s|} answered too few check questions right (<answers:N>)[.]")
def _(rows: Rows, n: str, answers: str) -> bool:
    theirs = [row for row in rows.on_items if row.assignment.worker.name in rows.below]
    return number(answers) == len(theirs) and number(n) == len({row.assignment.worker_id for row in theirs})


@says("[, and ]<n:N> participant{ was|s were} excluded (<answers:N>)[.]")
def _(rows: Rows, n: str, answers: str) -> bool:
    theirs = [row for row in rows.gone if not row.unit.control]
    return number(answers) == len(theirs) and number(n) == len({row.assignment.worker_id for row in theirs})


@says("[, and ]the crowd or the source of the data does not confirm them (<answers:N>)[.]")
def _(rows: Rows, answers: str) -> bool:
    kept = [row for row in rows.on_items if row.assignment.worker.name not in rows.below]
    return number(answers) == sum(row.set_aside for row in kept)


@says("<n:N> of <all:N> items have a consensus.")
def _(rows: Rows, n: str, all: str) -> bool:
    return (number(n), number(all)) == (rows.decided, len(rows.units))


@says("Items with a consensus: <n:N> of <all:N>[; <tied:N> tied]")
def _(rows: Rows, n: str, all: str, tied: str | None) -> bool:
    return (number(n), number(all), number(tied or "0")) == (rows.decided, len(rows.units), rows.tied)


@says("Pairs with a winner: <n:N> of <all:N>[; <tied:N> tied]")
def _(rows: Rows, n: str, all: str, tied: str | None) -> bool:
    winners = list(rows.pairs.values())
    won = sum(bool(winner) for winner in winners)
    return (number(n), number(tied or "0")) == (won, winners.count(0)) and number(all) == len(winners)


@says("Judgments used: <n:N> on items[, besides <checks:N> on check questions]")
def _(rows: Rows, n: str, checks: str | None) -> bool:
    return (number(n), number(checks or "0")) == (len(rows.counted), rows.seen.total())


@says("Not used: <n:N>, kept and marked")
def _(rows: Rows, n: str) -> bool:
    gone = sum(not row.unit.control for row in rows.gone)
    return number(n) == len(rows.on_items) - len(rows.counted) + gone


@says("<n:N> participant{s|}; none of them answered a check question.")
def _(rows: Rows, n: str) -> bool:
    return number(n) == len(rows.people) and not rows.seen


@says(
    "<n:N> participant{s|}; of <seen:N> who answered check questions, <reached:N> got at least <share:PC> of them right."
)
def _(rows: Rows, n: str, seen: str, reached: str, share: str) -> bool:
    high = sum(rows.right[name] / of >= rows.threshold for name, of in rows.seen.items())
    counts = (number(n), number(seen), number(reached)) == (len(rows.people), len(rows.seen), high)
    return counts and near(share, rows.threshold)


@says("The judgments of <n:N> participant{s|} are set aside.")
def _(rows: Rows, n: str) -> bool:
    return number(n) == len(rows.aside) > 0


@says("The median participant takes <seconds:CO> s an item.")
def _(rows: Rows, seconds: str) -> bool:
    own = defaultdict(list)
    for row in rows.rows:
        if row.seconds is not None:
            own[row.assignment.worker.name].append(row.seconds)
    if len(own) < len(rows.people):  # of others the time between two pages stands for it
        return number(seconds) > 0
    return abs(number(seconds) - median(median(times) for times in own.values())) <= 0.051


# Agreement
KINDS.append("agreement")


@says(
    "Judges agree with alpha <value:CO> ({95 % interval <ends:ENDS>|no interval}, {nominal|interval}) on <n:N> items "
    "with two judgments or more; 0 is chance, 1 full agreement."
)
def _(rows: Rows, value: str, ends: str | None, n: str) -> bool:
    alpha = rows.alpha
    return (
        alpha is not None
        and near(value, alpha)
        and inside(ends or "undefined", alpha)
        and number(n) == len(rows.pairable)
    )


@says(
    "Judges agree with alpha <value:CO> ({nominal|interval} level[, 95 % interval <ends:ENDS>]) on <n:N> unit{s|}."
)
def _(rows: Rows, value: str, ends: str | None, n: str) -> bool:
    alpha = rows.alpha
    return (
        alpha is not None
        and near(value, alpha)
        and inside(ends or "undefined", alpha)
        and number(n) == len(rows.pairable)
    )


@says("Alpha <value:CO>[, 95 % interval <ends:ENDS>,] from <n:N> items with two judgments or more.")
def _(rows: Rows, value: str, ends: str | None, n: str) -> bool:
    alpha = rows.alpha
    return (
        alpha is not None
        and near(value, alpha)
        and inside(ends or "undefined", alpha)
        and number(n) == len(rows.pairable)
    )


@says("The interval is <width:CO> wide.")
def _(rows: Rows, width: str) -> bool:
    return number(width) >= 0.05


@says("More judgments will hardly move it.")
def _(rows: Rows) -> bool:
    return len(rows.pairable) > 1


@says("<kind:NAMES> pairs are clearest to them (<value:CO>).")
def _(rows: Rows, kind: str, value: str) -> bool:
    return kind in {unit.kind for unit in rows.units.values()} and number(value) <= 1


def items(rows: Rows, units: Any) -> set[int]:
    return {rows.units[unit].item_id for unit in units}


@says("{There is no interval: |Note: }there is 1 item, expected 2 or more to say what others would give.")
def _(rows: Rows) -> bool:
    return len(items(rows, rows.pairable)) == 1


@says("with 2 raters, expected 3 or more, the interval is for these raters alone")
def _(rows: Rows) -> bool:
    return len({name for votes in rows.votes.values() if len(votes) > 1 for name, _ in votes}) <= 2


@says("with 1 item, expected 2 or more, the interval is for this item alone")
def _(rows: Rows) -> bool:
    return len(items(rows, rows.pairable)) == 1


@says("with <n:N> item{s|}, expected <least:N> or more, the interval is for {this item|these items} alone")
def _(rows: Rows, n: str, least: str) -> bool:
    return number(n) == len(items(rows, rows.pairable)) < number(least)


@says(
    "Of the variance of answers <items:PC> lies between items, <people:PC> between people and <rest:PC> beyond both. "
    "The mean answer has a standard error of <now:CO>; it would be <a:CO> with twice as many items, <b:CO> with twice as "
    "many people, and <c:CO> with twice as many answers of these people on these items."
)
def _(rows: Rows, items: str, people: str, rest: str, now: str, **doubled: str) -> bool:
    whole = sum(number(share) for share in (items, people, rest))
    return 99 <= whole <= 101 and all(number(one) <= number(now) for one in doubled.values())


@says("Fleiss’ kappa is undefined: every judgment names the same category.")
def _(rows: Rows) -> bool:
    return len({value for values in rows.pairable.values() for value in values}) == 1


@says(
    "Fleiss’ kappa is undefined: units have different numbers of judgments, expected equally many (alpha takes any)."
)
def _(rows: Rows) -> bool:
    return len({len(values) for values in rows.pairable.values()}) > 1


@says("Fleiss’ kappa is undefined: there is 1 item, expected 2 or more to say what others would give.")
def _(rows: Rows) -> bool:
    return len(items(rows, rows.pairable)) == 1


@says(
    "No: on none of <n:N> judged items does a model that weighs participants by their accuracy come to another answer."
)
def _(rows: Rows, n: str) -> bool:
    return number(n) == len(rows.votes) > 0


@says(
    "On <differ:N> of <n:N> judged items a model that weighs participants by their accuracy comes to another answer than "
    "the consensus[, and it decides <ties:N> that are tied]."
)
def _(rows: Rows, differ: str, n: str, ties: str | None) -> bool:
    tied = rows.tied
    if rows.protocol == "relevance":  # the majority is two thirds, the tie of a model one half
        tied = len(rows.votes)
    return number(n) == len(rows.votes) and number(differ) <= rows.decided and number(ties or "0") <= tied


@says("Note: there is one worker, so nothing tells their errors from the truth.")
def _(rows: Rows) -> bool:
    return len({name for votes in rows.votes.values() for name, _ in votes}) == 1


@says("Note: no unit has two judgments, so {nothing|every} <why:WHY>.")
def _(rows: Rows, why: str) -> bool:
    return not rows.pairable


# Which metric, which system
KINDS.append("metrics and systems")


def settled(rows: Rows, leaders: str, rest: str | None, p: str | None) -> bool:
    """Whether the leaders have the highest value, the rest lower ones, and p says which of both."""
    values = {name: value for name in rows.scores if (value := rows.reached(name)) is not None}
    first = [name for name in values if name in named(leaders)]
    others = [name for name in values if name not in first]
    top = max(values.values())
    apart = p is None or (float(re.sub(r"[^\d.]", "", p)) <= 0.05) == bool(rest)
    behind = all(values[name] < top for name in others)
    return (
        bool(first)
        and any(values[name] == top for name in first)
        and behind
        and apart
        and bool(rest) == bool(others)
    )


def spread(text: str, values: list[float]) -> bool:
    """Whether a range, such as 50 to 100 %, is that of the values."""
    ends = text.removesuffix(" %").split(" to ")
    scale = 0.01 if "%" in text else 1
    return all(
        abs(scale * number(end) - value) <= 0.0051
        for end, value in zip((ends[0], ends[-1]), (min(values), max(values)), strict=True)
    )


PARTS["RANGE"] = r"-?[\d.]+(?: to -?[\d.]+)?(?: %)?"


@says(
    "No metric is ahead: <leaders:NAMES> cannot be told apart ([<p:P>, ]<tests:TESTS>), {naming people’s winner on "
    "<share:RANGE> of <n:N> pairs|with tau-b <tau:RANGE> over <m:N> captions}."
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
    values = [value for name in named(leaders) if (value := rows.reached(name)) is not None]
    return (
        spread(share or tau or "", values)
        and number(n or m or "0") == rows.compared
        and settled(rows, leaders, None, p)
    )


@says(
    "<leader:NAMES> is {ahead of <rest:NAMES> ([<p:P>, ]<tests:TESTS>)|the only metric[ that can be ranked]}: it {names "
    "people’s winner on <share:RANGE> of <n:N> pairs|orders <m:N> captions like people do with tau-b <tau:RANGE>} (95 % "
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
    value = rows.reached(leader)
    said = value is not None and spread(share or tau or "", [value]) and inside(ends, value)
    return said and number(n or m or "0") == rows.compared and settled(rows, leader, rest, p)


@says("Not ranked: <metrics:NAMES> (every caption has the same score by {the metric|people}).")
def _(rows: Rows, metrics: str) -> bool:
    return all(rows.reached(name) is None for name in named(metrics))


@says("No metric can be ranked against people: bleu-1 (<first:WHY>) and rouge-l (<second:WHY>).")
def _(rows: Rows, first: str, second: str) -> bool:
    alike = len({rows.people_of(unit) for unit in rows.scores[METRICS[0]]}) == 1
    for name, why in (("bleu-1", first), ("rouge-l", second)):
        same = len({one for one, _ in rows.scores[name].values()}) == 1
        if not {"every caption has the same score by the metric": same, "every caption has the same score by people": alike,
                "there are fewer than two observations": len(rows.scores[name]) < 2}[why]:  # fmt: skip
            return False
    return True


@says(
    "{None of these pairs has a winner yet, so no metric can be held against one.|Study 's-<n:N>' has no candidate pair with a consensus to hold a metric against.}"
)
def _(rows: Rows, n: str | None) -> bool:
    return not any(rows.pairs.values())


@says(
    "An item of study 's-<n:N>' has no reference captions to score against. Add references to dataset 'd-<m:N>', then compute again."
)
def _(rows: Rows, n: str, m: str) -> bool:
    return not rows.study.dataset.captions.filter(role="reference").exists()


@says(
    "Study 's-<n:N>' has no judged caption with references to hold a metric against.[ Add references to dataset 'd-<m:N>', then compute again.]"
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


@says("{Chance is 0; 1 is the same order.|0 is chance.}")
def _(rows: Rows) -> bool:
    return rows.protocol not in PAIRED


@says(
    "On random halves of the votes, half of the people name the other half{’|'}s winner on <people:PC> of the pairs, "
    "<leaders:NAMES> on <reached:RANGE>; answers can be expected to reach <most:PC> at most."
)
def _(rows: Rows, people: str, leaders: str, reached: str, most: str) -> bool:
    several = Counter(rows.units[unit].pair_id for unit in rows.votes)
    halved = any(n > 1 for n in several.values()) or bool(rows.pairable)
    return (
        halved
        and set(named(leaders)) <= set(METRICS)
        and number(people) <= 100 >= number(most) >= number(people)
    )


@says("Whoever names none is wrong; halves that are tied need not be named.")
def _(rows: Rows) -> bool:
    return True


@says("Intervals and tests are for other items, and for these people alone.")
def _(rows: Rows) -> bool:
    return rows.anonymous or len({name for votes in rows.votes.values() for name, _ in votes}) < 2


@says(
    "Within items: the mean over <n:RANGE> of <all:N> items; the others have no two captions that differ both for people and for the metric."
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
    first, others = named(leaders), named(rest) if rest else []
    top = max(figure_of(rows, name) for name in first)
    known = set(first) | set(others) == {name for name, came in rows.systems.items() if came}
    return known and len(first) + len(others) > 1 and all(figure_of(rows, name) <= top for name in others)


@says("The winner is <leader:NAMES>, ahead of <rest:NAMES> (<p:P>): ")
def _(rows: Rows, leader: str, rest: str, p: str) -> bool:
    return compared_systems(rows, leader, rest, p) and float(re.sub(r"[^\d.]", "", p)) <= 0.05


@says("No winner yet: <leaders:NAMES> cannot be told apart ({no p|<p:P>})[, with <rest:NAMES> behind]. Of ")
def _(rows: Rows, leaders: str, p: str | None, rest: str | None) -> bool:
    told = p is None or float(re.sub(r"[^\d.]", "", p)) > 0.05
    return told and compared_systems(rows, leaders, rest, p or "")


@says("<system:NAMES>: <value:PC> of <n:N> comparisons won, a tie half (95 % interval <ends:ENDS>).")
def _(rows: Rows, system: str, value: str, n: str, ends: str) -> bool:
    share = figure_of(rows, system)
    return near(value, share) and inside(ends, share) and number(n) == len(rows.systems[system])


@says("<system:NAMES>: {<yes:PC> yes|a mean of <value:CO>} for <n:N> outputs (95 % interval <ends:ENDS>).")
def _(rows: Rows, system: str, yes: str | None, value: str | None, n: str, ends: str) -> bool:
    found = figure_of(rows, system)
    return near(yes or value or "", found) and inside(ends, found) and number(n) == len(rows.systems[system])


@says("Their differences cannot be tested, so nobody can say how many items would settle it.")
def _(rows: Rows) -> bool:
    return True  # beside "no p", which is checked


@says("They look so alike that even 20 times as many items and people might not settle it.")
def _(rows: Rows) -> bool:
    return len(rows.systems) > 1 or len(rows.scores) > 1


LARGER = "would settle it in four of five studies, if they differ as it now looks."


@says(f"<n:N> new item{{s|}} {LARGER}")
def _(rows: Rows, n: str) -> bool:
    return 0 < number(n) <= 20 * rows.study.dataset.items.count()


@says(f"<n:N> new item{{s|}} and <more:N> more {{people|person}} {LARGER}")
def _(rows: Rows, n: str, more: str) -> bool:
    most = 19 * len(rows.voters)
    return 0 < number(n) <= 20 * rows.study.dataset.items.count() and 0 < number(more) <= most


@says("With the same <people:N> people {it takes <n:N> items|no number of items would}.")
def _(rows: Rows, people: str, n: str | None) -> bool:
    return 1 < number(people) <= len(rows.voters) and (n is None or number(n) > 0)


@says("One person’s answers do not say how many more would settle it.")
def _(rows: Rows) -> bool:
    return len(rows.voters) == 1


@says(
    "The dataset has <left:N> items that nobody was asked about, of <wanted:N> that are needed: add items to it first. d-<n:N>"
)
def _(rows: Rows, left: str, wanted: str, n: str) -> bool:
    asked = set(rows.study.units.filter(control=False).values_list("item_id", flat=True))
    return number(left) == rows.study.dataset.items.exclude(pk__in=asked).count() < number(wanted)


@says(
    "<share:PC> of <n:N> choices fell on the left (95 % interval <ends:ENDS>[, <p:P>]){; sides are drawn by lot, so 50 % is "
    "to be expected|}."
)
def _(rows: Rows, share: str, n: str, ends: str, p: str | None) -> bool:
    sided = [row for row in rows.counted if row.presented and row.value in (1, 2)]
    left = mean(row.presented == ("first-left" if row.value == 1 else "second-left") for row in sided)
    return number(n) == len(sided) and near(share, left) and inside(ends, left)


# The dashboard
KINDS.append("dashboard and notes")


@says("So far nothing can be said of sides.")
def _(rows: Rows) -> bool:
    return len({row.presented for row in rows.counted if row.value in (1, 2)}) < 2


@says("{No answer that counts is in yet.|No work that counts was submitted yet.}")
def _(rows: Rows) -> bool:
    return not rows.rows


@says("No judgment that counts is in yet.")
def _(rows: Rows) -> bool:
    return not rows.counted


@says("Nobody holds a page of work at the moment.")
def _(rows: Rows) -> bool:
    return not Assignment.objects.filter(study=rows.study, state="accepted").exists()


@says(
    "These answers come from the rehearsal crowd, not from people[: they show how the design works, and nothing about the texts]."
)
def _(rows: Rows) -> bool:
    return rows.study.simulated


@says(
    "The judges are anonymous places in published totals, or in a file that does not name them, not persons; nothing can be said about each of them."
)
def _(rows: Rows) -> bool:
    return rows.anonymous


@says(
    "HC: two right captions by people; HI: one of them belongs to another item; HM: one by a machine; MM: both by machines. Share of pairs on which metric and people name the same winner, with 95 % intervals; a metric's tie counts as wrong, <n:N> pairs without a consensus are left out; 50 % is chance."
)
def _(rows: Rows, n: str) -> bool:
    return number(n) == sum(not winner for winner in rows.pairs.values())


# The report
KINDS.append("collection, systems and ceilings of the report")


@says(
    "{Anonymous people|<people:N> {person|people}} gave <n:N> judgment{s|}; <decided:N> of <units:N> unit{s|} {has|have} a consensus."
)
def _(rows: Rows, people: str | None, n: str, decided: str, units: str) -> bool:
    who = rows.anonymous if people is None else number(people) == len(rows.people)
    return who and (number(n), number(decided), number(units)) == (
        len(rows.rows),
        rows.decided,
        len(rows.units),
    )


@says("There is no judgment that counts, so there is nothing to report.")
def _(rows: Rows) -> bool:
    return not rows.rows


@says(
    "<n:N> worker{s|} judged; <share:PC> of <seen:N> answers to control items are right, and the judgments of <aside:N> worker{s|} are set aside."
)
def _(rows: Rows, n: str, share: str, seen: str, aside: str) -> bool:
    counts = (number(n), number(seen), number(aside)) == (
        len(rows.people),
        rows.seen.total(),
        len(rows.aside),
    )
    return counts and near(share, rows.right.total() / rows.seen.total())


@says(
    "<n:N> worker{s|} judged; none of them answered a control item[, and the judgments of <aside:N> worker{s|} are set aside]."
)
def _(rows: Rows, n: str, aside: str | None) -> bool:
    return number(n) == len(rows.people) and not rows.seen and number(aside or "0") == len(rows.aside)


@says("{Guessing would get <share:PC>.|What guessing would reach is not known for this kind.}")
def _(rows: Rows, share: str | None) -> bool:
    return share is None or 0 < number(share) <= 50


def shared(rows: Rows) -> dict[tuple[str, str], list[bool]]:
    same = defaultdict(list)
    for votes in rows.votes.values():
        for (one, first), (other, second) in combinations(sorted(votes), 2):
            same[one, other].append(first == second)
    return same


@says(
    "<n:N> pair{ of workers shares|s of workers share} units; between the workers shown, the share of equal answers goes "
    "from <range:RANGE>. By chance it would be <chance:PC>; over all of them it is <all:PC>."
)
def _(rows: Rows, n: str, range: str, chance: str, all: str) -> bool:
    same = shared(rows)
    shares = [mean(map(float, own)) for own in same.values()]
    values = Counter(value for votes in rows.votes.values() for _, value in votes)
    if rows.protocol in PAIRED:
        values += Counter({mirrored(value): count for value, count in values.items()})
    alike = sum((count / values.total()) ** 2 for count in values.values())
    together = mean(float(one) for own in same.values() for one in own)
    return number(n) == len(same) and spread(range, shares) and near(chance, alike) and near(all, together)


@says(
    "No system is ahead of all others: <leaders:NAMES> share the top, winning <won:RANGE> of their comparisons by people's "
    "consensus, a tie half (t tests, Holm's correction); <n:N> systems met <times:N> time{s|}."
)
def _(rows: Rows, leaders: str, won: str, n: str, times: str) -> bool:
    shares = [figure_of(rows, name) for name in named(leaders)]
    met = sum(map(len, rows.systems.values())) / 2
    return spread(won, shares) and (number(n), number(times)) == (len(rows.systems), met)


@says(
    "<leader:NAMES> wins <won:PC> of its comparisons by people's consensus, a tie half[ (95 % interval <ends:ENDS>)]; "
    "<n:N> systems met <times:N> time{s|}."
)
def _(rows: Rows, leader: str, won: str, ends: str | None, n: str, times: str) -> bool:
    share = figure_of(rows, leader)
    met = sum(map(len, rows.systems.values())) / 2
    return (
        near(won, share)
        and inside(ends or "undefined", share)
        and (number(n), number(times)) == (len(rows.systems), met)
    )


@says("No ceiling is drawn: no captions that people wrote took part.")
def _(rows: Rows) -> bool:
    return not {"people", "human"} & set(rows.systems)


@says("Ceiling: captions that people wrote.")
def _(rows: Rows) -> bool:
    return "people" in rows.systems


@says(
    "Bradley-Terry log-strengths; a difference of 1 means that the stronger wins 73 % of the comparisons that one of them wins."
)
def _(rows: Rows) -> bool:
    return True  # 1 / (1 + exp(-1))


@says(
    "No ceiling is drawn: no pair has votes enough for two halves that name a winner, so what people reach is not known."
)
def _(rows: Rows) -> bool:
    units = Counter(rows.units[unit].pair_id for unit in rows.votes)
    return not rows.pairable or any(n > 1 for n in units.values())  # of several units, units are halved


@says("No ceiling is drawn: people choose between captions here, and score none.")
def _(rows: Rows) -> bool:
    return rows.protocol in PAIRED


def against_others(rows: Rows) -> tuple[list[float], list[float]]:
    answers, others = [], []
    for votes in rows.votes.values():
        for at, (_, value) in enumerate(votes if len(votes) > 1 else ()):
            answers.append(value)
            others.append(round(mean(other for place, (_, other) in enumerate(votes) if place != at), 9))
    return answers, others


@says(
    "No ceiling is drawn: what one judge reaches against the mean of the others is undefined, as too few have others, or "
    "all say the same."
)
def _(rows: Rows) -> bool:
    return rows.protocol not in PAIRED and (
        tau_b(*against_others(rows)) is None or rows.protocol in ("graded", "slider", "relevance")
    )


@says("One judge against the mean of the others reaches tau-b <tau:CO>;")
def _(rows: Rows, tau: str) -> bool:
    value = tau_b(*against_others(rows))
    return value is not None and near(tau, value)


@says(
    "{Kendall's tau-b|Spearman's rho|Pearson's r} between metrics, over all judged candidates; 0: unrelated."
)
def _(rows: Rows) -> bool:
    return True


@says("People: the mean of all judges.")
def _(rows: Rows) -> bool:
    return rows.protocol not in PAIRED


@says("One judge against the mean of the others reaches <value:CO>[ (95 % interval <ends:ENDS>)].")
def _(rows: Rows, value: str, ends: str | None) -> bool:
    return len(against_others(rows)[0]) > 1 and inside(ends or "undefined", number(value))


@says(
    "Each cut where it agrees best with people, metrics reach a kappa of <kappa:RANGE>; 0 is chance, 1 full agreement."
)
def _(rows: Rows, kappa: str) -> bool:
    return -1 <= number(kappa.split(" to ")[0]) <= number(kappa.split(" to ")[-1]) <= 1


@says("Kappa is undefined at every pair of thresholds.")
def _(rows: Rows) -> bool:
    return (
        len(rows.scores[METRICS[0]]) < 2
        or len({rows.people_of(unit) for unit in rows.scores[METRICS[0]]}) == 1
        or all(len({one for one, _ in scores.values()}) == 1 for scores in rows.scores.values())
    )


@says("One judge against the mean of the others, both cut alike, reaches <kappa:CO> at most.")
def _(rows: Rows, kappa: str) -> bool:
    return len(against_others(rows)[0]) > 1 and number(kappa) <= 1


def flat(rows: Rows, metric: str) -> list[float]:
    return [one for both in rows.scores[metric].values() for one in both if one is not None]


@says("bleu-1 and rouge-l order the <n:N> candidates most alike (tau-b <tau:CO>).")
def _(rows: Rows, n: str, tau: str) -> bool:
    first, second = (flat(rows, name) for name in METRICS)
    value = tau_b(first, second)
    return value is not None and near(tau, value) and number(n) == len(first)


@says("No two metrics can be correlated: all, or all but one, give every candidate the same score.")
def _(rows: Rows) -> bool:
    return any(len(set(flat(rows, name))) == 1 for name in METRICS)


def firsts(rows: Rows) -> dict[str, list[float]]:
    of_unit = {(unit.item_id, unit.first_id): pk for pk, unit in rows.units.items() if pk in rows.votes}
    found: dict[str, list[float]] = defaultdict(list)
    outputs = (
        Output.objects.filter(item__dataset=rows.study.dataset).select_related("system").order_by("-rank")
    )
    first = {(output.system.name, output.item_id): output.caption_id for output in outputs}
    for (system, item), text in first.items():
        if (item, text) in of_unit:
            found[system].append(rows.people_of(of_unit[item, text]))
    return found


def reach(values: list[float], cut: float) -> float:
    return mean(float(value >= cut - 1e-9) for value in values)


PARTS["CUT"] = r"[\d.]*\d"


@says(
    "{No system is ahead of all others: <leaders:NAMES> share the top, where <range:RANGE> of first captions reach a mean "
    "grade of <cut:CUT> (t tests of mean grades, Holm's correction).|<leader:NAMES> is highest: <share:PC> of its <n:N> "
    "first caption{s|} reach a mean grade of <at:CUT>.} Floor: a caption drawn at random from those judged for an item, "
    "<floor:PC>; ceiling: the best of them, <ceiling:PC>."
)
def _(
    rows: Rows,
    leaders: str | None,
    range: str | None,
    cut: str | None,
    leader: str | None,
    share: str | None,
    n: str | None,
    at: str | None,
    floor: str,
    ceiling: str,
) -> bool:
    reached = float(cut or at or "0")
    own = {name: reach(values, reached) for name, values in firsts(rows).items()}
    of_item = defaultdict(list)
    for unit in rows.votes:
        of_item[rows.units[unit].item_id].append(rows.people_of(unit))
    bounds = near(floor, mean(reach(values, reached) for values in of_item.values()))
    bounds &= near(ceiling, mean(reach([max(values)], reached) for values in of_item.values()))
    if leaders:
        return bounds and spread(range or "", [own[name] for name in named(leaders)])
    best = max(firsts(rows).items(), key=lambda row: mean(row[1]))
    return (
        bounds and best[0] == leader and near(share or "", own[best[0]]) and number(n or "") == len(best[1])
    )


@says("No system can be ranked: R-precision is undefined for all.")
def _(rows: Rows) -> bool:
    return rows.protocol not in PAIRED


@says(
    "{No system ranks best: <leaders:NAMES> share the top by R-precision, <range:RANGE> (t tests by item, Holm's correction)|<leader:NAMES> ranks best by R-precision: <share:PC>|Of <one:NAMES> alone R-precision is defined: <own:PC>}."
)
def _(
    rows: Rows,
    leaders: str | None,
    range: str | None,
    leader: str | None,
    share: str | None,
    one: str | None,
    own: str | None,
) -> bool:
    ranked = Analysis.objects.newest(rows.study, Analysis.What.AGGREGATION)
    assert ranked is not None
    cells = {row["system"]: row["R-precision"]["value"] for row in ranked.result["rankings"]["annotation"]}
    known = {name: value for name, value in cells.items() if value is not None}
    if one:
        return list(known) == [one] and near(own or "", known[one])
    if leader:
        return len(known) > 1 and known[leader] == max(known.values()) and near(share or "", known[leader])
    return spread(range or "", [known[name] for name in named(leaders or "")]) and len(known) > 1


# Texts that define a term, and say nothing of this study
KINDS.append("definitions")
DEFINITIONS = (
    "They are kept, and marked in exports.", "Participants below the share .", "Excluded participants .",
    "All pages that were taken", "None.", "Consensus of each item",
    "At best: if all that nobody judged were relevant.",
    "Over the captions that have a consensus and references, with 95 % intervals.",
    "Dawid and Skene (1979) weigh each participant by the accuracy that the answers themselves suggest. The consensus stays the rule’s.",
    "Percent agreement takes no chance off, Fleiss’ kappa counts each disagreement alike, and Gwet’s AC has identity weights.",
    "Percent agreement takes no chance off, Fleiss’ kappa counts each disagreement alike, and Gwet’s AC has quadratic weights.",
    "S@k: how often a caption that people find relevant is among the first k.",
    "R-precision: the share of relevant ones among the first r, where r are known. Of queries with something relevant, with 95 % intervals.",
    "What people say of the judged captions of each system, wherever it ranked them, with 95 % intervals from resampled items.",
    "Money: 0.00 USD for approved work", "Money> no budget is kept for people of this site",
    "What each metric would have been after fewer judgments, in the order they came in. Lines that run level say that more judgments change little.",
    "The page Results holds them against the scores of captions.", "Settled:", "Not settled:", "The model did not converge: take this with care.",
)  # fmt: skip
for text in DEFINITIONS:
    CHECKS.append((re.compile(re.escape(text)), lambda rows: True, KINDS[-1]))
CHECKS.append((re.compile(r"Figures as of [^;]+; counters as of now\."), lambda rows: True, KINDS[-1]))
CHECKS.append((re.compile(r"Answers are on the scale .*"), lambda rows: True, KINDS[-1]))


def plain(markup: str) -> str:
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", markup))).strip().replace(" ;", ";")


def texts_of_page(content: str) -> Iterator[str]:
    """Yield what a page says: its paragraphs, and its facts behind their names."""
    found = re.search(r"<main.*</main>", content, re.S)
    assert found is not None
    main = re.sub(
        r"<(script|style|svg|form|nav|table|code|header|h3|h4|details)\b.*?</\1>", " ", found[0], flags=re.S
    )
    for name, fact, about in re.findall(
        r"<div><span>(.*?)</span>\s*(?:<b.*?>(.*?)</b>)?(.*?)</div>", main, re.S
    ):
        yield f"{plain(name)}: {plain(fact)}"
        yield from (f"{plain(name)}> {plain(text)}" for text in re.findall(r"<em>(.*?)</em>", about, re.S))
    for name, fact in re.findall(r"<dt>(.*?)</dt>\s*<dd>(.*?)</dd>", main, re.S):
        yield f"{plain(name)}: {plain(fact)}"
    yield from map(plain, re.findall(r"<(?:p|li)\b[^>]*>(.*?)</(?:p|li)>", main, re.S))


def texts_of_section(section: Section) -> Iterator[str]:
    yield from section.shown_sentences
    yield from (plot.sentence for plot in section.plots)


def checked(text: str, rows: Rows) -> Iterator[tuple[str, str, bool]]:
    """Yield each sentence of a text, what kind it is, and whether it is true. Raise for one that no pattern matches."""
    rest = text.replace("\N{NO-BREAK SPACE}", " ").strip()
    while rest:
        matches = [(match, claim, kind) for pattern, claim, kind in CHECKS if (match := pattern.match(rest))]
        if not matches:
            raise AssertionError(f"no checker knows what this says: {rest!r} (of {text!r})")
        match, claim, kind = max(matches, key=lambda one: one[0].end())
        assert match.end()
        yield match[0], kind, bool(claim(rows, **match.groupdict()))
        rest = rest[match.end() :].lstrip()


def said_of(study: Study, designer: Client) -> Iterator[tuple[str, str]]:
    """Yield where something is said, and what."""
    for text in texts_of_page(designer.get(page(study, "results")).content.decode()):
        yield "results", text
    if has_dashboard(study):
        store_snapshot(compute_snapshot(study=study))
        for text in texts_of_page(designer.get(page(study, "board")).content.decode()):
            yield "dashboard", text
    for section in build_report(study, metrics=[]).sections:
        for text in texts_of_section(section):
            yield "report", text


def check_study(seed: int, designer: Client, folder: Path) -> tuple[Counter[str], list[str]]:
    """Return how many sentences of each door and kind were checked, and those that are false."""
    study = drawn_study(seed, folder)
    aggregate_study(study=study)
    with suppress(EvaluationError):
        evaluate_study(study=study, metrics=METRICS)
    rows, counts, wrong = Rows(study), Counter[str](), []
    for door, text in said_of(study, designer):
        for sentence, kind, true in checked(text, rows):
            counts.update((f"on {door}", kind))
            if not true:
                wrong.append(f"study {seed} ({study.protocol}, {study.source}), {door}: {sentence}")
    return counts, wrong
