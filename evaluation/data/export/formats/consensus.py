"""Export the consensus of open answers (keywords and links), with one line for each unit.

Units without included judgments are omitted, and their number is in the manifest.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

from common.files import HashedFile
from evaluation.data.export.parts import Encoding, ExportWork, write_line
from judgments.kinds import Consensus
from judgments.kinds.grounding import box_numbers, boxes_named
from judgments.kinds.keywords import sum_by_stem
from judgments.models import Study, Unit
from judgments.studies.designs import kind_of


class GoldLines(Encoding):
    suffix = "jsonl"
    tallies = True
    lines: str  # name of a line in the manifest

    def __init__(self) -> None:
        self.counts = {self.lines: 0, "left_out": 0}

    def write_part(self, work: ExportWork, file: HashedFile) -> None:
        for some, answers in work.answers():
            lines = 0
            for unit, consensus in _consensus_of(work.study, list(answers.items())):
                if (row := self.row(unit, consensus)) is not None:
                    write_line(file, row)
                    lines += 1
            work.counts[self.lines] += lines
            work.counts["left_out"] += Unit.objects.filter(pk__in=some, control=False).count() - lines

    @abstractmethod
    def row(self, unit: Unit, consensus: Consensus) -> dict[str, Any] | None:
        """Return a unit's line as a dict, or None to omit the unit."""


class KeywordLines(GoldLines):
    lines = "images"

    def row(self, unit: Unit, consensus: Consensus) -> dict[str, Any]:
        return {
            "image": unit.item.name,
            "unit": unit.key,
            "workers": consensus.n,
            "keywords": consensus.answer,
            "stems": sum_by_stem(consensus.answer),
        }


class GroundingLines(GoldLines):
    lines = "descriptions"

    def row(self, unit: Unit, consensus: Consensus) -> dict[str, Any]:
        labels = {box["id"]: box["label"] for box in unit.content["boxes"]}
        text, row = row_of_caption(unit, consensus)
        tokens = text.split()
        return row | {
            "tie": consensus.tie,
            "links": [
                {
                    **link,
                    "text": tokens[link["word"]],
                    "label": labels[link["box"]],
                    "votes": consensus.votes[f"{link['word']}:{link['box']}"],
                }
                for link in consensus.answer
            ],
            "boxes": boxes_named(consensus.answer),
            "box_numbers": box_numbers(consensus.answer, unit.content["boxes"]),
        }


def row_of_caption(unit: Unit, consensus: Consensus) -> tuple[str, dict[str, Any]]:
    """Return the judged text, and the fields that all formats have in its row."""
    caption = unit.first
    assert caption is not None  # every unit of these kinds has one
    return caption.text, {
        "image": unit.item.name,
        "unit": unit.key,
        "caption_id": caption.key,
        "caption": caption.text,
        "workers": consensus.n,
    }


def _consensus_of(study: Study, some: Sequence[tuple[int, list[Any]]]) -> Iterator[tuple[Unit, Consensus]]:
    answers = [(unit, answer) for unit, unit_answers in some for answer in unit_answers]
    if not answers:
        return
    consensus = kind_of(study).aggregation.consensus(
        [unit for unit, _ in answers], [answer for _, answer in answers]
    )
    units = Unit.objects.select_related("item", "first", "second").in_bulk([unit for unit, _ in some])
    for unit, _ in some:
        if unit in consensus:
            yield units[unit], consensus[unit]
