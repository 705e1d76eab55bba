"""Gold standards from a study's answers: keywords that people gave, boxes that descriptions name.

In the form in which ``evaluation.metrics.keywords`` and ``evaluation.metrics.content`` take them, and as JSON lines.
Used judgments count alone; units without any are left out and counted.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from common.files import HashedFile
from common.streams import batched
from evaluation.export.encoding import Encoding, Work
from evaluation.export.rows import UNITS_AT_ONCE
from evaluation.export.snapshot import take_moment
from evaluation.judgment_sets import loaders
from judgments.kinds import KINDS, Consensus
from judgments.kinds.grounding import box_numbers, boxes_named
from judgments.kinds.keywords import stemmed
from judgments.models import Study, Unit


def keyword_gold(study: Study, *, stems: bool = True) -> dict[str, Counter[str]]:
    """Image -> its multiset of tags R_j (MC12 §3.2): keyword -> how many workers gave it; merged by ``stems`` as in the
    paper, or as words."""
    return {
        unit.item.name: Counter(stemmed(found.answer) if stems else found.answer)
        for unit, found in _all_decided(study)
    }


def content_gold(study: Study) -> dict[str, list[set[int]]]:
    """Image -> for each of its descriptions the boxes it names, as numbers from 0 (the sets G_m of WG15 eq. 1-3)."""
    gold: dict[str, list[set[int]]] = {}
    for unit, found in _all_decided(study):
        gold.setdefault(unit.item.name, []).append(set(box_numbers(found.answer, unit.content["boxes"])))
    return gold


class GoldLines(Encoding):
    """JSON lines, one for each unit of which people said something together."""

    suffix = "jsonl"
    tallies = True
    lines: str  # what they are called

    def __init__(self) -> None:
        self.counts = {self.lines: 0, "left_out": 0}

    def write_part(self, work: Work, file: HashedFile) -> None:
        """The lines of the next units; those without a used judgment are left out and counted."""
        for some, answers in work.answers():
            lines = 0
            for unit, found in _decided(work.study, list(answers.items())):
                row = self.row(unit, found)
                file.write_text(json.dumps(row, ensure_ascii=False, separators=(", ", ": ")) + "\n")
                lines += 1
            work.counts[self.lines] += lines
            work.counts["left_out"] += Unit.objects.filter(pk__in=some, control=False).count() - lines

    @abstractmethod
    def row(self, unit: Unit, found: Consensus) -> dict[str, Any]:
        """What the line says."""


class KeywordLines(GoldLines):
    """Image, unit, how many workers, and the counts of keywords as words and with one stem merged."""

    lines = "images"

    def row(self, unit: Unit, found: Consensus) -> dict[str, Any]:
        return {
            "image": unit.item.name,
            "unit": unit.key,
            "workers": found.n,
            "keywords": found.answer,
            "stems": stemmed(found.answer),
        }


class GroundingLines(GoldLines):
    """A description with its links by majority and the boxes that it names."""

    lines = "descriptions"

    def row(self, unit: Unit, found: Consensus) -> dict[str, Any]:
        labels = {box["id"]: box["label"] for box in unit.content["boxes"]}
        caption = unit.first
        assert caption is not None  # every unit of its kind has one
        tokens = caption.text.split()
        return {
            "image": unit.item.name,
            "unit": unit.key,
            "caption_id": caption.key,
            "caption": caption.text,
            "workers": found.n,
            "tie": found.tie,
            "links": [
                {
                    **link,
                    "text": tokens[link["word"]],
                    "label": labels[link["box"]],
                    "votes": found.votes[f"{link['word']}:{link['box']}"],
                }
                for link in found.answer
            ],
            "boxes": boxes_named(found.answer),
            "box_numbers": box_numbers(found.answer, unit.content["boxes"]),
        }


def _all_decided(study: Study) -> Iterator[tuple[Unit, Consensus]]:
    """The units with used judgments in their order, each with what these say now."""
    for some in batched(loaders.counted_answers(study, take_moment(study)), UNITS_AT_ONCE):
        yield from _decided(study, some)


def _decided(study: Study, some: Sequence[tuple[int, list[Any]]]) -> Iterator[tuple[Unit, Consensus]]:
    """Of (unit row id, answers), in their order, those with answers."""
    answers = [(unit, given) for unit, own in some for given in own]
    if not answers:
        return
    found = KINDS[study.protocol].consensus([unit for unit, _ in answers], [given for _, given in answers])
    units = Unit.objects.select_related("item", "first").in_bulk([unit for unit, _ in some])
    for unit, _ in some:
        if unit in found:
            yield units[unit], found[unit]
