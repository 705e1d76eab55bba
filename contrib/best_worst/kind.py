"""Best-worst scaling: workers choose the best and the worst caption of a list, or only the best (best of n)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext, pgettext
from django.utils.translation import gettext_lazy as _

from common.errors import DesignError
from contrib.best_worst.answers import (
    CaptionIds,
    MostFrequentEnds,
    OptionOrder,
    ShownOptions,
    matches_expected_ends,
    options_of,
)
from contrib.best_worst.results import BestWorstScores
from judgments.design.wordings import CAPTION, read_wordings
from judgments.drawing.controls.captions import degraded_text, foreign_captions
from judgments.drawing.controls.makers import DEGRADED, REFERENCE, ControlMakers, ControlSlot
from judgments.drawing.controls.splits import divide_images
from judgments.drawing.draws import draw_images, rng_for, shuffle
from judgments.drawing.keys import content_key
from judgments.drawing.material import Batch, Group, Image, Material, Text, UnitSpec
from judgments.kinds.base import BEST, ENDS, WORST, Kind, MetricComparison, OpenKind, Page
from quorum.statistics.balanced_lists import balanced_lists

if TYPE_CHECKING:
    from judgments.design.study_design import StudyDesign


MAX_OPTIONS = 8  # captions in a list; number keys choose them
WORDINGS = read_wordings(Path(__file__).with_name("wordings.toml"))
# The wordings if workers choose only the best caption, by type of judged text.
BEST_OF_WORDINGS = WORDINGS["best-of"]


class BestWorst(OpenKind):
    """Workers choose the best and the worst caption of a list. The design can leave out the worst.

    An answer has the positions of the captions, from 1, as {"best": 2, "worst": 4}. The captions are in the unit's
    ``content["options"]``. The setting, which is part of exports and read by imports, is "best" if workers choose only
    the best caption, and otherwise "".
    """

    name = "best-worst"
    wordings = WORDINGS[name]
    wording = wordings[CAPTION]
    title = wording.title
    balances_page_lengths = True
    defaults = {"question": wording.question, "units_per_hit": 10, "seconds_per_unit": 20.0}
    page = Page(
        "annotation/kinds/best_worst.html",
        script="js/kinds/best_worst.js",
        # Keys of the keyboard, with words on what they do: to choose the best, and the worst.
        keys=((("1", "…"), wording.keys[0]), ((_("Shift 1"), "…"), wording.keys[1])),
    )
    sides = OptionOrder()
    aggregation = MostFrequentEnds()
    results = BestWorstScores()
    comparison = MetricComparison(per_image=True)
    exchange = CaptionIds()
    ends: Sequence[str] = ENDS  # the keys of answers: both, or only the best
    content = ShownOptions
    names_best = True
    min_options = 3
    specific_keys = ("sampling.options", "sampling.appearances", "answers.worst")

    def setting(self, design: StudyDesign) -> str:
        return "" if design.answers.worst else BEST

    def with_setting(self, setting: str) -> Kind:
        if setting != BEST:
            return self
        kind = copy(self)
        kind.wordings = BEST_OF_WORDINGS
        kind.wording = BEST_OF_WORDINGS[CAPTION]
        kind.title = kind.wording.title
        kind.page = replace(
            self.page, template="annotation/kinds/best_of.html", keys=((("1", "…"), kind.wording.keys[0]),)
        )
        kind.ends = (BEST,)
        return kind

    def extend_setting(self, setting: str | None, answer: Any) -> str:
        """Return the setting for a file's answers up to this one. ``setting`` is that of the earlier ones, if any."""
        needed_setting = BEST if set(answer) == {BEST} else ""
        if setting not in (None, needed_setting):
            raise ValueError('other answers name another end; expected "worst" in all of them, or in none')
        return needed_setting

    def tables_of_setting(self, setting: str) -> dict[str, dict[str, Any]]:
        return {"answers": {WORST: False}} if setting == BEST else {}

    def defaults_for(self, study_file: Mapping[str, Any]) -> dict[str, Any]:
        if not _asks_only_best(study_file):
            return self.defaults
        return self.defaults | {"question": BEST_OF_WORDINGS[CAPTION].question, "seconds_per_unit": 15.0}

    def question_for(self, study_file: Mapping[str, Any]) -> Any:
        """Return the study file's question. A default question becomes that for the type of judged text."""
        if not _asks_only_best(study_file):
            return super().question_for(study_file)
        question = study_file.get("question", "")
        wording = BEST_OF_WORDINGS.get(str(study_file.get("judged", CAPTION)))
        defaults = (*self.wordings.values(), BEST_OF_WORDINGS[CAPTION])
        default_questions = {default.question for default in defaults}
        return wording.question if wording and question in default_questions else question

    def draw_batch(self, design: StudyDesign, material: Material) -> Batch:
        division = divide_images(design, material)
        options = design.sampling.options
        texts = {image.name: _texts_of(image) for image in division.judged_images}
        max_texts = max(map(len, texts.values()), default=0)
        if options == "all" and max_texts > MAX_OPTIONS:
            raise DesignError(
                pgettext(
                    "staff",
                    "sampling.options is 'all', but an item of dataset %(name)r has too many different texts of "
                    "systems (%(most)d); expected a number of at most %(limit)d.",
                )
                % {"name": material.name, "most": max_texts, "limit": MAX_OPTIONS},
                field="sampling.options",
            )
        min_options = self.min_options if design.answers.worst else 2
        min_texts = options if isinstance(options, int) else min_options
        usable_images = [image for image in division.judged_images if len(texts[image.name]) >= min_texts]
        if not usable_images:
            raise DesignError(
                f"sampling.options is {options}, but the systems of dataset {material.name!r} gave "
                f"at most {max_texts} different texts for an item of split {design.sampling.split!r}.",
                field="sampling.options",
            )
        images = draw_images(usable_images, design.sampling.images, rng_for(design.seed, "images"))
        groups = [
            Group(image.name, (self._unit(design, image, drawn_list),))
            for image in images
            for drawn_list in self._draw_lists(design, image, texts[image.name])
        ]
        hits = self.hits(design, groups, control_images=division.control_images)
        count = len(division.judged_images) - len(usable_images)
        return Batch(hits=hits, notes={"images_with_too_few_captions": count} if count else {})

    def control_items(self, design: StudyDesign) -> ControlMakers:
        return ControlMakers(reference=self._reference_control, degraded=self._degraded_control)

    def _draw_lists(self, design: StudyDesign, image: Image, texts: Sequence[Text]) -> list[list[Text]]:
        """Draw lists of the image's texts. Images with the same number of texts share a balanced design."""
        sampling = design.sampling
        lists = balanced_lists(
            len(texts),
            size=sampling.options if isinstance(sampling.options, int) else len(texts),
            appearances=sampling.appearances,
            rng=rng_for(design.seed, f"lists of {len(texts)}"),
        )
        shuffled_texts = shuffle(texts, rng_for(design.seed, f"captions {image.name}"))
        return [[shuffled_texts[index] for index in indices] for indices in lists]

    def _unit(self, design: StudyDesign, image: Image, options: Sequence[Text]) -> UnitSpec:
        keys = [text.key for text in options]
        return UnitSpec(
            key=content_key("unit", self.name, design.seed, image.name, keys),
            image=image.name,
            content=_content_of(options),
        )

    def _reference_control(self, slot: ControlSlot, image: Image) -> Group:
        """Return a control item with references of the image and captions of other images, of which one is expected.

        With equal probability, the expected best is the only reference in the list, or the expected worst is the only
        caption of another image. It is always the best if the image has too few references for the latter, or if the
        design does not ask for the worst.
        """
        size = _control_list_size(slot.design, (image, *slot.images))
        captions = shuffle(image.distinct_references, slot.rng)
        end = ENDS[int(slot.rng.integers(2))]
        if len(captions) < size - 1 or not slot.design.answers.worst:
            end = BEST
        # References come first. So the expected text is the first option if it is the best, and else the last.
        reference_count = 1 if end == BEST else size - 1
        foreign_texts = foreign_captions(image, slot.images, size - reference_count, slot.rng)
        options = captions[:reference_count] + foreign_texts
        expected_text = options[0] if end == BEST else options[-1]
        return self._control(slot, image, shuffle(options, slot.rng), end, expected_text, REFERENCE)

    def _degraded_control(self, slot: ControlSlot, image: Image) -> Group | None:
        """Return a control item with references of the image and damaged captions, of which one is expected.

        The expected worst is the only damaged caption in the list. If the image has too few references for that, or if
        the design does not ask for the worst, the expected best is the only reference among damaged captions. Return
        None if too few captions can be damaged.
        """
        size = _control_list_size(slot.design, (image, *slot.images))
        captions = shuffle(image.distinct_references, slot.rng)
        end = WORST if len(captions) >= size - 1 and slot.design.answers.worst else BEST
        damaged_count = 1 if end == WORST else size - 1
        damaged_captions: dict[str, Text] = {}
        for caption in captions * size:  # damage each caption several times, with other content words
            text = degraded_text(caption, image, slot.images, slot.rng, replace_all=True)
            if text is not None and len(damaged_captions) < damaged_count:
                damaged_captions.setdefault(text.text, text)
        if len(damaged_captions) < damaged_count:
            return None
        options = [*captions[: size - damaged_count], *damaged_captions.values()]
        expected_text = options[-1] if end == WORST else options[0]
        return self._control(slot, image, shuffle(options, slot.rng), end, expected_text, DEGRADED)

    def _control(
        self,
        slot: ControlSlot,
        image: Image,
        options: Sequence[Text],
        end: str,
        expected_text: Text,
        control_kind: str,
    ) -> Group:
        """Return the control item of a place on a page (``slot``). The expected best or worst is ``expected_text``."""
        keys = [text.key for text in options]
        expected = {end: options.index(expected_text) + 1}
        content = _content_of(options)
        unit = self.control_unit(slot, image, (keys,), expected, control_kind, content=content)
        return Group(image.name, (unit,))

    def describe_answer(self, answer: Any) -> str:
        names = {BEST: gettext("best"), WORST: gettext("worst")}
        return ", ".join(f"{names[end]}: {answer[end]}" for end in ENDS if end in answer)

    def present_unit(self, unit: Any, *, side: Any, picture_url: str) -> dict[str, Any]:
        options = options_of(unit)  # ``side`` is the order in which they are shown; None for the stored order
        return {
            "image": {"url": picture_url, "alt": gettext("The image to be judged")},
            "options": [{"text": options[index]["text"]} for index in side or range(len(options))],
        }

    def clean_answer(self, answer: Any, *, unit: Any, design: StudyDesign | None) -> dict[str, int]:
        # Answers of a file or of a model are checked without a design. `with_setting` sets the ends that they need.
        asks_worst = WORST in self.ends if design is None else design.answers.worst
        ends = ENDS if asks_worst else (BEST,)
        size = len(options_of(unit))
        requirement = (
            f'expected {{"best": k, "worst": j}}, two different numbers from 1 to {size}'
            if asks_worst
            else f'expected {{"best": k}}, a number from 1 to {size}'
        )
        if not isinstance(answer, Mapping) or set(answer) != set(ends):
            raise ValueError(requirement)
        positions = [answer[end] for end in ends]
        are_in_list = all(type(position) is int and 1 <= position <= size for position in positions)
        if not are_in_list or len(set(positions)) < len(ends):
            raise ValueError(requirement)
        return {end: answer[end] for end in ends}

    def read_form(self, form: Mapping[str, Any], position: int, unit: Any) -> dict[str, int] | None:
        """Read ``u<position>-best`` and, if workers choose the worst, ``u<position>-worst``. They must differ."""
        ends = self.ends  # see `with_setting`
        numbers = [str(form.get(f"u{position}-{end}", "")) for end in ends]
        # Refuse long numbers before `int` parses them. Positions have one digit.
        if not all(number.isascii() and number.isdigit() and len(number) < 4 for number in numbers):
            return None
        answer = dict(zip(ends, map(int, numbers), strict=True))
        return answer if len(set(answer.values())) == len(ends) else None

    def describe_consensus(self, answer: Any, *, unit: Any) -> list[str]:
        options = options_of(unit)
        return [f"{end}: “{options[answer[end] - 1]['text']}”" for end in ENDS if answer.get(end)]

    def expected_on_repeat(self, answer: Mapping[str, int]) -> dict[str, int]:
        """Expect only the same best caption, since the choice of the worst among several bad captions varies."""
        return {BEST: answer[BEST]}

    def is_right(self, answer: Mapping[str, int], expected: Mapping[str, int]) -> bool:
        return matches_expected_ends(answer, expected)


def _texts_of(image: Image) -> list[Text]:
    return list({text.text: text for _, text in image.outputs}.values())


def _content_of(options: Sequence[Text]) -> dict[str, Any]:
    return {"options": [{"key": text.key, "text": text.text} for text in options]}


def _asks_only_best(study_file: Mapping[str, Any]) -> bool:
    answers = study_file.get("answers")
    return isinstance(answers, Mapping) and answers.get("worst") is False


def _control_list_size(design: StudyDesign, images: Sequence[Image]) -> int:
    """Return the number of captions in a control item's list, which is that of the design's largest list."""
    options = design.sampling.options
    if isinstance(options, int):
        return options
    max_texts = max(len(_texts_of(image)) for image in images)
    return min(max_texts, MAX_OPTIONS) if max_texts >= BestWorst.min_options else BestWorst.min_options
