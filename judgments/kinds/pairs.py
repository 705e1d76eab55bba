"""The base of triplet and pairwise: choose one of two candidates.

The choice is forced, as in the papers, unless the design allows more (``answers``): no difference, neither, how
much better, how sure. Their numbers are those of evaluation.statistics.aggregation.voting.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext_lazy as _

from evaluation.statistics.aggregation import majority_vote
from evaluation.statistics.aggregation.voting import (
    CONFIDENCES,
    FIRST,
    MUCH,
    NEITHER,
    NO_DIFFERENCE,
    SECOND,
    SURE,
    sides_of,
)
from evaluation.statistics.sequential import majority_range, plurality_range
from judgments.drawing.controls import (
    DEGRADED,
    KNOWN_GOOD,
    REFERENCE,
    Known,
    Makers,
    check_split,
    degraded_text,
    divide_images,
    foreign_captions,
    known_items,
    known_problem,
)
from judgments.drawing.material import (
    LARGEST_PAGE,
    Batch,
    Group,
    Image,
    Material,
    Pair,
    Text,
    UnitSpec,
    balanced_sides,
    rng_for,
    shuffled,
)
from judgments.drawing.packing import hits_with_an_image_twice
from judgments.drawing.pairing import count_pairs, draw_pairs, pairs_left_out, system_names
from judgments.kinds.base import (
    Aggregation,
    Answers,
    Choice,
    ChoiceKind,
    ChoiceRehearsal,
    ConsensusColumns,
    Kind,
    Sides,
    Units,
    with_wording,
)

if TYPE_CHECKING:
    from judgments.design.study_design import StudyDesign

NOTES = {
    "pairs_of_equal_texts_left_out": "Published pairs of two equal texts, left out: {}.",
    "repeated_pairs_left_out": "Published pairs that compare the texts of another one again, left out: {}.",
    "pairs_short_of_references": "Pairs passed over, as they have fewer references than asked for: {}.",
    "hits_with_an_image_twice": "HITs that ask about an image more than once, as too few other images are left: {}.",
}
# The answers of a design besides the two sides, in the order of its keys.
MORE = ("no_difference", "neither", "strength", "confidence")
NO_DIFFERENCE_CHOICE = Choice(NO_DIFFERENCE, gettext_noop("No difference"), "0")
NEITHER_CHOICE = Choice(NEITHER, gettext_noop("Neither of the two"), "5")
SLIGHTLY, BY_FAR = gettext_noop("%(letter)s, slightly"), gettext_noop("%(letter)s, by far")
HOW_SURE = (
    Choice(100, gettext_noop("A guess"), "7"),
    Choice(200, gettext_noop("Fairly sure"), "8"),
    Choice(300, gettext_noop("Certain"), "9"),
)
EVERY_PAIR = 2**31 - 1
TIES = 0.4  # nu of Davidson's model, by which simulated people see no difference


def arena_pool(
    pairs: Sequence[Pair], groups: Sequence[Group], rng: np.random.Generator
) -> tuple[UnitSpec, ...]:
    """Return the units of an arena, grouped by the two systems' names."""
    cell = {pair.key: system_names(pair) for pair in pairs}
    units = [unit for group in shuffled(groups, rng) for unit in group.units]
    return tuple(sorted(units, key=lambda unit: cell[unit.pair]))


# side, or how much better it is, and how sure the answer is
ALL_ANSWERS = tuple(
    SURE * sure + side
    for sure in (0, *CONFIDENCES)
    for side in (FIRST, SECOND, NO_DIFFERENCE, NEITHER, MUCH + FIRST, MUCH + SECOND)
)


class TwoSides(Sides):
    """Whether the second candidate is shown first; balanced to within one."""

    def draw(self, units: Sequence[Any], rng: np.random.Generator) -> list[bool]:
        return balanced_sides(len(units), rng)

    def mirror(self, side: Any) -> bool:
        return not side

    def to_canonical(self, given: int, *, side: Any) -> int:
        """Exchange first and second; keep the strength and the other answers."""
        answered = given % MUCH
        return given + FIRST + SECOND - 2 * answered if side and answered in (FIRST, SECOND) else given

    def from_canonical(self, given: int, *, side: Any) -> int:
        return self.to_canonical(given, side=side)


class Majority(Aggregation):
    """The majority of sides with explicit ties (V15 §3), whatever the strength.

    "No difference" (0) and "neither" (3) can win; that is no tie of votes, but decides nothing.
    """

    rule = "majority"
    tie_rule = "set-aside"
    settles = True

    def __init__(self, labels: Sequence[int] = (FIRST, SECOND)) -> None:
        self._labels = labels

    def consensus(self, units: Units, values: Answers) -> ConsensusColumns:
        votes = majority_vote(units, sides_of(values), labels=self._labels)
        value = np.array([*self._labels, np.nan])[votes.winner]
        return ConsensusColumns(
            unit=votes.units,
            n=votes.n,
            value=value,
            share=votes.share,
            margin=votes.margin,
            tie=votes.tie,
            votes=votes.counts,
            answers=tuple(map(str, self._labels)),
            whole=True,
        )

    def outcome_range(self, values: Sequence[int], remaining: int) -> tuple[int, int]:
        counts = Counter(value % MUCH for value in values)
        if len(self._labels) == 2:
            return majority_range(counts[FIRST], counts[SECOND], remaining)
        others = max(counts[label] for label in self._labels if label not in (FIRST, SECOND))
        return plurality_range(counts[FIRST], counts[SECOND], others, remaining)


def leaning(qualities: Sequence[float]) -> list[float]:
    """Return a logistic curve of the difference; 0.95 for a reference against another image's caption."""
    first = 1 / (1 + math.exp(qualities[1] - qualities[0]))
    return [first, 1 - first]


def is_same_side(given: Any, expected: Any) -> bool:
    """Compare the sides of two answers; an imported expectation may be no number."""
    return isinstance(expected, int) and isinstance(given, int) and given % MUCH == expected % MUCH


@dataclass(frozen=True, slots=True)
class PairLeaning:
    """Probabilities of a design's answers (Davidson's model; strength follows the difference)."""

    values: Sequence[int]

    def __call__(self, qualities: Sequence[float]) -> list[float]:
        difference = qualities[0] - qualities[1]
        weights = [self._weight(value % SURE, difference) for value in self.values]
        return [weight / sum(weights) for weight in weights]

    @staticmethod
    def _weight(answer: int, difference: float) -> float:
        if answer in (NO_DIFFERENCE, NEITHER):
            return TIES if answer == NO_DIFFERENCE else TIES / 4
        sign = 1 if answer % MUCH == FIRST else -1
        return math.exp(sign * difference * (1 if answer >= MUCH else 0.5))


class PairKind(ChoiceKind):
    """Choose the first candidate (1) or the second (2)."""

    values: tuple[int, ...] = (FIRST, SECOND)
    two_sided = True
    compares_pairs = True
    choices: tuple[Choice, ...] = (Choice(FIRST, "B", "1"), Choice(SECOND, "C", "2"))
    sides = TwoSides()
    aggregation = Majority()
    rehearsal = ChoiceRehearsal((FIRST, SECOND), leaning, is_same_side)
    own_keys = (*(f"answers.{name}" for name in MORE), "arena.pages", "arena.even")
    control_references: ClassVar[int] = 1
    more: tuple[str, ...] = ()

    @abstractmethod
    def units_of(self, pair: Pair, seed: int, texts: dict[str, Text]) -> list[UnitSpec]:
        pass

    def control_reference(self, image: Image, own: Text, rng: np.random.Generator) -> Text | None:
        """Return sentence A of a control item, for kinds that show one."""
        return None

    def worded(self, design: StudyDesign) -> PairKind:
        found = with_wording(self, design.judged, design.labels)
        assert isinstance(found, PairKind)
        return found

    def for_design(self, design: StudyDesign) -> Kind:
        return self.worded(design).with_setting(self.setting(design))

    def setting(self, design: StudyDesign) -> str:
        return ",".join(name for name in MORE if getattr(design.answers, name))

    def setting_with(self, before: str | None, given: Any) -> str:
        if given not in ALL_ANSWERS or type(given) is not int:
            raise ValueError("expected an answer to a pair (docs/ties.md)")
        side, known = given % MUCH, (before or "").split(",")
        needs = (side == NO_DIFFERENCE, side == NEITHER, given % SURE >= MUCH, given >= SURE)
        if before is not None and ("confidence" in before) != (given >= SURE):
            raise ValueError("other answers say how sure they are, or do not; expected it of all, or of none")
        return ",".join(name for name, is_new in zip(MORE, needs, strict=True) if is_new or name in known)

    def tables_of_setting(self, setting: str) -> dict[str, dict[str, Any]]:
        return {"answers": dict.fromkeys(setting.split(","), True)} if setting else {}

    def with_setting(self, setting: str) -> Kind:
        if not setting:
            return self
        own = copy(self)
        own.more = tuple(setting.split(","))
        own.choices = tuple(self._choices(own.more))
        own.confidences = HOW_SURE if "confidence" in own.more else ()
        sure = CONFIDENCES if own.confidences else (0,)
        own.values = tuple(SURE * level + choice.value for choice in own.choices for level in sure)
        own.aggregation = Majority(own.outcomes)
        own.rehearsal = ChoiceRehearsal(own.values, PairLeaning(own.values), is_same_side)
        keys = tuple(choice.key for choice in own.choices)
        letters = () if "strength" in own.more else tuple(choice.letter for choice in self.choices)
        of_confidence = ((tuple(choice.key for choice in own.confidences), _("how sure you are")),)
        own.page = replace(
            self.page, keys=(((*keys, *letters), _("answer")), *(of_confidence if own.confidences else ()))
        )
        return own

    def _choices(self, more: Sequence[str]) -> list[Choice]:
        first, second = self.choices
        between = [
            choice
            for name, choice in (("no_difference", NO_DIFFERENCE_CHOICE), ("neither", NEITHER_CHOICE))
            if name in more
        ]
        if "strength" not in more:
            return [first, *between, second]
        return [
            Choice(MUCH + FIRST, BY_FAR, "1", first.letter),
            Choice(FIRST, SLIGHTLY, "2", first.letter),
            *between,
            Choice(SECOND, SLIGHTLY, "3", second.letter),
            Choice(MUCH + SECOND, BY_FAR, "4", second.letter),
        ]

    @property
    def outcomes(self) -> tuple[int, ...]:
        return tuple(sorted({choice.value % MUCH for choice in self.choices}, key=(1, 2, 0, 3).index))

    @property
    def sides_apart(self) -> bool:
        """Whether the two texts are choices themselves; a row below holds the others."""
        return "strength" not in self.more

    @property
    def between(self) -> list[Choice]:
        return [choice for choice in self.choices if choice.value in (NO_DIFFERENCE, NEITHER)]

    @property
    def ends(self) -> tuple[Choice, Choice]:
        return self.choices[0], self.choices[-1]

    def read_form(self, form: Mapping[str, Any], position: int, unit: Any) -> Any:
        """Read ``u<position>``, and the confidence from ``v<position>``.

        An answer without confidence is kept for the worker; ``clean_answer`` refuses it.
        """
        answer = super().read_form(form, position, unit)
        if not self.confidences or answer is None:
            return answer
        sure = next((one.value for one in self.confidences if form.get(f"v{position}") == str(one.value)), 0)
        return answer + sure if isinstance(answer, int) else answer

    def in_words(self, given: Any) -> str:
        if not isinstance(given, int) or given < SURE:
            return super().in_words(given)
        sure = next(one.words for one in HOW_SURE if one.value == given // SURE * SURE)
        return gettext("%(answer)s (%(confidence)s)") % {
            "answer": super().in_words(given % SURE),
            "confidence": sure,
        }

    def is_right(self, given: Any, expected: Any) -> bool:
        """Compare sides; strength and confidence are opinions."""
        return is_same_side(given, expected)

    def outcome_of(self, given: int) -> int:
        return given % MUCH

    def expected_on_repeat(self, given: int) -> int:
        """Expect the same side, however strongly."""
        return self.outcome_of(given)

    @property
    def expectations(self) -> tuple[Any, ...]:
        return self.outcomes

    def draw_batch(self, design: StudyDesign, material: Material) -> Batch:
        check_split(design, material)
        division = divide_images(design, material)
        wanted = {str(kind): count for kind, count in design.sampling.pairs.items()}
        drawing: dict[str, Any] = {
            "references": design.sampling.references,
            "source": design.sampling.source,
            "seed": design.seed,
        }
        if design.arena.pages and not wanted:
            wanted = count_pairs(material, division.judged, wanted={"MM": EVERY_PAIR}, **drawing)
        drawn = draw_pairs(material, division.judged, wanted=wanted, only=design.sampling.only, **drawing)
        pairs = drawn.pairs
        texts = {text.key: text for image in division.judged for text in image.references}
        groups = [
            Group(pair.image, (unit,)) for pair in pairs for unit in self.units_of(pair, design.seed, texts)
        ]
        hits = self.hits(
            design,
            groups,
            control_images=division.controls,
            known=known_items(design.controls.known, material),
        )
        notes: dict[str, Any] = {}
        if not design.sampling.only:
            notes |= pairs_left_out(material, division.judged, wanted=wanted, drawn=pairs)
        if drawn.passed_over:
            notes["pairs_short_of_references"] = drawn.passed_over
        repeating = hits_with_an_image_twice(hits)
        if repeating:
            notes["hits_with_an_image_twice"] = repeating
        pool: tuple[UnitSpec, ...] = ()
        if design.arena.pages:
            pool = arena_pool(pairs, groups, rng_for(design.seed, "arena"))
            notes[LARGEST_PAGE] = self.hit_size(design)
        sentences = [words.format(notes[name]) for name, words in NOTES.items() if name in notes]
        return Batch(
            hits=hits,
            pairs=tuple(pairs),
            notes=notes | ({"sentences": sentences} if sentences else {}),
            pool=pool,
        )

    def control_items(self, design: StudyDesign) -> Makers:
        return Makers(
            reference=partial(self._reference_control, design.seed),
            degraded=partial(self._degraded_control, design.seed),
            known=partial(self._known_control, design.seed),
            least_references=self.control_references,
        )

    def _reference_control(
        self, seed: int, place: str, image: Image, images: Sequence[Image], rng: np.random.Generator
    ) -> Group:
        own = image.references[int(rng.integers(len(image.references)))]
        reference = self.control_reference(image, own, rng)
        foreign = foreign_captions(image, images, 1, rng)[0]
        expected = int(rng.integers(1, 3))
        first, second = (own, foreign) if expected == 1 else (foreign, own)
        return self._control(seed, place, image, (reference, first, second), expected, REFERENCE)

    def _degraded_control(
        self, seed: int, place: str, image: Image, images: Sequence[Image], rng: np.random.Generator
    ) -> Group | None:
        for own in shuffled(image.references, rng):
            damaged = degraded_text(own, image, images, rng, whole=False)
            if damaged is not None:
                reference = self.control_reference(image, own, rng)
                expected = int(rng.integers(1, 3))
                first, second = (own, damaged) if expected == 1 else (damaged, own)
                return self._control(seed, place, image, (reference, first, second), expected, DEGRADED)
        return None

    def _known_control(
        self,
        seed: int,
        place: str,
        items: Sequence[Known],
        images: Sequence[Image],
        rng: np.random.Generator,
    ) -> Group:
        (item,) = items
        if item.first is None or item.second is None or item.first.text == item.second.text:
            raise known_problem(item, "needs two different texts, first and second")
        if self.control_references > 1 and item.reference is None:
            raise known_problem(item, "needs sentence A under reference")
        if item.expected not in self.outcomes:
            words = {FIRST: "first", SECOND: "second", NO_DIFFERENCE: "no difference", NEITHER: "neither"}
            listed = " and ".join(f"{one} is {words[one]}" for one in self.outcomes)
            raise known_problem(item, f"expects {item.expected!r}; {listed}")
        expected = int(rng.integers(1, 3))
        without_side = item.expected in (NO_DIFFERENCE, NEITHER)
        in_order = expected == (FIRST if without_side else item.expected)
        first, second = (item.first, item.second) if in_order else (item.second, item.first)
        if without_side:
            expected = int(item.expected)
        reference = item.reference if self.control_references > 1 else None
        return self._control(seed, place, item.image, (reference, first, second), expected, KNOWN_GOOD)

    def _control(
        self,
        seed: int,
        place: str,
        image: Image,
        texts: tuple[Text | None, Text, Text],
        expected: int,
        control_kind: str,
    ) -> Group:
        reference, first, second = texts
        keys = (reference.key if reference else None, first.key, second.key)
        shown = {"reference": reference, "first": first, "second": second}
        unit = self.control_unit(seed, place, image, keys, expected, control_kind, **shown)
        return Group(image.name, (unit,))
