"""Caption writing (V15 §5 and App. V, H13 §2.3): a sentence about an image, from a different worker each time."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from django.utils.translation import gettext

from judgments.draws import content_key, rng_for
from judgments.errors import DesignError
from judgments.kinds.base import Consensus, Figures, Judged, OpenKind
from judgments.kinds.caption_rules import MOST_CHARACTERS, Rule, broken_rules, first_refusal, tidied
from judgments.kinds.hits import hits_of
from judgments.material import Batch, Group, Image, Material, UnitSpec, drawn_images

if TYPE_CHECKING:
    from judgments.design import StudyDesign

MOST_TYPED = 5 * MOST_CHARACTERS  # beyond it nothing is looked at: no person types that into the box
ALIKE = 0.5  # a rehearsal's caption is about its image if so large a share of its words are in one reference
# What the careless of a rehearsal write under every picture, and what a person writes about one nobody described.
COPIED = (
    "People are doing something in this place.",
    "Some things are in front of other things.",
    "It is a nice day and everything looks fine.",
)
PLAIN = "Several things can be seen close together."
SWAPS = (
    ("A ", "One "), (" a ", " one "), ("Two ", "A couple of "), (" next to ", " beside "), (" near ", " close to "),
    (" man ", " person "), (" woman ", " person "), (" child ", " kid "), (" with ", " along with "),
)  # fmt: skip


class RefusedCaption(ValueError):
    """A caption that breaks a hard rule; ``says`` is for its writer."""

    def __init__(self, rule: Rule) -> None:
        super().__init__(f"expected another caption ({rule.id}: {str(rule.says).rstrip('.')})")
        self.says = rule.says


class CaptionWriting(OpenKind):
    """One text per image and worker; the answer is the text."""

    name = "caption"
    title = "Caption writing: describe what is going on in the image"
    level = "nominal"
    aggregation = "none"
    writes_captions = True
    no_alpha = (
        "sentences have no parts that two people would have to agree on; leave_one_out holds each caption against the "
        "others of its image (WG16 §4)"
    )
    instead_of_evaluate = (
        "nobody judged the captions that were written, so no metric can be held against people; aggregate holds the "
        "captions against each other, and adopt_captions lets later studies judge them."
    )
    defaults = {
        "question": "Describe what is going on in the image.",
        "language": "en",
        "judgments_per_unit": 5,
        "units_per_hit": 5,
        "seconds_per_unit": 40.0,
    }
    template = "annotation/kinds/caption.html"
    script = "js/kinds/caption.js"
    guide = "annotation/kinds/caption_guide.html"

    def batch(self, design: StudyDesign, material: Material) -> Batch:
        """One unit an image; each HIT goes to ``judgments_per_unit`` workers, so each caption has another writer."""
        if design.controls.per_hit:
            raise DesignError(
                f"controls.per_hit is {design.controls.per_hit}, but no caption is the right one: caption writing "
                "has no control items (a quiz before the work does their part).",
                field="controls.per_hit",
            )
        division = material.divided(
            judged=design.sampling.split,
            controls=design.controls.split,
            seed=design.seed,
            control_needed=False,
        )
        images = drawn_images(division.judged, design.sampling.images, rng_for(design.seed, "images"))
        if not images:
            raise DesignError(
                f"dataset {material.name!r} has no image in split {design.sampling.split!r}.",
                field="sampling.split",
            )
        hits = hits_of(
            [Group(image.name, (self._unit(design, image),)) for image in images],
            design=design,
            size=design.units_per_hit,
            repeat_images=False,
            control_images=(),
            make_control=_no_control,
        )
        return Batch(hits=hits)

    def _unit(self, design: StudyDesign, image: Image) -> UnitSpec:
        return UnitSpec(key=content_key("unit", self.name, design.seed, image.name), image=image.name)

    def shown(self, unit: Any, *, side: Any, picture_url: str) -> dict[str, Any]:
        """The image alone."""
        return {"image": {"url": picture_url, "alt": gettext("The image to be described")}}

    def checked(self, given: Any, *, unit: Any, design: StudyDesign) -> str:
        """The text as typed, runs of white space made one blank; the hard rules of ``caption_rules`` hold."""
        if not isinstance(given, str):
            raise ValueError(gettext("expected a text, the caption"))
        if len(given) > MOST_TYPED:
            raise ValueError(gettext("expected at most %(most)d characters") % {"most": MOST_CHARACTERS})
        text = tidied(given)
        # controls and halves of surrogate pairs cannot be stored; unassigned and private signs can be
        if any(unicodedata.category(sign) in ("Cc", "Cs") for sign in text):
            raise ValueError(gettext("expected a text without control characters"))
        refusal = first_refusal(broken_rules(text, design.language))
        if refusal is not None:
            raise RefusedCaption(refusal)
        return text

    def read_form(self, form: Mapping[str, Any], position: int, unit: Any) -> str | None:
        """Field ``u<position>``; white space alone is no answer yet."""
        text = form.get(f"u{position}")
        return text if isinstance(text, str) and tidied(text) else None

    def consensus(self, units: Sequence[int], values: Sequence[Any]) -> dict[int, Consensus]:
        """The captions in the order given; nothing wins, every one is a description of its own (V15 §5)."""
        texts: defaultdict[int, list[str]] = defaultdict(list)
        for unit, text in zip(units, values, strict=True):
            texts[unit].append(text)
        return {
            unit: Consensus(n=len(own), value=None, share=None, margin=None, tie=False, votes={}, answer=own)
            for unit, own in texts.items()
        }

    def said_together(self, answer: Any, *, unit: Any) -> list[str]:
        """The captions."""
        return [f"“{text}”" for text in answer]

    def codes(self, unit: Any, given: Any) -> dict[str, float]:
        """None: sentences have no parts that two people would have to agree on."""
        return {}

    def figures(self, judged: Sequence[Judged], *, seed: int) -> Figures:
        """``leave_one_out``: what people reach by the metrics that machines are held against (WG16 §4)."""
        # here and not above: the metrics' machine code would cost every web process its memory
        from judgments.kinds.caption_figures import leave_one_out

        texts: defaultdict[int, list[str]] = defaultdict(list)
        for one in judged:
            texts[one.unit.pk].append(one.given)
        return Figures(study={"leave_one_out": leave_one_out(list(texts.values()), seed=seed).as_json()})

    def draw_truth(self, unit: Any, qualities: Sequence[float], rng: np.random.Generator) -> list[str]:
        """What people wrote about the image before: its references."""
        return list(unit.item.references.order_by("position").values_list("text", flat=True))

    def draw_answer(self, unit: Any, truth: Any, *, right: bool | None, rng: np.random.Generator) -> str:
        """A reference said a little differently; its beginning alone; or, without looking, the same under any image."""
        if right is None:
            return COPIED[int(rng.integers(len(COPIED)))]
        if not truth:
            return PLAIN
        text = tidied(truth[int(rng.integers(len(truth)))])
        draft = _varied(text, rng) if right else " ".join(text.split(" ")[:4])
        return next((one for one in (draft, text) if not _refused(one)), PLAIN)

    def recovers(self, found: Consensus, truth: Any) -> bool:
        """More than half of the captions share half of their words with one of the references."""
        if not truth:
            return True
        about = sum(any(_shared(text, one) >= ALIKE for one in truth) for text in found.answer)
        return bool(2 * about > len(found.answer))


def _no_control(*_: Any) -> Group:
    raise AssertionError("caption writing has no control items")


def _refused(text: str) -> bool:
    return first_refusal(broken_rules(text, "en")) is not None


def _varied(text: str, rng: np.random.Generator) -> str:
    """``text`` with one small word exchanged, where it holds one of those."""
    fitting = [(old, new) for old, new in SWAPS if old in text]
    if not fitting:
        return text
    old, new = fitting[int(rng.integers(len(fitting)))]
    return text.replace(old, new, 1)


def _shared(text: str, other: str) -> float:
    """The share of ``text``'s words that ``other`` holds."""
    words, known = folded(text).split(), set(folded(other).split())
    return sum(word in known for word in words) / len(words) if words else 0.0


def folded(text: str) -> str:
    """A caption without what two copies of it may differ in: case, punctuation, forms of the same character."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return " ".join("".join(sign if sign.isalnum() else " " for sign in plain).split())
