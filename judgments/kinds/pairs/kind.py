"""The base class of kinds in which workers choose one of two candidates."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from judgments.drawing.controls.makers import ControlMakers, resolve_known_items
from judgments.drawing.controls.splits import check_split, divide_images
from judgments.drawing.draws import rng_for, shuffle
from judgments.drawing.hits import count_hits_with_an_image_twice
from judgments.drawing.material import LARGEST_PAGE, Batch, Group, Image, Material, Pair, Text, UnitSpec
from judgments.drawing.pairs.drawing import count_pairs, draw_pairs, system_names
from judgments.drawing.pairs.published import pairs_left_out
from judgments.kinds.base import Choice, ChoiceKind, Kind, with_wording
from judgments.kinds.pairs.answers import (
    BY_FAR,
    CONFIDENCE_CHOICES,
    FURTHER_ANSWERS,
    NEUTRAL_CHOICES,
    SLIGHTLY,
    Majority,
    TwoSides,
)
from judgments.kinds.pairs.controls import PairControls
from quorum.statistics.aggregation.pair_answers import (
    ALL_ANSWERS,
    CONFIDENCES,
    FIRST,
    MUCH,
    NEITHER,
    NO_DIFFERENCE,
    SECOND,
    SURE,
    is_same_side,
    side_of,
)

if TYPE_CHECKING:
    from judgments.design.study_design import StudyDesign

# Sentences about notes of a batch, by the key of the note, whose value is a number.
NOTE_SENTENCES = {
    "pairs_of_equal_texts_left_out": "Published pairs that were left out because both texts are equal: {}.",
    "repeated_pairs_left_out": "Published pairs that were left out because an earlier pair has the same texts: {}.",
    "pairs_short_of_references": "Pairs that were left out because their items have too few references: {}.",
    "hits_with_an_image_twice": "Pages of work with an item more than once, because too few other items are left: {}.",
}
ALL_PAIRS = 2**31 - 1  # asks for all pairs, since no dataset has so many
OUTCOME_ORDER = (FIRST, SECOND, NO_DIFFERENCE, NEITHER)  # of columns of tables


class PairChoiceKind(ChoiceKind):
    """Workers choose the first candidate (1) or the second (2).

    A design can allow further answers (``FURTHER_ANSWERS``). The setting of the kind is their list, such as
    "no_difference,strength".
    """

    values: tuple[int, ...] = (FIRST, SECOND)
    two_sided = True
    compares_pairs = True
    choices: tuple[Choice, ...] = (Choice(FIRST, "B", "1"), Choice(SECOND, "C", "2"))
    sides = TwoSides()
    aggregation = Majority()
    specific_keys = (*(f"answers.{name}" for name in FURTHER_ANSWERS), "arena.pages", "arena.even")
    control_references: ClassVar[int] = 1  # references that a control item needs
    further_answers: tuple[str, ...] = ()  # members of FURTHER_ANSWERS that the design allows

    @abstractmethod
    def units_of(self, pair: Pair, seed: int, references_by_key: dict[str, Text]) -> list[UnitSpec]:
        """Return the units that ask about a pair."""

    def control_reference(self, image: Image, caption: Text, rng: np.random.Generator) -> Text | None:
        """Return the reference, sentence A, of a control item; None if the kind shows no reference."""
        return None

    def apply_wording(self, design: StudyDesign) -> PairChoiceKind:
        kind = with_wording(self, design.judged, design.labels)
        assert isinstance(kind, PairChoiceKind)
        return kind

    def for_design(self, design: StudyDesign) -> Kind:
        return self.apply_wording(design).with_setting(self.setting(design))

    def setting(self, design: StudyDesign) -> str:
        return ",".join(name for name in FURTHER_ANSWERS if getattr(design.answers, name))

    def extend_setting(self, setting: str | None, answer: Any) -> str:
        if answer not in ALL_ANSWERS or type(answer) is not int:
            raise ValueError("expected an answer to a pair (docs/ties.md)")
        # ``setting`` is None for the first answer of a file, which decides whether the answers have a confidence
        if setting is not None and ("confidence" in setting) != (answer >= SURE):
            raise ValueError("other answers say how sure they are, or do not; expected it of all, or of none")
        # the last digit is the side, the tens digit the strength, the hundreds digit the confidence
        needs_answer = {
            "no_difference": side_of(answer) == NO_DIFFERENCE,
            "neither": side_of(answer) == NEITHER,
            "strength": answer % SURE >= MUCH,
            "confidence": answer >= SURE,
        }
        earlier_names = (setting or "").split(",")
        return ",".join(name for name in FURTHER_ANSWERS if needs_answer[name] or name in earlier_names)

    def tables_of_setting(self, setting: str) -> dict[str, dict[str, Any]]:
        return {"answers": dict.fromkeys(setting.split(","), True)} if setting else {}

    def with_setting(self, setting: str) -> Kind:
        if not setting:
            return self
        kind = copy(self)
        kind.further_answers = tuple(setting.split(","))
        kind.choices = tuple(self._choices(kind.further_answers))
        kind.confidences = CONFIDENCE_CHOICES if "confidence" in kind.further_answers else ()
        levels = CONFIDENCES if kind.confidences else (0,)
        kind.values = tuple(SURE * level + int(choice.value) for choice in kind.choices for level in levels)
        kind.aggregation = Majority(kind.outcomes)
        answer_keys = [choice.key for choice in kind.choices]
        if kind.has_side_buttons:
            answer_keys += [choice.letter for choice in self.choices]
        help_about_keys: list[tuple[tuple[Any, ...], Any]] = [(tuple(answer_keys), _("choose an answer"))]
        if kind.confidences:
            confidence_keys = tuple(choice.key for choice in kind.confidences)
            help_about_keys.append((confidence_keys, _("choose how sure you are")))
        kind.page = replace(self.page, keys=tuple(help_about_keys))
        return kind

    def _choices(self, further_answers: Sequence[str]) -> list[Choice]:
        """Return the choices of a design with these further answers, in the order of the page."""
        first_choice, second_choice = self.choices
        neutral_choices = [choice for name, choice in NEUTRAL_CHOICES.items() if name in further_answers]
        if "strength" not in further_answers:
            return [first_choice, *neutral_choices, second_choice]
        return [
            Choice(MUCH + FIRST, BY_FAR, "1", first_choice.letter),
            Choice(FIRST, SLIGHTLY, "2", first_choice.letter),
            *neutral_choices,
            Choice(SECOND, SLIGHTLY, "3", second_choice.letter),
            Choice(MUCH + SECOND, BY_FAR, "4", second_choice.letter),
        ]

    @property
    def outcomes(self) -> tuple[int, ...]:
        return tuple(sorted({side_of(int(choice.value)) for choice in self.choices}, key=OUTCOME_ORDER.index))

    @property
    def has_side_buttons(self) -> bool:
        """Whether workers choose by clicking one of the two texts. Other answers are in a row below the texts."""
        return "strength" not in self.further_answers

    @property
    def neutral_choices(self) -> list[Choice]:
        """The choices "no difference" and "neither", as far as the design allows them."""
        return [choice for choice in self.choices if choice.value in (NO_DIFFERENCE, NEITHER)]

    @property
    def side_choices(self) -> tuple[Choice, Choice]:
        """The first and the last choice, which name the two sides."""
        return self.choices[0], self.choices[-1]

    def read_form(self, form: Mapping[str, Any], position: int, unit: Any) -> Any:
        """Read ``u<position>``, and the confidence from ``v<position>``.

        If the confidence is missing, return the answer without it, so that the page can show the answer again.
        ``clean_answer`` refuses such an answer.
        """
        answer = super().read_form(form, position, unit)
        if not self.confidences or answer is None:
            return answer
        confidence = next(
            (choice.value for choice in self.confidences if form.get(f"v{position}") == str(choice.value)), 0
        )
        return answer + confidence if isinstance(answer, int) else answer

    def describe_answer(self, answer: Any) -> str:
        if not isinstance(answer, int) or answer < SURE:
            return super().describe_answer(answer)
        confidence = answer // SURE * SURE  # without the digits of side and strength
        label = next(choice.text for choice in CONFIDENCE_CHOICES if choice.value == confidence)
        answer_text = super().describe_answer(answer % SURE)
        return gettext("%(answer)s (%(confidence)s)") % {"answer": answer_text, "confidence": label}

    def is_right(self, answer: Any, expected: Any) -> bool:
        """Return whether the sides are the same. Strength and confidence do not count, since they are opinions."""
        return is_same_side(answer, expected)

    def outcome_of(self, answer: int) -> int:
        return side_of(answer)

    def expected_on_repeat(self, answer: int) -> int:
        return self.outcome_of(answer)

    @property
    def expected_choices(self) -> tuple[Any, ...]:
        return self.outcomes

    def draw_batch(self, design: StudyDesign, material: Material) -> Batch:
        check_split(design, material)
        division = divide_images(design, material)
        pair_counts = {str(kind): count for kind, count in design.sampling.pairs.items()}
        options: dict[str, Any] = {
            "references": design.sampling.references,
            "allow_no_references": self.page.shows_picture,  # then people need no reference
            "source": design.sampling.source,
            "seed": design.seed,
        }
        # unless its design counts pairs, an arena has all pairs of captions of two systems ("MM")
        if design.arena.pages and not pair_counts:
            pair_counts = count_pairs(
                material, division.judged_images, pair_counts={"MM": ALL_PAIRS}, **options
            )
        drawn_pairs = draw_pairs(
            material,
            division.judged_images,
            pair_counts=pair_counts,
            only_ids=design.sampling.only,
            **options,
        )
        pairs = drawn_pairs.pairs
        references_by_key = {text.key: text for image in division.judged_images for text in image.references}
        groups = [
            Group(pair.image, (unit,))
            for pair in pairs
            for unit in self.units_of(pair, design.seed, references_by_key)
        ]
        hits = self.hits(
            design,
            groups,
            control_images=division.control_images,
            known_items=resolve_known_items(design.controls.known, material),
        )
        notes: dict[str, Any] = {}
        if not design.sampling.only:  # with it, pairs are left out on purpose
            notes |= pairs_left_out(material, division.judged_images, pair_counts=pair_counts, drawn=pairs)
        if drawn_pairs.skipped_pairs:
            notes["pairs_short_of_references"] = drawn_pairs.skipped_pairs
        if hits_with_repeats := count_hits_with_an_image_twice(hits):
            notes["hits_with_an_image_twice"] = hits_with_repeats
        sentences = [NOTE_SENTENCES[name].format(count) for name, count in notes.items()]
        # in an arena, a HIT gets its judged units from this pool when a worker accepts it
        pool: tuple[UnitSpec, ...] = ()
        if design.arena.pages:
            pool = _arena_pool(pairs, groups, rng_for(design.seed, "arena"))
            notes[LARGEST_PAGE] = self.hit_size(design)  # for forecasts of time and cost
        if sentences:
            notes["sentences"] = sentences
        return Batch(hits=hits, pairs=tuple(pairs), notes=notes, pool=pool)

    def control_items(self, design: StudyDesign) -> ControlMakers:
        return PairControls(self, self.control_references, self.control_reference).makers()


def _arena_pool(
    pairs: Sequence[Pair], groups: Sequence[Group], rng: np.random.Generator
) -> tuple[UnitSpec, ...]:
    """Return the units of an arena, grouped by the names of the two systems, and in random order within each group."""
    names = {pair.key: system_names(pair) for pair in pairs}
    units = [unit for group in shuffle(groups, rng) for unit in group.units]
    return tuple(sorted(units, key=lambda unit: names[unit.pair]))
