"""The kinds in which workers choose one of two candidates, and their base class.

Triplet (V15 §3) asks which of B and C is more similar to A, without an image. Pairwise (V15 App. I) asks which
candidate describes the image better. The choice is forced, as in the papers, unless ``answers`` of the design allows
more: no difference, neither, strength, or confidence. quorum.statistics.aggregation.pair_answers has the numbers of
these answers.
"""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext_lazy as _

from judgments.design.wordings import CAPTION, WORDINGS
from judgments.drawing.controls.captions import degraded_text, foreign_captions
from judgments.drawing.controls.makers import (
    DEGRADED,
    KNOWN_GOOD,
    REFERENCE,
    ControlSlot,
    Known,
    Makers,
    known_items,
    known_problem,
)
from judgments.drawing.controls.splits import check_split, divide_images
from judgments.drawing.draws import balanced_sides, rng_for, shuffle
from judgments.drawing.hits import hits_with_an_image_twice
from judgments.drawing.keys import content_key, content_keys
from judgments.drawing.material import LARGEST_PAGE, Batch, Group, Image, Material, Pair, Text, UnitSpec
from judgments.drawing.pairs.drawing import count_pairs, draw_pairs, system_names
from judgments.drawing.pairs.published import pairs_left_out
from judgments.kinds.base import (
    Aggregation,
    Answers,
    Choice,
    ChoiceKind,
    ChoiceRehearsal,
    Kind,
    Page,
    Sides,
    Units,
    with_wording,
)
from judgments.kinds.consensus import ConsensusColumns
from quorum.statistics.aggregation import majority_vote
from quorum.statistics.aggregation.pair_answers import (
    CONFIDENCES,
    FIRST,
    MUCH,
    NEITHER,
    NO_DIFFERENCE,
    SECOND,
    SURE,
    sides_of,
)
from quorum.statistics.stopping import majority_range, plurality_range

if TYPE_CHECKING:
    from judgments.design.study_design import StudyDesign


NOTE_SENTENCES = {
    "pairs_of_equal_texts_left_out": "Published pairs that were left out because both texts are equal: {}.",
    "repeated_pairs_left_out": "Published pairs that were left out because an earlier pair has the same texts: {}.",
    "pairs_short_of_references": "Pairs that were left out because their items have too few references: {}.",
    "hits_with_an_image_twice": "Pages of work with an item more than once, because too few other items are left: {}.",
}
# The keys of the table ``answers`` of a design that add to the two sides, in order.
FURTHER_ANSWERS = ("no_difference", "neither", "strength", "confidence")
NO_DIFFERENCE_CHOICE = Choice(NO_DIFFERENCE, gettext_noop("No difference"), "0")
NEITHER_CHOICE = Choice(NEITHER, gettext_noop("Neither of the two"), "5")
SLIGHTLY, BY_FAR = gettext_noop("%(letter)s, slightly"), gettext_noop("%(letter)s, by far")
CONFIDENCE_CHOICES = (
    Choice(100, gettext_noop("A guess"), "7"),
    Choice(200, gettext_noop("Fairly sure"), "8"),
    Choice(300, gettext_noop("Certain"), "9"),
)
PAIR_LIMIT = 2**31 - 1
TIES = 0.4  # nu of Davidson's model, which decides how often simulated people see no difference


def arena_pool(
    pairs: Sequence[Pair], groups: Sequence[Group], rng: np.random.Generator
) -> tuple[UnitSpec, ...]:
    """Return the units of an arena, grouped by the names of the two systems."""
    cell = {pair.key: system_names(pair) for pair in pairs}
    units = [unit for group in shuffle(groups, rng) for unit in group.units]
    return tuple(sorted(units, key=lambda unit: cell[unit.pair]))


# every side, or strength of a side, with every confidence
ALL_ANSWERS = tuple(
    SURE * sure + side
    for sure in (0, *CONFIDENCES)
    for side in (FIRST, SECOND, NO_DIFFERENCE, NEITHER, MUCH + FIRST, MUCH + SECOND)
)


class TwoSides(Sides):
    """The order of the two candidates. The second candidate is first in half of the units."""

    def draw(self, units: Sequence[Any], rng: np.random.Generator) -> list[bool]:
        return balanced_sides(len(units), rng)

    def mirror(self, side: Any) -> bool:
        return not side

    def to_canonical(self, answer: int, *, side: Any) -> int:
        """Swap first and second if the worker saw the second candidate first. Keep strength and confidence."""
        chosen = answer % MUCH
        if not side or chosen not in (FIRST, SECOND):
            return answer
        return answer - chosen + (SECOND if chosen == FIRST else FIRST)

    def from_canonical(self, answer: int, *, side: Any) -> int:
        return self.to_canonical(answer, side=side)


class Majority(Aggregation):
    """The consensus is the side with most votes, or a tie (V15 §3). Strength does not count.

    "No difference" (0) and "neither" (3) can win. Such an outcome is not a tie of votes, but has no better candidate.
    """

    rule = "majority"
    tie_rule = "set-aside"
    supports_early_stopping = True

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
            is_integer=True,
        )

    def outcome_range(self, values: Sequence[float], remaining: int) -> tuple[int, int]:
        counts = Counter(value % MUCH for value in values)
        if len(self._labels) == 2:
            return majority_range(counts[FIRST], counts[SECOND], remaining)
        others = max(counts[label] for label in self._labels if label not in (FIRST, SECOND))
        return plurality_range(counts[FIRST], counts[SECOND], others, remaining)


def side_probabilities(qualities: Sequence[float]) -> list[float]:
    """Return the probability of each side: a logistic function of the difference in quality.

    A reference wins against another image's caption with probability 0.95.
    """
    first = 1 / (1 + math.exp(qualities[1] - qualities[0]))
    return [first, 1 - first]


def is_same_side(answer: Any, expected: Any) -> bool:
    """Return whether two answers choose the same side. The expected answer of an import may not be a number."""
    return isinstance(expected, int) and isinstance(answer, int) and answer % MUCH == expected % MUCH


@dataclass(frozen=True, slots=True)
class PairAnswerProbabilities:
    """The probabilities of a design's answers by Davidson's model. Strength depends on the difference in quality."""

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
    """Workers choose the first candidate (1) or the second (2)."""

    values: tuple[int, ...] = (FIRST, SECOND)
    two_sided = True
    compares_pairs = True
    rehearses_systems = True
    choices: tuple[Choice, ...] = (Choice(FIRST, "B", "1"), Choice(SECOND, "C", "2"))
    sides = TwoSides()
    aggregation = Majority()
    rehearsal = ChoiceRehearsal((FIRST, SECOND), side_probabilities, is_same_side)
    own_keys = (*(f"answers.{name}" for name in FURTHER_ANSWERS), "arena.pages", "arena.even")
    control_references: ClassVar[int] = 1
    extras: tuple[str, ...] = ()

    @abstractmethod
    def units_of(self, pair: Pair, seed: int, texts: dict[str, Text]) -> list[UnitSpec]:
        pass

    def control_reference(self, image: Image, caption: Text, rng: np.random.Generator) -> Text | None:
        """Return the reference, sentence A, of a control item; None if the kind shows no reference."""
        return None

    def apply_wording(self, design: StudyDesign) -> PairKind:
        worded = with_wording(self, design.judged, design.labels)
        assert isinstance(worded, PairKind)
        return worded

    def for_design(self, design: StudyDesign) -> Kind:
        return self.apply_wording(design).with_setting(self.setting(design))

    def setting(self, design: StudyDesign) -> str:
        return ",".join(name for name in FURTHER_ANSWERS if getattr(design.answers, name))

    def setting_with(self, before: str | None, answer: Any) -> str:
        if answer not in ALL_ANSWERS or type(answer) is not int:
            raise ValueError("expected an answer to a pair (docs/ties.md)")
        if before is not None and ("confidence" in before) != (answer >= SURE):
            raise ValueError("other answers say how sure they are, or do not; expected it of all, or of none")
        needed = {
            "no_difference": answer % MUCH == NO_DIFFERENCE,
            "neither": answer % MUCH == NEITHER,
            "strength": answer % SURE >= MUCH,
            "confidence": answer >= SURE,
        }
        earlier = (before or "").split(",")
        return ",".join(name for name in FURTHER_ANSWERS if needed[name] or name in earlier)

    def tables_of_setting(self, setting: str) -> dict[str, dict[str, Any]]:
        return {"answers": dict.fromkeys(setting.split(","), True)} if setting else {}

    def with_setting(self, setting: str) -> Kind:
        if not setting:
            return self
        changed = copy(self)
        changed.extras = tuple(setting.split(","))
        changed.choices = tuple(self._choices(changed.extras))
        changed.confidences = CONFIDENCE_CHOICES if "confidence" in changed.extras else ()
        sure = CONFIDENCES if changed.confidences else (0,)
        changed.values = tuple(
            SURE * level + int(choice.value) for choice in changed.choices for level in sure
        )
        changed.aggregation = Majority(changed.outcomes)
        changed.rehearsal = ChoiceRehearsal(
            changed.values, PairAnswerProbabilities(changed.values), is_same_side
        )
        keys = tuple(choice.key for choice in changed.choices)
        letters = () if "strength" in changed.extras else tuple(choice.letter for choice in self.choices)
        of_confidence = ((tuple(choice.key for choice in changed.confidences), _("choose how sure you are")),)
        changed.page = replace(
            self.page,
            keys=(
                ((*keys, *letters), _("choose an answer")),
                *(of_confidence if changed.confidences else ()),
            ),
        )
        return changed

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
        return tuple(sorted({int(choice.value) % MUCH for choice in self.choices}, key=(1, 2, 0, 3).index))

    @property
    def has_side_buttons(self) -> bool:
        """Whether workers choose by clicking one of the two texts. Other answers are in a row below the texts."""
        return "strength" not in self.extras

    @property
    def neutral_choices(self) -> list[Choice]:
        return [choice for choice in self.choices if choice.value in (NO_DIFFERENCE, NEITHER)]

    @property
    def ends(self) -> tuple[Choice, Choice]:
        return self.choices[0], self.choices[-1]

    def read_form(self, form: Mapping[str, Any], position: int, unit: Any) -> Any:
        """Read ``u<position>``, and the confidence from ``v<position>``.

        Return an answer without its confidence, so that the page can show it again. ``clean_answer`` refuses it.
        """
        answer = super().read_form(form, position, unit)
        if not self.confidences or answer is None:
            return answer
        sure = next(
            (choice.value for choice in self.confidences if form.get(f"v{position}") == str(choice.value)), 0
        )
        return answer + sure if isinstance(answer, int) else answer

    def describe_answer(self, answer: Any) -> str:
        if not isinstance(answer, int) or answer < SURE:
            return super().describe_answer(answer)
        sure = next(choice.text for choice in CONFIDENCE_CHOICES if choice.value == answer // SURE * SURE)
        return gettext("%(answer)s (%(confidence)s)") % {
            "answer": super().describe_answer(answer % SURE),
            "confidence": sure,
        }

    def is_right(self, answer: Any, expected: Any) -> bool:
        """Return whether the sides are the same. Strength and confidence do not count, since they are opinions."""
        return is_same_side(answer, expected)

    def outcome_of(self, answer: int) -> int:
        return answer % MUCH

    def expected_on_repeat(self, answer: int) -> int:
        """Expect the same side, with any strength."""
        return self.outcome_of(answer)

    @property
    def expectations(self) -> tuple[Any, ...]:
        return self.outcomes

    def draw_batch(self, design: StudyDesign, material: Material) -> Batch:
        check_split(design, material)
        division = divide_images(design, material)
        wanted = {str(kind): count for kind, count in design.sampling.pairs.items()}
        drawing: dict[str, Any] = {
            "references": design.sampling.references,
            "allow_no_references": self.page.shows_picture,
            "source": design.sampling.source,
            "seed": design.seed,
        }
        if design.arena.pages and not wanted:
            wanted = count_pairs(material, division.judged, wanted={"MM": PAIR_LIMIT}, **drawing)
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
        if drawn.skipped:
            notes["pairs_short_of_references"] = drawn.skipped
        repeating = hits_with_an_image_twice(hits)
        if repeating:
            notes["hits_with_an_image_twice"] = repeating
        pool: tuple[UnitSpec, ...] = ()
        if design.arena.pages:
            pool = arena_pool(pairs, groups, rng_for(design.seed, "arena"))
            notes[LARGEST_PAGE] = self.hit_size(design)
        sentences = [
            sentence.format(notes[name]) for name, sentence in NOTE_SENTENCES.items() if name in notes
        ]
        return Batch(
            hits=hits,
            pairs=tuple(pairs),
            notes=notes | ({"sentences": sentences} if sentences else {}),
            pool=pool,
        )

    def control_items(self, design: StudyDesign) -> Makers:
        return Makers(
            reference=self._reference_control,
            degraded=self._degraded_control,
            known=self._known_control,
            least_references=self.control_references,
        )

    def _reference_control(self, slot: ControlSlot, image: Image) -> Group:
        rng = slot.rng
        caption = image.references[int(rng.integers(len(image.references)))]
        reference = self.control_reference(image, caption, rng)
        foreign = foreign_captions(image, slot.images, 1, rng)[0]
        expected = int(rng.integers(1, 3))
        first, second = (caption, foreign) if expected == 1 else (foreign, caption)
        return self._control(slot, image, (reference, first, second), expected, REFERENCE)

    def _degraded_control(self, slot: ControlSlot, image: Image) -> Group | None:
        rng = slot.rng
        for caption in shuffle(image.references, rng):
            damaged = degraded_text(caption, image, slot.images, rng, whole=False)
            if damaged is not None:
                reference = self.control_reference(image, caption, rng)
                expected = int(rng.integers(1, 3))
                first, second = (caption, damaged) if expected == 1 else (damaged, caption)
                return self._control(slot, image, (reference, first, second), expected, DEGRADED)
        return None

    def _known_control(self, slot: ControlSlot, items: Sequence[Known]) -> Group:
        (item,) = items
        if item.first is None or item.second is None or item.first.text == item.second.text:
            raise known_problem(item, "needs two different texts, first and second")
        if self.control_references > 1 and item.reference is None:
            raise known_problem(item, "needs sentence A under reference")
        if item.expected not in self.outcomes:
            names = {FIRST: "first", SECOND: "second", NO_DIFFERENCE: "no difference", NEITHER: "neither"}
            listed = " and ".join(f"{outcome} is {names[outcome]}" for outcome in self.outcomes)
            raise known_problem(item, f"expects {item.expected!r}; {listed}")
        expected = int(slot.rng.integers(1, 3))
        without_side = item.expected in (NO_DIFFERENCE, NEITHER)
        in_order = expected == (FIRST if without_side else item.expected)
        first, second = (item.first, item.second) if in_order else (item.second, item.first)
        if without_side:
            expected = int(item.expected)
        reference = item.reference if self.control_references > 1 else None
        return self._control(slot, item.image, (reference, first, second), expected, KNOWN_GOOD)

    def _control(
        self,
        slot: ControlSlot,
        image: Image,
        texts: tuple[Text | None, Text, Text],
        expected: int,
        control_kind: str,
    ) -> Group:
        reference, first, second = texts
        keys = (reference.key if reference else None, first.key, second.key)
        shown = {"reference": reference, "first": first, "second": second}
        unit = self.control_unit(slot, image, keys, expected, control_kind, **shown)
        return Group(image.name, (unit,))


class Triplet(PairKind):
    """Workers compare two candidates with a reference, sentence A. Each reference of a candidate pair has a unit."""

    name = "triplet"
    title = "Triplet: which sentence is more similar?"
    choices = (Choice(1, "Sentence B", "1", "B"), Choice(2, "Sentence C", "2", "C"))
    defaults = {
        "question": "Which of the two sentences, B or C, is more similar to A?",
        "seconds_per_unit": 6.0,
    }
    page = Page("annotation/kinds/triplet.html", letters=("A", "B", "C"), shows_picture=False)
    rehearses_systems = False
    control_references = 2

    def units_of(self, pair: Pair, seed: int, texts: dict[str, Text]) -> list[UnitSpec]:
        keys = content_keys("unit", self.name, seed, pair.key, last=pair.references)
        return [
            UnitSpec(
                key=unit,
                image=pair.image,
                reference=texts[key],
                first=pair.first,
                second=pair.second,
                kind=pair.kind,
                pair=pair.key,
            )
            for unit, key in zip(keys, pair.references, strict=True)
        ]

    def control_reference(self, image: Image, caption: Text, rng: np.random.Generator) -> Text | None:
        """Return another caption of the image, with a different text if possible."""
        others = [text for text in image.references if text.text != caption.text] or list(image.references)
        return others[int(rng.integers(len(others)))]

    def present_unit(self, unit: Any, *, side: Any, picture_url: str) -> dict[str, Any]:
        left, right = (unit.second, unit.first) if side else (unit.first, unit.second)
        return {"a": {"text": unit.reference.text}, "b": {"text": left.text}, "c": {"text": right.text}}


# before version 0.7, the options were B and C; a design keeps these letters if its own texts mention C
LETTER_C = re.compile(r"(?<![\w'’])C(?![\w'’])")  # does not match "C'est"


def _texts_of(design: StudyDesign) -> Iterator[str]:
    yield from (design.question, design.instructions)
    for example in design.examples:
        yield from (example.answer, example.why)


class Pairwise(PairKind):
    name = "pairwise"
    wordings = WORDINGS[name]
    wording = wordings[CAPTION]
    title = wording.title
    choices: tuple[Choice, ...] = (
        Choice(1, wording.choices[0], "1", "A"),
        Choice(2, wording.choices[1], "2", "B"),
    )
    defaults = {"question": wording.question, "seconds_per_unit": 8.0}
    page = Page("annotation/kinds/pairwise.html", letters=("A", "B"))

    def apply_wording(self, design: StudyDesign) -> PairKind:
        worded = super().apply_wording(design)
        if not any(map(LETTER_C.search, _texts_of(design))):
            return worded
        worded = copy(worded)
        labels = self.wordings[design.judged].former_choices
        worded.choices = tuple(
            replace(choice, label=label, letter=letter)
            for choice, label, letter in zip(worded.choices, labels, "BC", strict=True)
        )
        worded.page = replace(worded.page, letters=("B", "C"))
        return worded

    def units_of(self, pair: Pair, seed: int, texts: dict[str, Text]) -> list[UnitSpec]:
        return [
            UnitSpec(
                key=content_key("unit", self.name, seed, pair.key),
                image=pair.image,
                first=pair.first,
                second=pair.second,
                kind=pair.kind,
                pair=pair.key,
            )
        ]

    def present_unit(self, unit: Any, *, side: Any, picture_url: str) -> dict[str, Any]:
        left, right = (unit.second, unit.first) if side else (unit.first, unit.second)
        return {
            "image": {"url": picture_url, "alt": gettext("The image to be described")},
            "b": {"text": left.text},
            "c": {"text": right.text},
        }
