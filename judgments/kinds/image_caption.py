"""Kinds that judge one caption of one image, on their common base.

Relevance (H13 §4.3.2) asks which of ten captions describe an image, graded (H13 §4.2.1) how well one does, from 4 to 1,
and slider the same from 0 to 100, as WMT's direct assessment (Graham et al. 2013; Bojar et al. 2016).
"""

from __future__ import annotations

import math
import operator
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from django.utils.translation import gettext, pgettext
from django.utils.translation import gettext_lazy as _

from common.errors import DesignError
from judgments.design.scale import (
    NUMBER,
    Scale,
    display_number,
    number_text,
    plain_number,
    range_of,
    range_text,
    scale_of,
)
from judgments.design.tables import CROSSED
from judgments.design.wordings import CAPTION, WORDINGS
from judgments.drawing.controls import (
    DEGRADED,
    KNOWN_GOOD,
    REFERENCE,
    ControlSlot,
    Known,
    Makers,
    degraded_text,
    foreign_captions,
    known_items,
    known_problem,
    right_caption_count,
)
from judgments.drawing.material import (
    Batch,
    Group,
    Image,
    Material,
    Text,
    UnitSpec,
    content_keys,
    rng_for,
    shuffled,
)
from judgments.drawing.pairing import CaptionDraw, ImageCaptions, draw_captions
from judgments.kinds.base import (
    Aggregation,
    Answers,
    Choice,
    ChoiceKind,
    ChoiceRehearsal,
    Comparison,
    Consensus,
    ConsensusColumns,
    IncludedJudgment,
    Kind,
    KindResults,
    Page,
    Rehearsal,
    RelevanceScale,
    Results,
    Units,
    or_none,
    with_wording,
)
from quorum.statistics.aggregation import (
    GRADE_THRESHOLDS,
    majority_vote,
    mean_grade,
    relevance_vote,
    standardised_mean,
)
from quorum.statistics.stopping import relevance_range

if TYPE_CHECKING:
    from judgments.design.study_design import StudyDesign


class ImageCaptionKind(ChoiceKind):
    """Judge an image and a caption.

    Control items expect ``good`` of an image's own caption and ``bad`` of another image's.
    """

    good: Any
    bad: Any

    def draw_batch(self, design: StudyDesign, material: Material) -> Batch:
        draw = draw_captions(design, material, partial(self.unit_keys, design))
        groups = [
            Group(captions.image.name, units)
            for captions in draw.images
            for units in self.groups(design, draw, captions)
        ]
        if not groups:
            raise DesignError(
                f"no image-caption pair reaches filter.bleu_pre = {design.filter.bleu_pre}.",
                field="filter.bleu_pre",
            )
        hits = self.hits(
            design,
            groups,
            control_images=draw.division.controls,
            known=known_items(design.controls.known, material),
        )
        filled = sum(unit.filtered for group in groups for unit in group.units)
        return Batch(hits=hits, notes={**draw.notes, **({"filled": filled} if filled else {})})

    def groups(
        self, design: StudyDesign, draw: CaptionDraw, captions: ImageCaptions
    ) -> list[tuple[UnitSpec, ...]]:
        """Return an image's units, in groups that stay together."""
        return [
            (unit,)
            for unit in self.judged(design, captions, rng_for(design.seed, f"captions {captions.image.name}"))
        ]

    def judged(
        self, design: StudyDesign, captions: ImageCaptions, rng: np.random.Generator
    ) -> list[UnitSpec]:
        """Return an image's units that the filter passes, and those of the audit."""
        audit = rng_for(design.seed, f"audited {captions.image.name}")
        return self.units(design, captions.image, captions.judged(rng, audit))

    def unit_keys(self, design: StudyDesign, image: Image, texts: Sequence[Text]) -> list[str]:
        return content_keys("unit", self.name, design.seed, image.name, last=[text.key for text in texts])

    def units(
        self,
        design: StudyDesign,
        image: Image,
        drawn: Sequence[tuple[Text, bool]],
        *,
        filtered: bool = False,
    ) -> list[UnitSpec]:
        """Return the units of texts, each given with whether it is for the audit."""
        keys = self.unit_keys(design, image, [text for text, _ in drawn])
        return [
            UnitSpec(key=key, image=image.name, first=text, filtered=filtered, audited=audited)
            for key, (text, audited) in zip(keys, drawn, strict=True)
        ]

    @property
    def expectations(self) -> tuple[Any, ...]:
        return (self.good, self.bad)

    def control_items(self, design: StudyDesign) -> Makers:
        return Makers(
            reference=self.reference_control,
            degraded=self.degraded_control,
            known=self.known_control,
            known_together=self.grouped,
        )

    def reference_control(self, slot: ControlSlot, image: Image) -> Group:
        """Return an own caption (good) or another image's (bad), at random."""
        if slot.rng.integers(2):
            text, expected = image.references[int(slot.rng.integers(len(image.references)))], self.good
        else:
            text, expected = foreign_captions(image, slot.images, 1, slot.rng)[0], self.bad
        return Group(image.name, (self.control(slot, image, text, expected, REFERENCE),))

    def degraded_control(self, slot: ControlSlot, image: Image) -> Group | None:
        """Return an own caption with its content words replaced."""
        for caption in shuffled(image.references, slot.rng):
            damaged = degraded_text(caption, image, slot.images, slot.rng, whole=True)
            if damaged is not None:
                return Group(image.name, (self.control(slot, image, damaged, self.bad, DEGRADED),))
        return None

    def known_control(self, slot: ControlSlot, items: Sequence[Known]) -> Group:
        return Group(items[0].image.name, tuple(self.known_unit(slot, item) for item in items))

    def known_unit(self, slot: ControlSlot, item: Known) -> UnitSpec:
        """Return the unit of a designer's item. Some answers must be right and others wrong."""
        if item.first is None:
            raise known_problem(item, "needs the caption under first")
        try:
            right = self.count_right(item.expected)
        except ValueError:
            right = 0
        if not 0 < right < len(self.values):
            raise known_problem(
                item, f"expects {item.expected!r}, by which no answer, or every one, would be right"
            )
        return self.control(slot, item.image, item.first, item.expected, KNOWN_GOOD)

    def control(
        self, slot: ControlSlot, image: Image, text: Text, expected: Any, control_kind: str = REFERENCE
    ) -> UnitSpec:
        return self.control_unit(slot, image, (text.key,), expected, control_kind, first=text)

    def present_unit(self, unit: Any, *, side: Any, picture_url: str) -> dict[str, Any]:
        return {
            "image": {"url": picture_url, "alt": gettext("The image to be judged")},
            "caption": {"text": unit.first.text},
        }


class TwoThirds(Aggregation):
    """Relevant if at least two thirds say yes, compared exactly (H13); there are no ties."""

    rule = "two-thirds"
    settles = True

    def consensus(self, units: Units, values: Answers) -> ConsensusColumns:
        vote = relevance_vote(units, values)
        no = vote.n - vote.yes
        return ConsensusColumns(
            unit=vote.units,
            n=vote.n,
            value=vote.relevant.astype(np.float64),
            share=vote.share,
            margin=np.abs(vote.yes - no) / vote.n,
            tie=np.zeros(len(no), dtype=np.bool_),
            votes=np.column_stack([no, vote.yes]),
            answers=("0", "1"),
            whole=True,
        )

    def outcome_range(self, values: Sequence[float], remaining: int) -> tuple[int, int]:
        return relevance_range(values.count(1), values.count(0), remaining)


def relevance_probabilities(qualities: Sequence[float]) -> list[float]:
    """Return even odds at the middle of the scale; 0.05 for another image's caption."""
    yes = 1 / (1 + math.exp(2 * (2.5 - qualities[0])))
    return [1 - yes, yes]


class Relevance(ImageCaptionKind):
    """Judge groups of captions under one image; 1 means that the caption describes it."""

    name = "relevance"
    wordings = WORDINGS[name]
    wording = wordings[CAPTION]
    title = wording.title
    values = (0, 1)
    grouped = True
    choices = (Choice(0, wording.choices[0]), Choice(1, wording.choices[1]))
    defaults = {"question": wording.question, "seconds_per_unit": 3.0}
    page = Page("annotation/kinds/relevance.html")
    aggregation = TwoThirds()
    comparison = Comparison(cuts=(0.33, 0.66, 1.0))
    relevance = RelevanceScale(describes=lambda value: value == 1, least_yes=2 / 3)
    rehearsal = ChoiceRehearsal((0, 1), relevance_probabilities, operator.eq)
    good, bad = 1, 0

    def defaults_for(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Fill up groups of few captions: those of control images are full."""
        sampling = values.get("sampling")
        if isinstance(sampling, Mapping) and (sampling.get("pairs_from") == CROSSED or sampling.get("only")):
            return self.defaults
        return {**self.defaults, "filter": {"fill_to": values.get("captions_per_image", 10)}}

    def contradictions(self, design: StudyDesign) -> Iterator[str]:
        """Refuse groups smaller than control images; they would give the controls away."""
        size, fill_to = design.captions_per_image, design.filter.fill_to
        drawn = design.sampling.pairs_from != CROSSED and not design.sampling.only
        if drawn and design.controls.per_hit and fill_to < size:
            yield (
                pgettext(
                    "staff",
                    "filter.fill_to is %(fill_to)s, but control images have captions_per_image = "
                    "%(size)s captions, by which workers could tell them from smaller groups; expected "
                    "%(size)s",
                )
                % {"fill_to": fill_to, "size": size}
            )

    def groups(
        self, design: StudyDesign, draw: CaptionDraw, captions: ImageCaptions
    ) -> list[tuple[UnitSpec, ...]]:
        """Split an image's filtered captions into tens; fill up the last (H13)."""
        rng = rng_for(design.seed, f"captions {captions.image.name}")
        units = self.judged(design, captions, rng)
        size = design.captions_per_image
        fill_to = min(design.filter.fill_to, size)
        short = (fill_to - len(units) % size) if len(units) % size else 0
        if short > 0:
            fill = captions.fill(short, draw.pool, draw.division.judged, rng)
            units += self.units(design, captions.image, [(text, False) for text in fill], filtered=True)
            tail = len(units) % size or size
            units[-tail:] = shuffled(units[-tail:], rng)
        return [tuple(units[start : start + size]) for start in range(0, len(units), size)]

    def reference_control(self, slot: ControlSlot, image: Image) -> Group:
        """Return one to three own captions (right) among captions of other images."""
        size, rng = slot.design.captions_per_image, slot.rng
        right = right_caption_count(image, size, rng)
        captions = shuffled(image.distinct_references, rng)[:right]
        wrong = foreign_captions(image, slot.images, size - right, rng)
        units = [self.control(slot, image, text, self.good) for text in captions]
        units += [self.control(slot, image, text, self.bad) for text in wrong]
        return Group(image.name, tuple(shuffled(units, rng)))

    def degraded_control(self, slot: ControlSlot, image: Image) -> Group | None:
        """Return one to three own captions (right) among damaged ones; fill up with others'."""
        size, rng = slot.design.captions_per_image, slot.rng
        right = right_caption_count(image, size, rng)
        captions = shuffled(image.distinct_references, rng)
        damaged: dict[str, Text] = {}
        for base in captions * size:  # each caption again, with other words
            if len(damaged) == size - right:
                break
            text = degraded_text(base, image, slot.images, slot.rng, whole=True)
            if text is not None:
                damaged.setdefault(text.text, text)
        if not damaged:
            return None
        units = [self.control(slot, image, text, self.good, DEGRADED) for text in captions[:right]]
        units += [self.control(slot, image, text, self.bad, DEGRADED) for text in damaged.values()]
        units += self._filled(slot, image, units)
        return Group(image.name, tuple(shuffled(units, rng)))

    def known_control(self, slot: ControlSlot, items: Sequence[Known]) -> Group:
        units = [self.known_unit(slot, item) for item in items[: slot.design.captions_per_image]]
        units += self._filled(slot, items[0].image, units)
        return Group(items[0].image.name, tuple(shuffled(units, slot.rng)))

    def _filled(self, slot: ControlSlot, image: Image, units: Sequence[UnitSpec]) -> list[UnitSpec]:
        """Fill with captions of other images: a shorter group would give it away."""
        taken = {unit.first.text for unit in units if unit.first is not None}
        lacking = slot.design.captions_per_image - len(units)
        spare = foreign_captions(image, slot.images, lacking + len(taken), slot.rng)
        wrong = [text for text in spare if text.text not in taken][:lacking]
        return [self.control(slot, image, text, self.bad, REFERENCE) for text in wrong]


class MeanGrade(Aggregation):
    """The mean grade (H13); votes of the ``listed`` grades are listed even at 0."""

    rule = "mean"
    level = "interval"

    def __init__(self, listed: Sequence[float] = ()) -> None:
        self._listed = listed

    def consensus(self, units: Units, values: Answers) -> Mapping[int, Consensus]:
        means = mean_grade(units, values)
        if self._listed:
            counted = majority_vote(units, values, labels=self._listed)
            return ConsensusColumns(
                unit=means.units,
                n=means.n,
                value=means.mean,
                share=None,
                margin=None,
                tie=np.zeros(len(means.n), dtype=np.bool_),
                votes=counted.counts,
                answers=tuple(map(number_text, self._listed)),
                whole=False,
            )
        votes: defaultdict[int, Counter[float]] = defaultdict(Counter)
        for unit, value in zip(units, values, strict=True):
            votes[int(unit)][float(value)] += 1
        return {
            unit: Consensus(
                n=votes[unit].total(),
                value=mean,
                votes={number_text(grade): votes[unit][grade] for grade in sorted(votes[unit])},
            )
            for unit, mean in zip(means.units.tolist(), means.mean.tolist(), strict=True)
        }


def in_range(answer: float, expected: Any) -> bool:
    """Compare with a range ("3-4") or one grade."""
    low, high = range_of(str(expected))
    return low <= answer <= high


@dataclass(frozen=True, slots=True)
class ScaleLeaning:
    """Weight points by nearness to the quality, which is the lowest point at 1 and the highest at 4.

    Attributes:
        spread: the share of the scale over which a weight falls by a factor of e.
    """

    scale: Scale
    spread: float

    def __call__(self, qualities: Sequence[float]) -> list[float]:
        low, length = self.scale.low, self.scale.length
        centre = low + (qualities[0] - 1) / 3 * length
        weights = [math.exp(-abs(point - centre) / (self.spread * length)) for point in self.scale.points]
        return [weight / sum(weights) for weight in weights]


class ScaleRehearsal(ChoiceRehearsal):
    def __init__(self, scale: Scale, spread: float, is_right: Callable[[Any, Any], bool]) -> None:
        super().__init__(scale.points, ScaleLeaning(scale, spread), is_right)
        self.scale = scale

    def recovers(self, consensus: Consensus, truth: Any) -> bool:
        """Return whether the point nearest to the mean is right."""
        if consensus.value is None:
            return False
        return self.is_right(self.values[self.scale.steps_to(consensus.value)], truth)


SAME = 0.15  # share of the scale by which equal answers to a repeated caption differ at most; or a point
MOST_GRADES = 11  # that a page shows as choices
KEYS = "1234567890x"


def inner_names(scale: Scale, names: Mapping[str, str]) -> list[str]:
    return [name for name in names if float(name) not in (scale.low, scale.high)]


def keys_of(points: Sequence[float]) -> list[str]:
    """Return a key for each of up to ``MOST_GRADES`` points: its own digit where it has one, else its place."""
    if all(point in range(10) for point in points):
        return [str(point) for point in points]
    return list("0123456789x" if points == tuple(range(11)) else KEYS)[: len(points)]


class Graded(ImageCaptionKind):
    name = "graded"
    wordings = WORDINGS[name]
    wording = wordings[CAPTION]
    title = wording.title
    scale: Scale = Scale(low=1, high=4)
    values: tuple[float, ...] = scale.points
    labelled: tuple[float, ...] = values[::-1]
    choices: tuple[Choice, ...] = tuple(
        Choice(grade, label, str(grade)) for grade, label in zip(labelled, wording.choices, strict=True)
    )
    defaults = {"question": wording.question, "seconds_per_unit": 12.0}
    page = Page("annotation/kinds/graded.html")
    good, bad = "3-4", "1-2"
    aggregation = MeanGrade(values)
    comparison = Comparison(cuts=GRADE_THRESHOLDS)
    relevance = RelevanceScale.of_means(scale)
    rehearsal: Rehearsal = ScaleRehearsal(scale, 1 / 3, in_range)
    study_scale: Scale | None = None  # of a study, which its page and its clients are told
    point_names: Mapping[str, str] = {}  # of that scale

    def setting(self, design: StudyDesign) -> str:
        usual = type(self).scale
        return "" if design.scale is None or design.scale.same_points(usual) else str(design.scale)

    def with_setting(self, setting: str) -> Kind:
        return self.on_scale(scale_of(setting)) if setting else self

    def tables_of_setting(self, setting: str) -> dict[str, dict[str, Any]]:
        return {"scale": scale_of(setting).model_dump(mode="json")} if setting else {}

    def for_design(self, design: StudyDesign) -> Kind:
        if design.scale is None:
            return super().for_design(design)
        worded = with_wording(self, design.judged, ())
        assert isinstance(worded, Graded)
        # the labels of a design with a scale are those of a translation
        labels = dict(zip(design.scale.labels, design.labels, strict=True)) if design.labels else {}
        return worded.on_scale(design.scale, labels or design.scale.labels)

    def scale_problem(self, scale: Scale) -> str:
        if len(scale) <= MOST_GRADES:
            return ""
        return pgettext("staff", "expected %(most)d at most; slider asks for a place on a line") % {
            "most": MOST_GRADES
        }

    def on_scale(self, scale: Scale, labels: Mapping[str, str] | None = None) -> Graded:
        """Return this kind with a study's own scale; ``labels`` names its points, or some of them."""
        changed = copy(self)
        changed.scale = changed.study_scale = scale
        changed.values = scale.points
        changed.good, changed.bad = range_text(*scale.upper_half), range_text(*scale.lower_half)
        changed.relevance = RelevanceScale.of_means(scale)
        changed.point_names = dict(labels or scale.labels)
        changed.labelled = tuple(map(float, changed.point_names))
        changed.answer_on(scale)
        return changed

    def answer_on(self, scale: Scale) -> None:
        """Take the choices, the votes and the simulated answers from a scale."""
        self.choices = tuple(
            Choice(point, self.point_names.get(number_text(point), number_text(point)), key)
            for point, key in zip(scale.points, keys_of(scale.points), strict=True)
        )
        self.page = replace(self.page, template="annotation/kinds/scale.html", keys=())
        self.aggregation = MeanGrade(scale.points)
        self.comparison = replace(self.comparison, cuts=scale.points[:0:-1])
        self.rehearsal = ScaleRehearsal(scale, 1 / 3, in_range)

    @property
    def poles(self) -> tuple[str, str]:
        """The words of both ends; built-in ones if a study names no point of its scale."""
        if self.point_names:
            ends = (number_text(self.scale.low), number_text(self.scale.high))
            return self.point_names.get(ends[0], ""), self.point_names.get(ends[1], "")
        low, high = self.default_poles
        return low, high

    @property
    def default_poles(self) -> list[str]:
        judged = next(judged for judged, wording in self.wordings.items() if wording.title == self.title)
        return WORDINGS["slider"][judged].ends

    @property
    def names_inner_points(self) -> bool:
        return bool(inner_names(self.scale, self.point_names))

    @property
    def shows_keys(self) -> bool:
        """Whether keys stand beside the points of a study's own scale, as some are not their numbers."""
        return any(choice.key != choice.code for choice in self.choices)

    def read_form(self, form: Mapping[str, Any], position: int, unit: Any) -> Any:
        text = form.get(f"u{position}")
        if self.study_scale is not None and isinstance(text, str) and NUMBER.fullmatch(text.strip()):
            return plain_number(float(text))
        return super().read_form(form, position, unit)

    def clean_answer(self, answer: Any, *, unit: Any, design: StudyDesign | None) -> float:
        if self.study_scale is None:
            return super().clean_answer(answer, unit=unit, design=design)
        if type(answer) not in (int, float) or answer not in self.study_scale:
            raise ValueError(gettext("expected %(values)s") % {"values": self.study_scale.in_words})
        return plain_number(answer)

    def describe_answer(self, answer: Any) -> str:
        if self.study_scale is None or not isinstance(answer, int | float):
            return super().describe_answer(answer)
        label = self.point_names.get(number_text(answer))
        return f"{display_number(answer)}: {label}" if label else display_number(answer)

    def describe_expected(self, expected: Any) -> str:
        if self.study_scale is None:
            return super().describe_expected(expected)
        low, high = range_of(str(expected))
        if low == high:
            return self.describe_answer(low)
        return gettext("%(low)s to %(high)s") % {"low": display_number(low), "high": display_number(high)}

    def present_unit(self, unit: Any, *, side: Any, picture_url: str) -> dict[str, Any]:
        shown = super().present_unit(unit, side=side, picture_url=picture_url)
        return shown if self.study_scale is None else {**shown, "scale": self.scale_for_clients()}

    def scale_for_clients(self) -> dict[str, Any]:
        """Return the scale as clients read it, with the words of the page's language."""
        assert self.study_scale is not None
        ends = {"low": self.scale.low, "high": self.scale.high, "step": self.scale.step}
        return {**ends, "labels": dict(self.point_names)}

    def expected_on_repeat(self, answer: float) -> str:
        """Allow one grade of difference, as H13's mean grades differ by as much between judges."""
        return range_text(*self.scale.around(answer, SAME))

    def is_right(self, answer: float, expected: Any) -> bool:
        return in_range(answer, expected)


class StandardisedMeans(Results):
    def figures(self, judged: Sequence[IncludedJudgment], *, seed: int) -> KindResults:
        """Return ``z`` of each unit: the mean of answers standardised per worker."""
        result = standardised_mean(
            [judgment.unit.pk for judgment in judged],
            [judgment.worker for judgment in judged],
            [judgment.answer for judgment in judged],
        )
        rows = zip(result.units.tolist(), result.z.tolist(), result.z_n.tolist(), strict=True)
        return KindResults(
            units={unit: {"z": or_none(z), "z_n": n} for unit, z, n in rows},
            study={
                "standardised": {
                    "workers": len(result.raters),
                    "workers_without_z": result.left_out,
                    "signature": result.signature,
                }
            },
        )


NEAR = 0.1  # share of the scale within which a rehearsal's answer is right
SPREAD = 0.12  # share of the scale that a rehearsal's truths for equally good captions spread over
FAR = 0.3  # share of the scale that mistakes lie beyond the right range at most
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Nearness:
    """Compare with a control item's range, or with a rehearsal's truth, which is one number."""

    near: float

    def __call__(self, answer: float, expected: Any) -> bool:
        low, high = range_of(str(expected))
        return low <= answer <= high if low < high else abs(answer - low) <= self.near + ROUNDING


class SliderRehearsal(ScaleRehearsal):
    def draw_answer(self, unit: Any, truth: Any, *, right: bool | None, rng: np.random.Generator) -> float:
        """Place mistakes up to a share of the scale beyond the right range."""
        if right is not False:
            return super().draw_answer(unit, truth, right=right, rng=rng)
        good = [index for index, value in enumerate(self.values) if self.is_right(value, truth)]
        far = int(rng.integers(1, max(1, round(FAR * (len(self.values) - 1))) + 1))
        near = (min(good) - far, max(good) + far)
        fitting = [self.values[index] for index in near if 0 <= index < len(self.values)]
        return (
            plain_number(rng.choice(fitting))
            if fitting
            else super().draw_answer(unit, truth, right=right, rng=rng)
        )


class Slider(Graded):
    name = "slider"
    wordings = WORDINGS[name]
    wording = wordings[CAPTION]
    title = wording.title
    scale = Scale(low=0, high=100)
    values = scale.points
    choices = ()
    labelled = (0, 100)
    good, bad = "70-100", "0-30"
    defaults = {"question": wording.question, "seconds_per_unit": 10.0}
    page = Page(
        "annotation/kinds/slider.html",
        script="js/kinds/slider.js",
        keys=(
            (("0", "…", "9"), _("0, 10, 20 … 90")),
            (("7", "5"), "75"),
            (("←", "→"), _("one less, one more")),
            ((_("Page ↓"), _("Page ↑")), _("ten less, ten more")),
            ((_("Home"), _("End")), _("0 and 100")),
        ),
    )
    aggregation = MeanGrade()
    results = StandardisedMeans()
    comparison = Comparison(cuts=tuple(float(cut) for cut in range(90, 0, -10)), per_image=True)
    relevance = RelevanceScale.of_means(scale)
    matches = Nearness(NEAR * 100)
    rehearsal = SliderRehearsal(scale, SPREAD, matches)

    def scale_problem(self, scale: Scale) -> str:
        return "" if len(scale) > 2 else pgettext("staff", "expected 3 at least; name a smaller step")

    def contradictions(self, design: StudyDesign) -> Iterator[str]:
        inner = inner_names(design.scale, design.scale.labels) if design.scale else []
        if inner:
            yield pgettext(
                "staff", "scale.labels names %(name)s, but a slider has words for its two ends alone"
            ) % {"name": inner[0]}

    @property
    def default_poles(self) -> list[str]:
        assert self.wording is not None
        return self.wording.ends

    def answer_on(self, scale: Scale) -> None:
        self.page = replace(
            self.page,
            keys=(
                (("0", "…", "9"), _("tenths of the line")),
                (("7", "5"), _("three quarters of the line")),
                (("←", "→"), _("one step less, one step more")),
                ((_("Page ↓"), _("Page ↑")), _("a tenth of the line less, a tenth more")),
                ((_("Home"), _("End")), _("the two ends")),
            ),
        )
        cuts = (scale.low + scale.length * tenths / 10 for tenths in range(9, 0, -1))
        self.comparison = replace(self.comparison, cuts=tuple(cuts))
        self.matches = Nearness(NEAR * scale.length)
        self.rehearsal = SliderRehearsal(scale, SPREAD, self.matches)

    def is_right(self, answer: float, expected: Any) -> bool:
        return self.matches(answer, expected)
