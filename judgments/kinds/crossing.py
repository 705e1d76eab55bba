"""What relevance and graded have in common: every text a system gave, crossed with every image."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
from django.utils.translation import gettext

from judgments.controls import (
    DEGRADED,
    KNOWN_GOOD,
    REFERENCE,
    Known,
    Makers,
    foreign_captions,
    known_problem,
    needs_split,
)
from judgments.degrading import degraded_text
from judgments.draws import content_key, rng_for, shuffled
from judgments.errors import DesignError
from judgments.kinds.base import ChoiceKind
from judgments.material import Division, Group, Image, Material, Text, UnitSpec, drawn_images
from judgments.pairing import not_drawn
from judgments.prefilter import passes_filter

if TYPE_CHECKING:
    from judgments.design import StudyDesign


@dataclass(frozen=True, slots=True)
class Crossing:
    """The image-caption pairs of a study.

    Attributes:
        division: judged images and those of control items.
        images: m judged images, after drawing.
        texts: n distinct candidate texts of the split, in the order the systems gave them.
        passed: (m, n) bool, which pairs pass the filter (all where there is none).
        audited: (m, n) bool, which of the others are judged all the same, to see what the filter misses.
    """

    division: Division
    images: list[Image]
    texts: list[Text]
    passed: npt.NDArray[np.bool_]
    audited: npt.NDArray[np.bool_]

    @property
    def notes(self) -> dict[str, Any]:
        """What the filter did, for the study's page."""
        audited = int(self.audited.sum())
        return {
            "candidate_pairs": int(self.passed.size),
            "passed_filter": int(self.passed.sum()),
            **({"audited": audited} if audited else {}),
        }

    def judged_columns(self, row: int, rng: np.random.Generator, audit: np.random.Generator) -> list[int]:
        """The texts judged with an image: those that passed in the order that ``rng`` gives, and audited ones put in
        where ``audit`` says, a stream of its own, so that an audit never changes the order of the others."""
        columns = shuffled(np.flatnonzero(self.passed[row]).tolist(), rng)
        for column in shuffled(np.flatnonzero(self.audited[row]).tolist(), audit):
            columns.insert(int(audit.integers(len(columns) + 1)), column)
        return columns


class CrossedKind(ChoiceKind):
    """An image and a caption are judged together.

    Attributes:
        good, bad: what a control item expects, in the form ``is_right`` takes: of a caption of the image, and of one
            that describes another.
    """

    chosen_by_id = True
    good: ClassVar[Any]
    bad: ClassVar[Any]

    def cross(self, design: StudyDesign, material: Material) -> Crossing:
        """Every distinct text a system gave for an image of the split, with every image of the split."""
        division = material.divided(
            judged=design.sampling.split,
            controls=design.controls.split,
            seed=design.seed,
            control_needed=needs_split(design.controls),
        )
        texts: dict[str, Text] = {}
        for image in division.judged:
            for _, text in image.outputs:
                texts.setdefault(text.text, text)
        if not texts:
            raise DesignError(
                f"no system of dataset {material.name!r} gave a caption for an image of split "
                f"{design.sampling.split!r}; import candidates first.",
                field="sampling.split",
            )
        images = drawn_images(division.judged, design.sampling.images, rng_for(design.seed, "images"))
        candidates = list(texts.values())
        if design.filter.bleu_pre > 0:
            passed = passes_filter(
                [text.text for text in candidates],
                [[text.text for text in image.references] for image in images],
                threshold=design.filter.bleu_pre,
                order=design.filter.order,
            )
        else:
            passed = np.ones((len(images), len(candidates)), dtype=bool)
        audited = _drawn_for_audit(passed, design.filter.audit, rng_for(design.seed, "audit"))
        if design.sampling.only:
            wanted = self._wanted(design, images, candidates)
            passed, audited = passed & wanted, audited & wanted
        return Crossing(division=division, images=images, texts=candidates, passed=passed, audited=audited)

    def unit_key(self, design: StudyDesign, image: Image, text: Text) -> str:
        """What the unit of an image and a caption is called."""
        return content_key("unit", self.name, design.seed, image.name, text.key)

    def _wanted(
        self, design: StudyDesign, images: Sequence[Image], texts: Sequence[Text]
    ) -> npt.NDArray[np.bool_]:
        """(m, n) bool: the pairs of image and text whose units the design names.

        Raises:
            DesignError: it names one that there is not.
        """
        asked = set(design.sampling.only)
        wanted = np.zeros((len(images), len(texts)), dtype=bool)
        for row, image in enumerate(images):
            for column, text in enumerate(texts):
                key = self.unit_key(design, image, text)
                if key in asked:
                    asked.remove(key)
                    wanted[row, column] = True
        if asked:
            raise not_drawn(asked, "unit")
        return wanted

    def unit(
        self, design: StudyDesign, image: Image, text: Text, *, filtered: bool = False, audited: bool = False
    ) -> UnitSpec:
        """The unit of one image-caption pair."""
        return UnitSpec(
            key=self.unit_key(design, image, text),
            image=image.name,
            first=text,
            filtered=filtered,
            audited=audited,
        )

    @abstractmethod
    def describes(self, value: float) -> bool:
        """Whether people say, by this consensus, that the caption describes the image."""

    def expectations(self) -> tuple[Any, ...]:
        """Good or bad."""
        return (self.good, self.bad)

    def makers(self, design: StudyDesign) -> Makers:
        """Its control items: one image and caption each."""
        return Makers(
            reference=partial(self.reference_control, design),
            degraded=partial(self.degraded_control, design),
            known=partial(self.known_control, design),
            known_together=self.grouped,
        )

    def quiz_group(
        self, design: StudyDesign, place: str, image: Image, images: Sequence[Image], rng: np.random.Generator
    ) -> Group:
        """As a control item."""
        return self.reference_control(design, place, image, images, rng)

    def reference_control(
        self, design: StudyDesign, place: str, image: Image, images: Sequence[Image], rng: np.random.Generator
    ) -> Group:
        """An own caption, expected to be good, or another image's, expected to be bad; drawn."""
        if rng.integers(2):
            text, expected = image.references[int(rng.integers(len(image.references)))], self.good
        else:
            text, expected = foreign_captions(image, images, 1, rng)[0], self.bad
        return Group(image.name, (self.control(design, place, image, text, expected, REFERENCE),))

    def degraded_control(
        self, design: StudyDesign, place: str, image: Image, images: Sequence[Image], rng: np.random.Generator
    ) -> Group | None:
        """An own caption with other words in place of all that matter, expected to be bad."""
        for own in shuffled(image.references, rng):
            damaged = degraded_text(own, image, images, rng, whole=True)
            if damaged is not None:
                return Group(image.name, (self.control(design, place, image, damaged, self.bad, DEGRADED),))
        return None

    def known_control(
        self,
        design: StudyDesign,
        place: str,
        items: Sequence[Known],
        images: Sequence[Image],
        rng: np.random.Generator,
    ) -> Group:
        """The designer's item."""
        return Group(items[0].image.name, tuple(self.known_unit(design, place, item) for item in items))

    def known_unit(self, design: StudyDesign, place: str, item: Known) -> UnitSpec:
        """One of the designer's items.

        Raises:
            DesignError: it has no caption, or no answer is right, or every answer is.
        """
        if item.first is None:
            raise known_problem(item, "needs the caption under first")
        try:
            right = sum(self.is_right(value, item.expected) for value in self.values)
        except ValueError:
            right = 0
        if not 0 < right < len(self.values):
            raise known_problem(
                item, f"expects {item.expected!r}, by which no answer, or every one, would be right"
            )
        return self.control(design, place, item.image, item.first, item.expected, KNOWN_GOOD)

    def control(
        self,
        design: StudyDesign,
        place: str,
        image: Image,
        text: Text,
        expected: Any,
        control_kind: str = REFERENCE,
    ) -> UnitSpec:
        """A control item; ``place`` tells it from the same caption in another HIT."""
        return UnitSpec(
            key=content_key("control", self.name, design.seed, place, image.name, text.key),
            image=image.name,
            first=text,
            control=True,
            control_kind=control_kind,
            expected=expected,
        )

    def shown(self, unit: Any, *, side: Any, picture_url: str) -> dict[str, Any]:
        """The image and the caption."""
        return {
            "image": {"url": picture_url, "alt": gettext("The image to be judged")},
            "caption": {"text": unit.first.text},
        }


def _drawn_for_audit(
    passed: npt.NDArray[np.bool_], wanted: int, rng: np.random.Generator
) -> npt.NDArray[np.bool_]:
    """(m, n) bool: as many of the pairs that did not pass, each as likely as any other; all where there are fewer."""
    audited = np.zeros_like(passed)
    if wanted:
        dropped = np.flatnonzero(~passed)
        audited.flat[rng.permutation(dropped)[:wanted]] = True
    return audited


def chunked(items: Sequence[UnitSpec], size: int) -> list[tuple[UnitSpec, ...]]:
    """``items`` in runs of ``size``; the last may be shorter."""
    return [tuple(items[start : start + size]) for start in range(0, len(items), size)]
