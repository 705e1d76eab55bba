"""Best-worst scaling: workers choose the best and the worst caption of a list, or only the best (best of n)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from django.utils.translation import gettext, pgettext
from django.utils.translation import gettext_lazy as _

from common.errors import DesignError
from judgments.design.wordings import CAPTION, WORDINGS
from judgments.drawing.controls.captions import degraded_text, foreign_captions
from judgments.drawing.controls.makers import DEGRADED, REFERENCE, ControlMakers, ControlSlot
from judgments.drawing.controls.splits import divide_images
from judgments.drawing.draws import draw_images, rng_for, shuffle
from judgments.drawing.keys import content_key
from judgments.drawing.material import Batch, Group, Image, Material, Text, UnitSpec
from judgments.kinds.base import (
    AnswerFileFormat,
    CaptionScore,
    IncludedJudgment,
    Kind,
    KindResults,
    MetricComparison,
    OpenAggregation,
    OpenKind,
    Page,
    Rehearsal,
    Results,
    ShownContent,
    Sides,
)
from judgments.kinds.consensus import Consensus, nan_as_none
from quorum.statistics.aggregation import (
    best_worst_scores,
    bradley_terry_of_comparisons,
    implied_comparisons,
    luce_choice,
    split_half_reliability,
)
from quorum.statistics.balanced_lists import balanced_lists

if TYPE_CHECKING:
    from judgments.design.study_design import StudyDesign

PRIOR = 0.5  # pseudo-wins in both directions, so that a caption that always won has a finite strength
# The keys of an answer, which names the two ends of a ranking by the positions of captions: {"best": 2, "worst": 4}.
BEST, WORST = "best", "worst"
ENDS = (BEST, WORST)
MAX_OPTIONS = 8  # captions in a list; number keys choose them


@dataclass(frozen=True, slots=True)
class ShownCaption:
    """A caption of the image with row id ``item``. ``systems`` distinguishes equal texts of different systems."""

    item: int
    image: str
    key: str
    text: str
    systems: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class BestWorstAnswers:
    """N answers as columns.

    Attributes:
        captions: the captions of all units, grouped by image. ``shown``, ``best`` and ``worst`` have indices into this
            list.
        units: (N,) the key of each answer's unit.
        shown: (N,) the captions that the unit shows.
        best, worst: (N,) the chosen captions. ``worst`` is None if workers chose only the best caption.
    """

    captions: list[ShownCaption]
    units: list[str]
    shown: list[list[int]]
    best: list[int]
    worst: list[int] | None


def _read_answers(judgments: Sequence[IncludedJudgment], *, by_system: bool = False) -> BestWorstAnswers:
    """Return answers as columns. If ``by_system``, distinguish equal texts of different systems."""
    units = {judgment.unit.pk: judgment.unit for judgment in judgments}
    caption_indices: dict[ShownCaption, int] = {}
    indices_by_unit: dict[int, list[int]] = {}
    for unit in sorted(units.values(), key=lambda unit: (unit.item.position, unit.item_id, unit.position)):
        indices_by_unit[unit.pk] = [
            caption_indices.setdefault(caption, len(caption_indices))
            for caption in _shown_captions(unit, by_system=by_system)
        ]
    shown, best, worst = [], [], []
    for judgment in judgments:
        indices = indices_by_unit[judgment.unit.pk]
        shown.append(indices)
        best.append(indices[judgment.answer[BEST] - 1])  # answers number the positions from 1
        if WORST in judgment.answer:
            worst.append(indices[judgment.answer[WORST] - 1])
    return BestWorstAnswers(
        captions=list(caption_indices),
        units=[judgment.unit.key for judgment in judgments],
        shown=shown,
        best=best,
        worst=worst if len(worst) == len(judgments) else None,
    )


def _shown_captions(unit: Any, *, by_system: bool) -> list[ShownCaption]:
    """Return the captions of a unit in its stored order."""
    options = _options(unit)
    systems = (unit.systems if by_system else []) or [()] * len(options)
    return [
        ShownCaption(unit.item_id, unit.item.name, option["key"], option["text"], tuple(names))
        for option, names in zip(options, systems, strict=True)
    ]


def scores_of(answers: BestWorstAnswers) -> list[float]:
    """Return the best-worst score of each caption.

    If workers chose only the best caption, return how often a caption was chosen, divided by how often it was shown.
    """
    if answers.worst is not None:
        scores: list[float] = best_worst_scores(answers.shown, answers.best, answers.worst).score.tolist()
        return scores
    shown_counts = Counter(caption for row in answers.shown for caption in row)
    best_counts = Counter(answers.best)
    return [best_counts[caption] / shown_counts[caption] for caption in range(len(answers.captions))]


def _caption_figures(answers: BestWorstAnswers, *, seed: int) -> dict[str, Any]:
    """Return counts, score and strength of each caption, and the split-half reliability of the scores."""
    if answers.worst is None:
        return _figures_without_worst(answers)
    scores = best_worst_scores(answers.shown, answers.best, answers.worst)
    strengths = _bradley_terry_strengths(answers, answers.worst)
    reliability = split_half_reliability(answers.units, answers.shown, answers.best, answers.worst, seed=seed)
    return {
        "captions": [
            {
                "image": caption.image,
                "caption": caption.key,
                "text": caption.text,
                "shown": int(scores.shown[index]),
                "best": int(scores.best[index]),
                "worst": int(scores.worst[index]),
                "score": float(scores.score[index]),
                "strength": strengths[index],
            }
            for index, caption in enumerate(answers.captions)
        ],
        "split_half": {
            "spearman": nan_as_none(reliability.spearman),
            "spearman_deviation": nan_as_none(reliability.spearman_deviation),
            "pearson": nan_as_none(reliability.pearson),
            "pearson_deviation": nan_as_none(reliability.pearson_deviation),
            "splits": reliability.splits,
            "answers": reliability.answers,
            "seed": reliability.seed,
            "reason": reliability.reason,
            "signature": reliability.signature,
        },
        "strength": {"model": "bradley-terry", "prior": PRIOR, "within": "image"},
    }


def _figures_without_worst(answers: BestWorstAnswers) -> dict[str, Any]:
    """Return counts, share of best and Luce strength of each caption, if workers chose only the best caption."""
    shown_counts = Counter(index for row in answers.shown for index in row)
    best_counts = Counter(answers.best)
    rows = zip(answers.captions, scores_of(answers), _luce_strengths(answers), strict=True)
    return {
        "captions": [
            {
                "image": caption.image,
                "caption": caption.key,
                "text": caption.text,
                "shown": shown_counts[index],
                "best": best_counts[index],
                "score": score,
                "strength": strength,
            }
            for index, (caption, score, strength) in enumerate(rows)
        ],
        "strength": {"model": "luce", "prior": PRIOR, "within": "image"},
    }


def _luce_strengths(answers: BestWorstAnswers) -> list[float | None]:
    """Return the log-strength of each caption by Luce's choice model, with mean 0 per image."""
    strengths: list[float | None] = [None] * len(answers.captions)
    for rows in _rows_by_item([answers.captions[caption].item for caption in answers.best]):
        fit = luce_choice(
            [answers.shown[row] for row in rows], [answers.best[row] for row in rows], prior=PRIOR
        )
        for caption, strength in zip(fit.items.tolist(), fit.log_strength.tolist(), strict=True):
            strengths[caption] = nan_as_none(strength)
    return strengths


def _bradley_terry_strengths(answers: BestWorstAnswers, worst: Sequence[int]) -> list[float | None]:
    """Return the Bradley-Terry log-strength of each caption, with mean 0 per image.

    They are fitted to the comparisons that answers imply: the best caption wins against all others, and the worst loses
    against all others. There are no intervals, since the comparisons from one answer are dependent, and the model would
    treat them as independent.
    """
    winners, losers = implied_comparisons(answers.shown, answers.best, worst)
    strengths: list[float | None] = [None] * len(answers.captions)
    for rows in _rows_by_item([answers.captions[winner].item for winner in winners]):
        fit = bradley_terry_of_comparisons(
            [winners[row] for row in rows], [losers[row] for row in rows], np.ones(len(rows)), prior=PRIOR
        )
        for caption, strength in zip(fit.items.tolist(), fit.log_strength.tolist(), strict=True):
            strengths[caption] = nan_as_none(strength)
    return strengths


def _rows_by_item(item_by_row: Sequence[int]) -> list[list[int]]:
    """Return lists of row numbers, one list for each item, by the item of each row."""
    rows: defaultdict[int, list[int]] = defaultdict(list)
    for row, item in enumerate(item_by_row):
        rows[item].append(row)
    return list(rows.values())


class OptionOrder(Sides):
    """The order in which a worker sees the options. A side is the list of their positions in the unit, from 0.

    Answers number positions from 1. Without a side, the worker sees the stored order.
    """

    def draw(self, units: Sequence[Any], rng: np.random.Generator) -> list[list[int]]:
        return [rng.permutation(len(_options(unit))).tolist() for unit in units]

    def mirror(self, side: Any) -> list[int]:
        return list(reversed(side))

    def to_canonical(self, answer: Mapping[str, int], *, side: Any) -> dict[str, int]:
        return {end: side[answer[end] - 1] + 1 if side else answer[end] for end in ENDS if end in answer}

    def from_canonical(self, answer: Mapping[str, int], *, side: Any) -> dict[str, int]:
        return {
            end: side.index(answer[end] - 1) + 1 if side else answer[end] for end in ENDS if end in answer
        }


class MostFrequentEnds(OpenAggregation):
    rule = "most-often"
    tie_rule = "no-winner"
    level = "ordinal"

    def combine(self, answers: list[Mapping[str, int]]) -> Consensus:
        """Return the positions of the captions that were chosen most often as best and as worst; None on a tie.

        ``votes`` has entries such as {"best 2": 3}: the caption at position 2 was chosen three times as the best.
        """
        votes: dict[str, int] = {}
        consensus_answer: dict[str, int | None] = {}
        for end in ENDS:
            counts = Counter(answer[end] for answer in answers if end in answer)
            if counts:
                votes |= {f"{end} {position}": counts[position] for position in sorted(counts)}
                consensus_answer[end] = _winning_position(counts)
        return Consensus(
            n=len(answers), tie=None in consensus_answer.values(), votes=votes, answer=consensus_answer
        )

    def codes(self, unit: Any, answer: Mapping[str, int]) -> dict[str, float]:
        """Return 1 for the best caption, -1 for the worst if the answer has one, and 0 for others, by caption id."""
        points = {answer[BEST]: 1}
        if WORST in answer:
            points[answer[WORST]] = -1
        return {option["key"]: points.get(position, 0) for position, option in enumerate(_options(unit), 1)}


class BestWorstScores(Results):
    def figures(self, judgments: Sequence[IncludedJudgment], *, seed: int) -> KindResults:
        return KindResults(study=_caption_figures(_read_answers(judgments), seed=seed) if judgments else {})

    def caption_scores(self, judgments: Sequence[IncludedJudgment]) -> list[CaptionScore]:
        """Return the score of each caption (``scores_of``).

        The ratings of a caption are 1 from workers who chose it as the best, -1 as the worst, and 0 from others.
        """
        if not judgments:
            return []
        answers = _read_answers(judgments, by_system=True)
        ratings: list[list[tuple[int, float]]] = [[] for _ in answers.captions]
        worst_captions: Sequence[int | None] = answers.worst or [None] * len(judgments)
        for judgment, shown_captions, best, worst in zip(
            judgments, answers.shown, answers.best, worst_captions, strict=True
        ):
            for caption in shown_captions:
                ratings[caption].append((judgment.worker, float(caption == best) - (caption == worst)))
        return [
            CaptionScore(
                item=caption.item,
                key=caption.key,
                text=caption.text,
                score=score,
                ratings=tuple(ratings_of_caption),
                systems=caption.systems,
            )
            for caption, score, ratings_of_caption in zip(
                answers.captions, scores_of(answers), ratings, strict=True
            )
        ]


class ShownOption(ShownContent):
    key: str
    text: str


class ShownOptions(ShownContent):
    options: list[ShownOption]


class CaptionIds(AnswerFileFormat):
    """The form of answers in files: captions are named by their ids instead of their positions."""

    def to_file(self, answer: Any, *, content: Mapping[str, Any]) -> dict[str, Any]:
        options = content["options"]
        return {end: options[position - 1]["key"] if position else None for end, position in answer.items()}

    def from_file(self, answer: Any, *, content: Mapping[str, Any]) -> dict[str, int]:
        keys = [option.get("key") for option in content.get("options", ())]
        has_only_ends = isinstance(answer, Mapping) and set(answer) <= set(ENDS)
        if not has_only_ends or any(key not in keys for key in answer.values()):
            raise ValueError(
                'expected {"best": ..., "worst": ...}, ids of two captions that content.options lists'
            )
        return {end: keys.index(key) + 1 for end, key in answer.items()}


def matches_expected_ends(answer: Mapping[str, int], expected: Mapping[str, int]) -> bool:
    """Return whether the answer has the expected best and worst caption. Only one of them may be expected."""
    return all(answer[end] == position for end, position in expected.items())


class BestWorstRehearsal(Rehearsal):
    def __init__(self, ends: Sequence[str] = ENDS) -> None:
        """Simulate answers with these keys: both of ENDS, or only BEST."""
        self.ends = ends

    def draw_truth(self, unit: Any, qualities: Sequence[float], rng: np.random.Generator) -> dict[str, int]:
        """Return the positions of the captions with the highest and the lowest worth.

        The worth of a caption is a number derived from its id, so it is the same in all units. If workers choose only
        the best caption, draw it by Luce's model from the qualities of the captions: the highest of the qualities after
        noise of the Gumbel distribution is added.
        """
        worths: list[float] = [int(content_key("worth", option["key"]), 16) for option in _options(unit)]
        if WORST not in self.ends and len(qualities) == len(worths):
            worths = (np.array(qualities) + rng.gumbel(size=len(worths))).tolist()
        truth = {BEST: worths.index(max(worths)) + 1, WORST: worths.index(min(worths)) + 1}
        return {end: truth[end] for end in self.ends}

    def draw_answer(
        self, unit: Any, truth: Mapping[str, int], *, right: bool | None, rng: np.random.Generator
    ) -> dict[str, int]:
        """Return the right answer, an answer with a wrong best or worst, or a random answer if ``right`` is None."""
        positions = shuffle(range(1, len(_options(unit)) + 1), rng)
        answer = {} if right is None else dict(truth)
        if right is False:
            wrong_end = shuffle(sorted(answer), rng)[0]
            answer[wrong_end] = _first_unused(positions, answer)
        for end in self.ends:  # the truth of a control item may name only one end
            if end not in answer:
                answer[end] = _first_unused(positions, answer)
        return answer

    def matches(self, consensus: Consensus, truth: Mapping[str, int]) -> bool:
        return matches_expected_ends(consensus.answer, truth)


def _first_unused(positions: Sequence[int], answer: Mapping[str, int]) -> int:
    """Return the first of the positions that the answer does not name yet."""
    return next(position for position in positions if position not in answer.values())


BEST_OF_WORDINGS = WORDINGS[
    "best-of"
]  # the wordings if workers choose only the best caption, by type of judged text


class BestWorst(OpenKind):
    """Workers choose the best and the worst caption of a list. The design can leave out the worst.

    An answer has the positions of the captions, from 1, as {"best": 2, "worst": 4}. The captions are in the unit's
    ``content["options"]``. The setting is "best" if workers choose only the best caption.
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
        keys=((("1", "…"), wording.keys[0]), ((_("Shift 1"), "…"), wording.keys[1])),
    )
    sides = OptionOrder()
    aggregation = MostFrequentEnds()
    results = BestWorstScores()
    comparison = MetricComparison(per_image=True)
    exchange = CaptionIds()
    rehearsal: BestWorstRehearsal = BestWorstRehearsal()
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
        kind.rehearsal = BestWorstRehearsal((BEST,))
        return kind

    def extend_setting(self, setting: str | None, answer: Any) -> str:
        needed_setting = BEST if set(answer) == {BEST} else ""
        if setting not in (None, needed_setting):
            raise ValueError('other answers name another end; expected "worst" in all of them, or in none')
        return needed_setting

    def tables_of_setting(self, setting: str) -> dict[str, dict[str, Any]]:
        return {"answers": {WORST: False}} if setting == BEST else {}

    def defaults_for(self, study_file: Mapping[str, Any]) -> dict[str, Any]:
        """Return ``defaults``, with less time and another question if workers choose only the best caption."""
        if not _asks_only_best(study_file):
            return self.defaults
        return self.defaults | {"question": BEST_OF_WORDINGS[CAPTION].question, "seconds_per_unit": 15.0}

    def question_for(self, study_file: Mapping[str, Any]) -> Any:
        """Return the question about the best caption, or about the best and the worst. Prefer the preset's question."""
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
        left_out = len(division.judged_images) - len(usable_images)
        return Batch(hits=hits, notes={"images_with_too_few_captions": left_out} if left_out else {})

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
        # the different text is the first option if it is the best, and the last if it is the worst
        reference_count = 1 if end == BEST else size - 1
        foreign = foreign_captions(image, slot.images, size - reference_count, slot.rng)
        options = captions[:reference_count] + foreign
        different_text = options[0] if end == BEST else options[-1]
        return self._control(slot, image, shuffle(options, slot.rng), end, different_text, REFERENCE)

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
        for caption in captions * size:  # damage each caption several times, with other words
            text = degraded_text(caption, image, slot.images, slot.rng, replace_all=True)
            if text is not None and len(damaged_captions) < damaged_count:
                damaged_captions.setdefault(text.text, text)
        if len(damaged_captions) < damaged_count:
            return None
        options = [*captions[: size - damaged_count], *damaged_captions.values()]
        different_text = options[-1] if end == WORST else options[0]
        return self._control(slot, image, shuffle(options, slot.rng), end, different_text, DEGRADED)

    def _control(
        self,
        slot: ControlSlot,
        image: Image,
        options: Sequence[Text],
        end: str,
        expected_text: Text,
        control_kind: str,
    ) -> Group:
        """Return a control item with a list of captions. The expected best or worst is ``expected_text``."""
        keys = [text.key for text in options]
        expected = {end: options.index(expected_text) + 1}
        content = _content_of(options)
        unit = self.control_unit(slot, image, (keys,), expected, control_kind, content=content)
        return Group(image.name, (unit,))

    def describe_answer(self, answer: Any) -> str:
        names = {BEST: gettext("best"), WORST: gettext("worst")}
        return ", ".join(f"{names[end]}: {answer[end]}" for end in ENDS if end in answer)

    def present_unit(self, unit: Any, *, side: Any, picture_url: str) -> dict[str, Any]:
        options = _options(unit)
        return {
            "image": {"url": picture_url, "alt": gettext("The image to be judged")},
            "options": [{"text": options[index]["text"]} for index in side or range(len(options))],
        }

    def clean_answer(self, answer: Any, *, unit: Any, design: StudyDesign | None) -> dict[str, int]:
        asks_worst = WORST in self.rehearsal.ends if design is None else design.answers.worst
        ends = ENDS if asks_worst else (BEST,)
        size = len(_options(unit))
        expected = (
            f'expected {{"best": k, "worst": j}}, two different numbers from 1 to {size}'
            if asks_worst
            else f'expected {{"best": k}}, a number from 1 to {size}'
        )
        if not isinstance(answer, Mapping) or set(answer) != set(ends):
            raise ValueError(expected)
        positions = [answer[end] for end in ends]
        are_in_list = all(type(position) is int and 1 <= position <= size for position in positions)
        if not are_in_list or len(set(positions)) < len(ends):
            raise ValueError(expected)
        return {end: answer[end] for end in ends}

    def read_form(self, form: Mapping[str, Any], position: int, unit: Any) -> dict[str, int] | None:
        """Read ``u<position>-best`` and, if workers choose the worst, ``u<position>-worst``. They must differ."""
        ends = self.rehearsal.ends
        numbers = [str(form.get(f"u{position}-{end}", "")) for end in ends]
        if not all(number.isascii() and number.isdigit() and len(number) < 4 for number in numbers):
            return None
        answer = dict(zip(ends, map(int, numbers), strict=True))
        return answer if len(set(answer.values())) == len(ends) else None

    def describe_consensus(self, answer: Any, *, unit: Any) -> list[str]:
        options = _options(unit)
        return [f"{end}: “{options[answer[end] - 1]['text']}”" for end in ENDS if answer.get(end)]

    def expected_on_repeat(self, answer: Mapping[str, int]) -> dict[str, int]:
        """Expect only the same best caption, since the choice of the worst among several bad captions varies."""
        return {BEST: answer[BEST]}

    def is_right(self, answer: Mapping[str, int], expected: Mapping[str, int]) -> bool:
        return matches_expected_ends(answer, expected)


def _texts_of(image: Image) -> list[Text]:
    """Return the distinct texts of systems for an image."""
    return list({text.text: text for _, text in image.outputs}.values())


def _content_of(options: Sequence[Text]) -> dict[str, Any]:
    return {"options": [{"key": text.key, "text": text.text} for text in options]}


def _options(unit: Any) -> Sequence[Mapping[str, str]]:
    return unit.content["options"]


def _winning_position(counts: Counter[int]) -> int | None:
    """Return the position that was chosen most often; None on a tie."""
    leaders = [position for position, count in counts.items() if count == max(counts.values())]
    return leaders[0] if len(leaders) == 1 else None


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
