"""The rows of a study, and counts and figures of them, in plain code that uses no function of the platform."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import cached_property
from itertools import combinations
from statistics import mean
from typing import Any

from annotation.models import Assignment, Judgment
from benchmarks.claims.correlations import tau_b
from benchmarks.claims.spreads import Open
from evaluation.models import Analysis, MetricScore
from judgments.models import Output, Study
from judgments.studies.designs import design_of

METRICS = ["bleu-1", "rouge-l"]
FINISHED, GONE = ("submitted", "approved", "rejected"), ("invalidated", "apart")
PAIRED, INTERVAL = ("pairwise", "triplet"), ("graded", "slider")
CHOICES = {"slider": range(101), "graded": range(1, 5), "relevance": (0, 1), **dict.fromkeys(PAIRED, (1, 2))}


def mirrored_choice(value: float) -> float:
    """Return the choice of one of two texts that means the same if the texts are exchanged."""
    return 3 - value if value in (1, 2) else value


class Rows:
    """The rows of a study, and counts and figures of them.

    `open` has the open comparisons of the last verdict that was checked.
    """

    open: Open

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
        self.guessed: list[float] = []  # for each answer to a control item, the chance that a guess is right
        for row in self.rows:
            if row.unit.control:
                name = row.assignment.worker.name
                low, _, high = str(row.unit.expected).partition("-")
                self.seen[name] += 1
                self.right[name] += float(low) <= float(row.value or 0) <= float(high or low)
                choices = CHOICES[self.protocol]
                self.guessed.append(mean(float(low) <= choice <= float(high or low) for choice in choices))
        self.below = {
            name
            for name, seen in self.seen.items()
            if self.designed and seen >= self.least and self.right[name] / seen < self.threshold
        }
        self.on_items = [row for row in self.rows if not row.unit.control]
        self.counted = [row for row in self.on_items if self.is_used(row)]
        self.units = {unit.pk: unit for unit in study.units.filter(control=False)}
        self.votes: defaultdict[int, list[tuple[str, float]]] = defaultdict(list)
        for row in self.counted:
            self.votes[row.unit_id].append((row.assignment.worker.name, float(row.value or 0)))

    @property
    def voters(self) -> set[str]:
        return {row.assignment.worker.name for row in self.counted}

    def is_used(self, row: Any) -> bool:
        return not row.set_aside and row.assignment.worker.name not in self.below

    @cached_property
    def unused_people(self) -> set[str]:
        by_person = defaultdict(list)
        for row in self.rows:
            by_person[row.assignment.worker.name].append(self.is_used(row))
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
    def decided_count(self) -> int:
        return sum(value is not None for value in self.consensus.values())

    @property
    def tie_count(self) -> int:
        return sum(value is None for value in self.consensus.values())

    @cached_property
    def pairs(self) -> dict[int, float | None]:
        """The winner of each pair: 1, 2, 0 for a tie, or None without votes."""
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
        return self.alpha_of(self.pairable)

    def alpha_of(self, of: Iterable[int]) -> float | None:
        """Return Krippendorff's alpha (2011) of the units `of`, computed from every two values.

        Choices between two texts count in both orders. Return None if alpha is undefined.
        """
        far = (lambda a, b: (a - b) ** 2) if self.protocol in INTERVAL else (lambda a, b: float(a != b))
        units = [self.pairable[unit] for unit in of]
        if self.protocol in PAIRED:
            units += [list(map(mirrored_choice, of_unit)) for of_unit in units]
        values = [value for of_unit in units for value in of_unit]
        expected = sum(far(a, b) for a, b in combinations(values, 2)) / max(len(values) - 1, 1)
        observed = sum(
            sum(far(a, b) for a, b in combinations(of_unit, 2)) / (len(of_unit) - 1) for of_unit in units
        )
        return 1 - observed / expected if expected else None

    @cached_property
    def scores(self) -> dict[str, dict[int, Any]]:
        """The scores of the newest evaluation, by metric and by pair or unit."""
        newest = Analysis.objects.newest(self.study, Analysis.Kind.META_EVALUATION)
        scores: dict[str, dict[int, Any]] = defaultdict(dict)
        for row in MetricScore.objects.filter(analysis=newest) if newest else ():
            scores[row.metric][row.pair_id or row.unit_id or 0] = (row.first, row.second)
        return scores

    def people_of(self, unit: int) -> float:
        return mean(value for _, value in self.votes[unit])

    def accuracy_of(self, metric: str) -> float | None:
        """Return a metric's accuracy on pairs, or its tau-b with people on captions."""
        scores = self.scores[metric]
        if self.protocol in PAIRED:
            decided = [(scores[pair], winner) for pair, winner in self.pairs.items() if winner]
            right = [
                1 + (first < second) == winner and first != second for (first, second), winner in decided
            ]
            return mean(map(float, right)) if right else None
        return tau_b([first for first, _ in scores.values()], [self.people_of(unit) for unit in scores])

    @property
    def comparison_count(self) -> int:
        return (
            sum(bool(w) for w in self.pairs.values())
            if self.protocol in PAIRED
            else len(self.scores[METRICS[0]])
        )

    @cached_property
    def credited_systems(self) -> dict[tuple[int, int], list[str]]:
        """The names of the systems that gave a text for an item, by (item, text)."""
        of_text: defaultdict[tuple[int, int], list[str]] = defaultdict(list)
        for output in Output.objects.filter(item__dataset=self.study.dataset).select_related("system"):
            of_text[output.item_id, output.caption_id].append(output.system.name)
        return of_text

    @cached_property
    def systems_of_pairs(self) -> dict[int, tuple[str, str]]:
        """The names of the systems of both texts of each judged pair. A text without a system has "people"."""
        found = {}
        for pair in self.study.pairs.all():
            first, second = (
                self.credited_systems.get((pair.item_id, text or 0)) or ["people"]
                for text in (pair.first_id, pair.second_id)
            )
            if first != second and self.pairs[pair.pk] is not None:
                found[pair.pk] = first[0], second[0]
        return found

    @cached_property
    def outputs(self) -> dict[str, list[int]]:
        """The units that judge outputs of a system, by system."""
        units_by_system: defaultdict[str, list[int]] = defaultdict(list)
        for pk in self.votes:
            for name in self.credited_systems.get((self.units[pk].item_id, self.units[pk].first_id or 0), ()):
                units_by_system[name].append(pk)
        return units_by_system

    @cached_property
    def systems(self) -> dict[str, list[float]]:
        """For each system, the credits of its comparisons (1, 0.5 or 0), or the mean answers to its outputs."""
        if self.protocol not in PAIRED:
            return {name: [self.people_of(unit) for unit in units] for name, units in self.outputs.items()}
        credits: defaultdict[str, list[float]] = defaultdict(list)
        for pair, (first, second) in self.systems_of_pairs.items():
            credits[first].append({1: 1.0, 2: 0.0}.get(int(self.pairs[pair] or 0), 0.5))
            credits[second].append({1: 0.0, 2: 1.0}.get(int(self.pairs[pair] or 0), 0.5))
        return credits


def items(rows: Rows, units: Any) -> set[int]:
    return {rows.units[unit].item_id for unit in units}
