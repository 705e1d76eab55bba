"""The base of formats with the consensus of answers, such as marked errors, with one line for each unit.

Units without included judgments are omitted, as are those without a row; their number is in the manifest.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from common.files import HashedFile
from evaluation.data.export.encodings import Encoding, ExportWork, write_line
from judgments.kinds import Consensus
from judgments.models import Study, Unit
from judgments.studies.designs import kind_of


class ConsensusEncoding(Encoding):
    suffix = "jsonl"
    tallies = True  # ``work.answers`` adds each judgment to ``work.tally``, for the signature
    count_name: str  # key of the number of lines in the counts of the manifest

    def __init__(self) -> None:
        self.counts = {self.count_name: 0, "left_out": 0}  # the first values of ``work.counts``

    def write_part(self, work: ExportWork, file: HashedFile) -> None:
        for unit_ids, answers_by_unit in work.answers():
            line_count = 0
            for unit, consensus in _consensus_of(work.study, answers_by_unit):
                row = self.row(unit, consensus)
                if row is not None:
                    write_line(file, row)
                    line_count += 1
            work.counts[self.count_name] += line_count
            units = Unit.objects.filter(pk__in=unit_ids, control=False)
            work.counts["left_out"] += units.count() - line_count

    @abstractmethod
    def row(self, unit: Unit, consensus: Consensus) -> dict[str, Any] | None:
        """Return a unit's line as a dict, or None to omit the unit."""


def caption_fields(unit: Unit, consensus: Consensus) -> dict[str, Any]:
    """Return the fields that every format of judged texts has in a row, with the text as ``caption``."""
    caption = unit.first
    assert caption is not None  # every unit of these kinds has one
    return {
        "image": unit.item.name,
        "unit": unit.key,
        "caption_id": caption.key,
        "caption": caption.text,
        "workers": consensus.n,
    }


def _consensus_of(
    study: Study, answers_by_unit: Mapping[int, Sequence[Any]]
) -> Iterator[tuple[Unit, Consensus]]:
    """Yield the units that have a consensus, and their consensus, in the order of ``answers_by_unit``."""
    unit_ids: list[int] = []  # the unit of each answer
    answers: list[Any] = []
    for unit_id, unit_answers in answers_by_unit.items():
        unit_ids += [unit_id] * len(unit_answers)
        answers += unit_answers
    if not answers:
        return
    consensus = kind_of(study).aggregation.consensus(unit_ids, answers)
    units = Unit.objects.select_related("item", "first", "second").in_bulk(list(answers_by_unit))
    for unit_id in answers_by_unit:
        if unit_id in consensus:
            yield units[unit_id], consensus[unit_id]
