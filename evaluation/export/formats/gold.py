"""Gold standards from answers: keywords, and boxes that descriptions name.

Units without included judgments are omitted and counted.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from common.files import HashedFile
from common.streams import batched
from evaluation.export.encoding import Encoding, Work, write_line
from evaluation.export.rows import UNITS_AT_ONCE
from evaluation.export.snapshot import take_moment
from evaluation.judgment_sets import loaders
from judgments.kinds import KINDS, Consensus
from judgments.kinds.grounding import box_numbers, boxes_named
from judgments.kinds.keywords import stemmed
from judgments.models import Study, Unit


def keyword_gold(study: Study, *, stems: bool = True) -> dict[str, Counter[str]]:
    """Return image -> its multiset of tags R_j (MC12 §3.2), merged by ``stems`` as in the paper."""
    return {
        unit.item.name: Counter(stemmed(found.answer) if stems else found.answer)
        for unit, found in _all_decided(study)
    }


def content_gold(study: Study) -> dict[str, list[set[int]]]:
    """Return image -> the 0-based boxes that each description names (the sets G_m of WG15 eq. 1-3)."""
    gold: dict[str, list[set[int]]] = {}
    for unit, found in _all_decided(study):
        gold.setdefault(unit.item.name, []).append(set(box_numbers(found.answer, unit.content["boxes"])))
    return gold


class GoldLines(Encoding):
    suffix = "jsonl"
    tallies = True
    lines: str  # what they are called

    def __init__(self) -> None:
        self.counts = {self.lines: 0, "left_out": 0}

    def write_part(self, work: Work, file: HashedFile) -> None:
        for some, answers in work.answers():
            lines = 0
            for unit, found in _decided(work.study, list(answers.items())):
                write_line(file, self.row(unit, found))
                lines += 1
            work.counts[self.lines] += lines
            work.counts["left_out"] += Unit.objects.filter(pk__in=some, control=False).count() - lines

    @abstractmethod
    def row(self, unit: Unit, found: Consensus) -> dict[str, Any]: ...


class KeywordLines(GoldLines):
    """Write image, unit, number of workers, and keyword counts by word and by stem."""

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
    """Write a description with its majority links and named boxes."""

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
    for some in batched(loaders.counted_answers(study, take_moment(study)), UNITS_AT_ONCE):
        yield from _decided(study, some)


def _decided(study: Study, some: Sequence[tuple[int, list[Any]]]) -> Iterator[tuple[Unit, Consensus]]:
    answers = [(unit, given) for unit, own in some for given in own]
    if not answers:
        return
    found = KINDS[study.protocol].aggregation.consensus(
        [unit for unit, _ in answers], [given for _, given in answers]
    )
    units = Unit.objects.select_related("item", "first").in_bulk([unit for unit, _ in some])
    for unit, _ in some:
        if unit in found:
            yield units[unit], found[unit]
