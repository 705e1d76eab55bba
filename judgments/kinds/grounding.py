"""Grounding (WG15 §3): workers link words of a caption to boxes of the picture. WG15 is Wang and Gaizauskas 2015.

A word is linked to at most one box. A box may have several words or none (eq. 1-3: "a woman ... her"). Words are the
caption's tokens between blanks, numbered from 0. A token without a letter or digit cannot be linked. An answer is a
list of links such as {"word": 1, "box": "b2"}; an empty list is valid, too.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from django.utils.translation import gettext

from common.errors import DesignError
from judgments.drawing.box_tags import label_words, place_tags
from judgments.drawing.controls.makers import REFERENCE, ControlMakers, ControlSlot
from judgments.drawing.controls.splits import divide_images, needs_split
from judgments.drawing.draws import draw_images, rng_for, shuffle
from judgments.drawing.keys import content_key
from judgments.drawing.material import Batch, Group, Image, Material, Text, UnitSpec
from judgments.kinds.base import (
    IncludedJudgment,
    KindResults,
    MetricComparison,
    OpenAggregation,
    OpenKind,
    Page,
    Results,
    ShownContent,
)
from judgments.kinds.consensus import Consensus, nan_as_none
from quorum.phrases import normalise_text, trim_punctuation, words_of

if TYPE_CHECKING:
    from judgments.design.study_design import StudyDesign

Links = dict[int, str]  # the id of the box to which a word is linked, by the number of the word
RANDOM_DRAWS = 20  # number of draws of random boxes for each description, to estimate the floor


class MajorityOfLinks(OpenAggregation):
    rule = "majority-of-links"
    tie_rule = "no-link"

    def combine(self, answers: list[list[dict[str, Any]]]) -> Consensus:
        """Return the majority link of each word. "No box" is a choice, too. A word with a tie is not linked.

        ``share`` and ``margin`` are means over the words that at least one worker linked. ``votes`` has the number of
        workers by word and box, such as {"3:b2": 4}.
        """
        links_of_answers = [links_by_word(answer) for answer in answers]
        n = len(answers)
        links: Links = {}
        votes: dict[str, int] = {}
        shares, margins = [], []
        tie = False
        for word in sorted(set[int]().union(*links_of_answers)):
            counts = Counter(answer.get(word, "") for answer in links_of_answers).most_common()
            votes |= {f"{word}:{box}": count for box, count in sorted(counts) if box}
            best_box, largest_count = counts[0]
            second_count = counts[1][1] if len(counts) > 1 else 0
            shares.append(largest_count / n)
            margins.append((largest_count - second_count) / n)
            if largest_count == second_count:
                tie = True
            elif best_box:
                links[word] = best_box
        return Consensus(
            n=n,
            share=float(np.mean(shares)) if shares else 1.0,
            margin=float(np.mean(margins)) if margins else 1.0,
            tie=tie,
            votes=votes,
            answer=links_as_answer(links),
        )

    def codes(self, unit: Any, answer: Any) -> dict[str, float]:
        """Return the number of each word's box, from 1; 0 for a word without a box."""
        numbers = {box["id"]: float(number) for number, box in enumerate(unit.content["boxes"], start=1)}
        links = links_by_word(answer)
        return {str(word): numbers.get(links.get(word, ""), 0.0) for word in linkable_words(unit)}


class NamedBoxes(Results):
    def figures(self, judgments: Sequence[IncludedJudgment], *, seed: int) -> KindResults:
        """Return how well people select the same boxes (WG15 §5), and the ids of the linked boxes of each unit.

        The former is ``content_selection`` of the study, and the latter is ``boxes`` of the units.
        """
        units = {judgment.unit.pk: judgment.unit for judgment in judgments}
        consensus = MajorityOfLinks().consensus(
            [judgment.unit.pk for judgment in judgments], [judgment.answer for judgment in judgments]
        )
        box_sets: defaultdict[str, list[set[int]]] = defaultdict(list)
        box_counts: dict[str, int] = {}
        for pk, unit in units.items():
            box_counts[unit.item.name] = len(unit.content["boxes"])
            box_sets[unit.item.name].append(
                set(linked_box_indices(consensus[pk].answer, unit.content["boxes"]))
            )
        return KindResults(
            units={pk: {"boxes": linked_boxes(consensus[pk].answer)} for pk in units},
            study={"content_selection": content_figures(box_sets, box_counts, seed=seed)},
        )


def content_figures(
    box_sets: Mapping[str, Sequence[Collection[int]]], box_counts: Mapping[str, int], *, seed: int
) -> dict[str, Any]:
    """Compare the boxes of each description with the boxes of the other descriptions of its image (WG15 §5).

    In the result, ``boxes_named`` is the mean number of boxes per description (WG15: 2.89), and ``floor`` is the value
    for as many random boxes (WG15 §4).

    Args:
        box_sets: the indices of the boxes that each description names, by image.
        box_counts: the number of boxes, by image.
    """
    # Imported lazily, since the metrics' machine code takes memory in every web process.
    from quorum.metrics.content import content_upper_bound

    bound = content_upper_bound(list(box_sets.values()))
    descriptions = list(chain.from_iterable(box_sets.values()))
    floor = _floor_figures(box_sets, box_counts, seed)
    return {
        "upper_bound": {
            name: {
                "value": nan_as_none(measure.mean),
                "deviation": nan_as_none(measure.sd),
                "n": bound.images - measure.undefined,
                "floor": floor[name],
            }
            for name, measure in (("precision", bound.precision), ("recall", bound.recall), ("f1", bound.f1))
        },
        "boxes_named": sum(map(len, descriptions)) / len(descriptions) if descriptions else None,
        "descriptions": len(descriptions),
        "images": bound.images,
        "reason": bound.reason,
        "signature": str(bound.signature),
    }


def _floor_figures(
    box_sets: Mapping[str, Sequence[Collection[int]]], box_counts: Mapping[str, int], seed: int
) -> dict[str, float | None]:
    """Return the figures for random boxes, averaged over images with two or more descriptions that name a box."""
    from quorum.metrics.content import content_selection

    generator = np.random.default_rng(seed)
    selections: list[list[int]] = []
    gold_sets: list[Sequence[Collection[int]]] = []
    image_indices: list[int] = []
    # The same images as for the upper bound. Sort, so that the draws do not depend on the order of judgments.
    names = sorted(name for name, sets in box_sets.items() if sum(map(bool, sets)) > 1)
    for image_index, name in enumerate(names):
        for size in sorted(len(indices) for indices in box_sets[name] if indices):
            for _ in range(RANDOM_DRAWS):
                selections.append(generator.permutation(box_counts[name])[:size].tolist())
                gold_sets.append(box_sets[name])
                image_indices.append(image_index)
    if not selections:
        return {"precision": None, "recall": None, "f1": None}
    scores = content_selection(selections, gold_sets)

    def mean_over_images(score_by_selection: npt.ArrayLike) -> float:
        means = np.bincount(image_indices, weights=score_by_selection) / np.bincount(image_indices)
        return float(means.mean())

    return {
        "precision": mean_over_images(scores.precision.images),
        "recall": mean_over_images(scores.recall.images),
        "f1": mean_over_images(scores.f1.images),
    }


class Box(ShownContent):
    id: str
    label: str
    x: float  # all four are shares of the picture's width or height
    y: float
    width: float
    height: float


class ShownBoxes(ShownContent):
    boxes: list[Box]


class Grounding(OpenKind):
    name = "grounding"
    title = "Grounding: which words refer to which boxes?"
    defaults = {
        "question": "Which words of the caption stand for which boxes?",
        "units_per_hit": 5,
        "seconds_per_unit": 25.0,
    }
    content = ShownBoxes
    marks_text = True
    page = Page("annotation/kinds/grounding.html", script="js/kinds/grounding.js", self_contained=False)
    aggregation = MajorityOfLinks()
    results = NamedBoxes()
    comparison = MetricComparison(
        refusal=(
            "the answers link words of a caption to objects and do not rate the caption. For the content "
            "selection measures, use the data in the export “grounding”."
        )
    )
    specific_formats = ("grounding",)
    required_item_content = ("boxes",)
    system_content = "boxes"  # what systems can name for an image, to be scored against what people name
    specific_keys = ("sampling.references",)

    def draw_batch(self, design: StudyDesign, material: Material) -> Batch:
        division = divide_images(design, material)
        images_with_boxes = [image for image in division.judged_images if image.boxes and image.references]
        if not images_with_boxes:
            raise DesignError(
                f"no image of split {design.sampling.split!r} of dataset {material.name!r} has boxes and a caption; "
                "import one with a column boxes (docs/formats.md).",
                field="sampling.split",
            )
        images = draw_images(images_with_boxes, design.sampling.images, rng_for(design.seed, "images"))
        groups = [
            Group(image.name, (self.unit(design, image, text),))
            for image in images
            for text in self._draw_texts(design, image)
        ]
        control_images = [image for image in division.control_images if certain_links(image)]
        if needs_split(design) and len(control_images) < 2:
            raise DesignError(
                f"controls.per_hit asks for check questions, but the control split {design.controls.split!r} has "
                f"{len(control_images)} images with a caption that says a box's label word for word; at least two are "
                "needed (or set controls.per_hit = 0).",
                field="controls.split",
            )
        return Batch(hits=self.hits(design, groups, control_images=control_images))

    def control_items(self, design: StudyDesign) -> ControlMakers:
        return ControlMakers(reference=self._control, quiz_usable=lambda image: bool(certain_links(image)))

    def _draw_texts(self, design: StudyDesign, image: Image) -> list[Text]:
        """Return the references of an image that are judged: all, or a random sample in their order."""
        reference_count = design.sampling.references
        if reference_count == "all" or int(reference_count) >= len(image.references):
            return list(image.references)
        rng = rng_for(design.seed, f"captions {image.name}")
        indices = sorted(rng.permutation(len(image.references))[: int(reference_count)].tolist())
        return [image.references[index] for index in indices]

    def unit(self, design: StudyDesign, image: Image, text: Text) -> UnitSpec:
        return UnitSpec(
            key=content_key("unit", self.name, design.seed, image.name, text.key, _boxes_of_image(image)),
            image=image.name,
            first=text,
            content={"boxes": _boxes_of_image(image)},
        )

    def describe_answer(self, answer: Any) -> str:
        return ", ".join(f"{word + 1}. → {box}" for word, box in links_by_word(answer).items()) or "–"

    def describe_consensus(self, answer: Any, *, unit: Any) -> list[str]:
        tokens = unit.first.text.split()
        labels = {box["id"]: label_words(box["label"]) for box in unit.content["boxes"]}
        repeated_labels = {label for label, count in Counter(labels.values()).items() if count > 1}
        links = []
        for word, box in links_by_word(answer).items():
            label = labels.get(box, box)
            links.append(f"{tokens[word]} → {label}" + (f" ({box})" if label in repeated_labels else ""))
        return links

    def _control(self, slot: ControlSlot, image: Image) -> Group:
        text, links = shuffle(certain_links(image), slot.rng)[0]
        shown_fields = {"first": text, "content": {"boxes": _boxes_of_image(image)}}
        unit = self.control_unit(slot, image, (text.key,), links_as_answer(links), REFERENCE, **shown_fields)
        return Group(image.name, (unit,))

    def present_unit(self, unit: Any, *, side: Any, picture_url: str) -> dict[str, Any]:
        boxes = unit.content["boxes"]
        return {
            "image": {"url": picture_url, "alt": gettext("The image with its boxes")},
            "caption": {"text": unit.first.text},
            "words": [  # "linked": whether a person can link the word
                {"index": index, "text": token, "linked": bool(trim_punctuation(token))}
                for index, token in enumerate(unit.first.text.split())
            ],
            "boxes": [
                {**box, "label": label_words(box["label"]), "tag": {"key": tag.key, "x": tag.x, "y": tag.y}}
                for box, tag in zip(boxes, place_tags(boxes), strict=True)
            ],
        }

    def clean_answer(self, answer: Any, *, unit: Any, design: StudyDesign | None) -> list[dict[str, Any]]:
        """Return the links sorted by word. An empty list is a valid answer. Raise ValueError for an invalid answer."""
        if not isinstance(answer, list) or not all(
            isinstance(link, Mapping) and set(link) == {"word", "box"} for link in answer
        ):
            raise ValueError('expected a list of {"word": index, "box": id}')
        tokens = unit.first.text.split()
        box_ids = {box["id"] for box in unit.content["boxes"]}
        links: Links = {}
        for link in answer:
            word, box = link["word"], link["box"]
            if type(word) is not int or not 0 <= word < len(tokens) or not trim_punctuation(tokens[word]):
                raise ValueError(f"word {word!r} is none of the caption; expected an index from 0")
            if not isinstance(box, str) or box not in box_ids:
                raise ValueError(
                    f"box {box!r} is none of the picture; expected one of {', '.join(sorted(box_ids))}"
                )
            if links.setdefault(word, box) != box:
                raise ValueError(f"word {word} has two boxes; expected one box a word")
        return links_as_answer(links)

    def read_form(self, form: Mapping[str, Any], position: int, unit: Any) -> list[dict[str, Any]] | None:
        """Read ``u<position>-w<word>`` (a box id or empty) and ``u<position>-none`` (no word has a box)."""
        name = f"u{position}"
        links = {
            word: str(form[f"{name}-w{word}"])
            for word in range(len(unit.first.text.split()))
            if form.get(f"{name}-w{word}")
        }
        return links_as_answer(links) if links or f"{name}-none" in form else None

    def is_right(self, answer: Any, expected: Any) -> bool:
        """Return whether the answer has the expected links. It may have further links."""
        links, expected_links = links_by_word(answer), links_by_word(expected)
        return all(links.get(word) == box for word, box in expected_links.items())


def links_by_word(answer: Any) -> Links:
    """Return the links of an answer by the number of their word. ``links_as_answer`` is the inverse."""
    return {link["word"]: link["box"] for link in answer}


def links_as_answer(links: Links) -> list[dict[str, Any]]:
    """Return links in the form of answers, in the order of words."""
    return [{"word": word, "box": links[word]} for word in sorted(links)]


def linked_boxes(answer: Any) -> list[str]:
    """Return the ids of the boxes that an answer links to words (G_m of WG15 eq. 1-3), in the order of these words."""
    return list(dict.fromkeys(link["box"] for link in answer))


def linked_box_indices(answer: Any, boxes: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return the indices, from 0, of the boxes that an answer links to words."""
    indices = {box["id"]: index for index, box in enumerate(boxes)}
    return [indices[box] for box in linked_boxes(answer)]


def labels_in_caption(caption: str, boxes: Sequence[Mapping[str, Any]]) -> Links:
    """Return links for words that are the label of exactly one box, or its last word, and occur once in the caption."""
    tokens = [trim_punctuation(normalise_text(token)) for token in caption.split()]
    ids_by_head: dict[str, list[str]] = {}
    for box in boxes:
        tokens_of_label = words_of(label_words(box["label"]))
        if tokens_of_label:
            ids_by_head.setdefault(tokens_of_label[-1], []).append(box["id"])
    return {
        tokens.index(head): ids[0]
        for head, ids in ids_by_head.items()
        if len(ids) == 1 and tokens.count(head) == 1
    }


def certain_links(image: Image) -> list[tuple[Text, Links]]:
    """Return the references of an image that contain labels of its boxes (``labels_in_caption``), with the links."""
    links_by_text = [(text, labels_in_caption(text.text, image.boxes)) for text in image.references]
    return [(text, links) for text, links in links_by_text if links]


def _boxes_of_image(image: Image) -> list[dict[str, Any]]:
    return [dict(box) for box in image.boxes]


def linkable_words(unit: Any) -> list[int]:
    return [word for word, token in enumerate(unit.first.text.split()) if trim_punctuation(token)]
