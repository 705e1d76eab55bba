"""Grounding (WG15 §3): which word of the caption stands for which box of the picture?

Word level, as in the paper: it links single words, not phrases, so that no phrase answers to several boxes. A word
links to one box at most. A box may be named by several words or by none: eq. 1-3 speak of the *unique* boxes that a
description refers to, which supposes that one may be named twice ("a woman ... her").

Words are the caption's tokens between blanks, counted from 0 (``caption.split()``); such as hold neither letter nor
digit cannot be linked.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from django.utils.translation import gettext

from common.errors import DesignError
from judgments.drawing.boxes import label_words, tags_of
from judgments.drawing.controls import REFERENCE, needs_split
from judgments.drawing.draws import content_key, rng_for, shuffled
from judgments.drawing.material import Batch, Group, Image, Material, Text, UnitSpec, drawn_images
from judgments.drawing.packing import hits_of
from judgments.drawing.phrases import plain, trimmed, words_of
from judgments.kinds.base import Consensus, Entry, Figures, Judged, OpenKind

if TYPE_CHECKING:
    from judgments.design.study_design import StudyDesign

Links = dict[int, str]  # word -> box
MISSED = 0.1  # how often a careful simulated worker overlooks a link


class Grounding(OpenKind):
    """Links from words to boxes; the consensus is the majority for each word."""

    name = "grounding"
    title = "Grounding: which words stand for which boxes?"
    level = "nominal"
    aggregation = "majority-of-links"
    tie_rule = "no-link"
    has_figures = True
    own_formats = ("grounding",)
    instead_of_evaluate = (
        "links say which objects a caption names, not how good it is; export_judgments --format grounding writes what "
        "the content selection measures of docs/content-and-keywords.md take."
    )
    defaults = {
        "question": "Which words of the caption stand for which boxes?",
        "units_per_hit": 5,
        "seconds_per_unit": 25.0,
    }
    template = "annotation/kinds/grounding.html"
    self_contained = False
    script = "js/kinds/grounding.js"
    asks = {"sampling.references": Entry("Captions of each image", "'all' or a number, drawn with the seed.")}

    def batch(self, design: StudyDesign, material: Material) -> Batch:
        """One unit for each reference of each image of the split that has boxes."""
        division = material.divided(
            judged=design.sampling.split,
            controls=design.controls.split,
            seed=design.seed,
            control_needed=needs_split(design.controls),
        )
        there = [image for image in division.judged if image.boxes and image.references]
        if not there:
            raise DesignError(
                f"no image of split {design.sampling.split!r} of dataset {material.name!r} has boxes and a caption; "
                "import one with a column boxes (docs/formats.md).",
                field="sampling.split",
            )
        images = drawn_images(there, design.sampling.images, rng_for(design.seed, "images"))
        groups = [
            Group(image.name, (self.unit(design, image, text),))
            for image in images
            for text in self._drawn(design, image)
        ]
        usable = [image for image in division.controls if certain_links(image)]
        if needs_split(design.controls) and len(usable) < 2:
            raise DesignError(
                f"controls.per_hit asks for control items, but the control split {design.controls.split!r} has "
                f"{len(usable)} images with a caption that says a box's label word for word; at least two are needed "
                "(or set controls.per_hit = 0).",
                field="controls.split",
            )
        hits = hits_of(
            groups,
            design=design,
            size=design.units_per_hit,
            repeat_images=False,
            control_images=usable,
            make_control=partial(self._control, design),
        )
        return Batch(hits=hits)

    def _drawn(self, design: StudyDesign, image: Image) -> list[Text]:
        """The image's captions that are linked: all, or some drawn with the seed and kept in order."""
        wanted = design.sampling.references
        if wanted == "all" or int(wanted) >= len(image.references):
            return list(image.references)
        rng = rng_for(design.seed, f"captions {image.name}")
        chosen = sorted(rng.permutation(len(image.references))[: int(wanted)].tolist())
        return [image.references[place] for place in chosen]

    def unit(self, design: StudyDesign, image: Image, text: Text) -> UnitSpec:
        """A caption of an image with its boxes, frozen as they are."""
        return UnitSpec(
            key=content_key("unit", self.name, design.seed, image.name, text.key, _frozen(image)),
            image=image.name,
            first=text,
            content={"boxes": _frozen(image)},
        )

    def quiz_usable(self, image: Image) -> bool:
        """Where a caption says a label word for word."""
        return bool(certain_links(image))

    def quiz_group(
        self, design: StudyDesign, place: str, image: Image, images: Sequence[Image], rng: np.random.Generator
    ) -> Group:
        """As a control item."""
        return self._control(design, place, image, images, rng)

    def in_words(self, given: Any) -> str:
        """Word by word, counted from 1."""
        return ", ".join(f"{word + 1}. → {box}" for word, box in as_links(given).items()) or "–"

    def said_together(self, answer: Any, *, unit: Any) -> list[str]:
        """Each linked word and its box; the box's id only where two boxes have the same label."""
        words = unit.first.text.split()
        labels = {box["id"]: label_words(box["label"]) for box in unit.content["boxes"]}
        several = {label for label, count in Counter(labels.values()).items() if count > 1}
        said = []
        for word, box in as_links(answer).items():
            label = labels.get(box, box)
            said.append(f"{words[word]} → {label}" + (f" ({box})" if label in several else ""))
        return said

    def _control(
        self, design: StudyDesign, place: str, image: Image, images: Sequence[Image], rng: np.random.Generator
    ) -> Group:
        """A caption that says labels word for word; those links are expected, whatever else is linked."""
        text, links = shuffled(certain_links(image), rng)[0]
        unit = UnitSpec(
            key=content_key("control", self.name, design.seed, place, image.name, text.key),
            image=image.name,
            first=text,
            control=True,
            control_kind=REFERENCE,
            expected=links_of(links),
            content={"boxes": _frozen(image)},
        )
        return Group(image.name, (unit,))

    def shown(self, unit: Any, *, side: Any, picture_url: str) -> dict[str, Any]:
        """The image, its boxes, and the caption with its words; a word that cannot be linked is among them."""
        boxes = unit.content["boxes"]
        return {
            "image": {"url": picture_url, "alt": gettext("The image with its boxes")},
            "caption": {"text": unit.first.text},
            "words": [
                {"index": index, "text": token, "linked": bool(trimmed(token))}
                for index, token in enumerate(unit.first.text.split())
            ],
            "boxes": [
                {**box, "label": label_words(box["label"]), "tag": {"key": tag.key, "x": tag.x, "y": tag.y}}
                for box, tag in zip(boxes, tags_of(boxes), strict=True)
            ],
        }

    def checked(self, given: Any, *, unit: Any, design: StudyDesign) -> list[dict[str, Any]]:
        """Links by word; an empty list says that no word stands for a box."""
        if not isinstance(given, list) or not all(
            isinstance(one, Mapping) and set(one) == {"word", "box"} for one in given
        ):
            raise ValueError('expected a list of {"word": index, "box": id}')
        tokens = unit.first.text.split()
        known = {box["id"] for box in unit.content["boxes"]}
        links: Links = {}
        for one in given:
            word, box = one["word"], one["box"]
            if type(word) is not int or not 0 <= word < len(tokens) or not trimmed(tokens[word]):
                raise ValueError(f"word {word!r} is none of the caption; expected an index from 0")
            if not isinstance(box, str) or box not in known:
                raise ValueError(
                    f"box {box!r} is none of the picture; expected one of {', '.join(sorted(known))}"
                )
            if links.setdefault(word, box) != box:
                raise ValueError(f"word {word} has two boxes; expected one box a word")
        return links_of(links)

    def read_form(self, form: Mapping[str, Any], position: int, unit: Any) -> list[dict[str, Any]] | None:
        """``u<position>-w<word>``: the box's id, or nothing; ``u<position>-none``: no word stands for a box."""
        name = f"u{position}"
        links = {
            word: str(form[f"{name}-w{word}"])
            for word in range(len(unit.first.text.split()))
            if form.get(f"{name}-w{word}")
        }
        return links_of(links) if links or f"{name}-none" in form else None

    def consensus(self, units: Sequence[int], values: Sequence[Any]) -> dict[int, Consensus]:
        """``answer``: the links on which most agree, word by word, against "no box" as well.

        A word whose most frequent answers are equally frequent stays unlinked, and ``tie`` says so. ``share`` and
        ``margin`` are means over the words that anybody linked: of the winner, and of its lead over the runner-up.
        """
        given: dict[int, list[Links]] = {}
        for unit, value in zip(units, values, strict=True):
            given.setdefault(unit, []).append(as_links(value))
        return {unit: _majority(answers) for unit, answers in given.items()}

    def codes(self, unit: Any, given: Any) -> dict[str, float]:
        """For every word that can be linked, the number of its box from 1 in the order of the picture's boxes; 0 for no
        box."""
        number = {box["id"]: float(place) for place, box in enumerate(unit.content["boxes"], start=1)}
        links = as_links(given)
        return {
            str(word): number.get(links.get(word, ""), 0.0)
            for word, token in enumerate(unit.first.text.split())
            if trimmed(token)
        }

    def figures(self, judged: Sequence[Judged], *, seed: int) -> Figures:
        """``content_selection``: how well people select content (WG15 §5); for each unit the ``boxes`` it names."""
        # here and not above: the metrics' machine code would cost every web process its memory
        from judgments.kinds.links_figures import content_figures

        units = {one.unit.pk: one.unit for one in judged}
        found = self.consensus([one.unit.pk for one in judged], [one.given for one in judged])
        named: defaultdict[str, list[set[int]]] = defaultdict(list)
        boxes: dict[str, int] = {}
        for pk, unit in units.items():
            boxes[unit.item.name] = len(unit.content["boxes"])
            named[unit.item.name].append(set(box_numbers(found[pk].answer, unit.content["boxes"])))
        return Figures(
            units={pk: {"boxes": boxes_named(found[pk].answer)} for pk in units},
            study={"content_selection": content_figures(named, boxes, seed=seed)},
        )

    def is_right(self, given: Any, expected: Any) -> bool:
        """Whether the links that are expected are there; others say nothing."""
        links, wanted = as_links(given), as_links(expected)
        return all(links.get(word) == box for word, box in wanted.items())

    def draw_truth(
        self, unit: Any, qualities: Sequence[float], rng: np.random.Generator
    ) -> list[dict[str, Any]]:
        """Words that say a label link to its box; of the other boxes half are named by some word."""
        links = said_labels(unit.first.text, unit.content["boxes"])
        free = [word for word in _linkable(unit) if word not in links]
        for box in unit.content["boxes"]:
            if box["id"] not in links.values() and free and rng.random() < 0.5:
                links[free.pop(int(rng.integers(len(free))))] = box["id"]
        return links_of(links)

    def draw_answer(
        self, unit: Any, truth: Any, *, right: bool | None, rng: np.random.Generator
    ) -> list[dict[str, Any]]:
        """Right: the truth, a link overlooked now and then where none is certain; wrong: one link to another box or
        word; without looking: any links."""
        words, boxes = _linkable(unit), [box["id"] for box in unit.content["boxes"]]
        links = as_links(truth)
        if right is None:
            drawn = rng.permutation(len(words))[: int(rng.integers(0, 4))].tolist()
            return links_of({words[place]: boxes[int(rng.integers(len(boxes)))] for place in drawn})
        if right:
            certain = set(links) if unit.control else set(said_labels(unit.first.text, unit.content["boxes"]))
            return links_of({w: b for w, b in links.items() if w in certain or rng.random() >= MISSED})
        if links:
            word = shuffled(sorted(links), rng)[0]
            others = [box for box in boxes if box != links[word]]
            if others and rng.random() < 0.5:
                return links_of(links | {word: others[int(rng.integers(len(others)))]})
            return links_of({w: b for w, b in links.items() if w != word})
        return links_of({words[int(rng.integers(len(words)))]: boxes[0]} if words else {})

    def recovers(self, found: Consensus, truth: Any) -> bool:
        """The same links."""
        return found.answer == truth


def as_links(answer: Any) -> Links:
    """An answer as word -> box."""
    return {one["word"]: one["box"] for one in answer}


def links_of(links: Links) -> list[dict[str, Any]]:
    """word -> box as an answer, in the order of the words."""
    return [{"word": word, "box": links[word]} for word in sorted(links)]


def boxes_named(answer: Any) -> list[str]:
    """The boxes that a description names (the set G_m of WG15 eq. 1-3), in the order in which it does."""
    return list(dict.fromkeys(one["box"] for one in answer))


def box_numbers(answer: Any, boxes: Sequence[Mapping[str, Any]]) -> list[int]:
    """The same as numbers from 0 in the order of the picture's boxes, as ``evaluation.metrics.content`` takes them."""
    number = {box["id"]: place for place, box in enumerate(boxes)}
    return [number[box] for box in boxes_named(answer)]


def said_labels(caption: str, boxes: Sequence[Mapping[str, Any]]) -> Links:
    """The words of a caption that are the label of exactly one box, and stand there once (a label of several words:
    its last one)."""
    tokens = [trimmed(plain(token)) for token in caption.split()]
    heads: dict[str, list[str]] = {}
    for box in boxes:
        words = words_of(label_words(box["label"]))
        if words:
            heads.setdefault(words[-1], []).append(box["id"])
    return {
        tokens.index(head): ids[0] for head, ids in heads.items() if len(ids) == 1 and tokens.count(head) == 1
    }


def certain_links(image: Image) -> list[tuple[Text, Links]]:
    """The image's captions that say a label word for word, with the links that nobody can doubt."""
    found = [(text, said_labels(text.text, image.boxes)) for text in image.references]
    return [(text, links) for text, links in found if links]


def _frozen(image: Image) -> list[dict[str, Any]]:
    return [dict(box) for box in image.boxes]


def _linkable(unit: Any) -> list[int]:
    return [word for word, token in enumerate(unit.first.text.split()) if trimmed(token)]


def _majority(answers: Sequence[Links]) -> Consensus:
    n = len(answers)
    links: Links = {}
    votes: dict[str, int] = {}
    shares, margins = [], []
    tie = False
    for word in sorted({word for answer in answers for word in answer}):
        counts = Counter(answer.get(word, "") for answer in answers).most_common()
        votes |= {f"{word}:{box}": count for box, count in sorted(counts) if box}
        best, most = counts[0]
        runner_up = counts[1][1] if len(counts) > 1 else 0
        shares.append(most / n)
        margins.append((most - runner_up) / n)
        if most == runner_up:
            tie = True
        elif best:
            links[word] = best
    return Consensus(
        n=n,
        value=None,
        share=float(np.mean(shares)) if shares else 1.0,
        margin=float(np.mean(margins)) if margins else 1.0,
        tie=tie,
        votes=votes,
        answer=links_of(links),
    )
