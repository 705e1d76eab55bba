"""Export judgments of an image's captions: the consensus as TREC qrels, and votes in Flickr8k's formats.

Units without an answer that the format can write are omitted, and their number is in the manifest.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from common.files import HashedFile
from evaluation.data.export.encodings import Encoding, ExportWork
from evaluation.errors import ExportError
from judgments.models import Unit
from judgments.studies.designs import kind_of

GRADES_PER_LINE = 3  # the expert file has three columns of grades


@dataclass(frozen=True, slots=True)
class UnitAnswers:
    """A unit's image and caption, by name and id, and its included answers."""

    pk: int
    image: str
    caption: str
    values: tuple[int, ...]


def read_unit_answers(work: ExportWork) -> Iterator[list[UnitAnswers]]:
    """Yield batches of units, in order, with their included answers; the answers may be ()."""
    for unit_ids, answers in work.answers():
        units = Unit.objects.filter(pk__in=unit_ids, control=False).order_by("position", "pk")
        rows = units.values_list("pk", "item__name", "first__key")
        yield [UnitAnswers(pk, image, caption, tuple(answers.get(pk, ()))) for pk, image, caption in rows]


def _require_no_blank(text: str, *, noun: str) -> str:
    """Return the text. Raise ExportError, which names the text by ``noun``, if the text is empty or has a blank."""
    if not text or text.split() != [text]:
        raise ExportError(f"The {noun} {text!r} holds a blank; qrels separates its fields by blanks.")
    return text


class UnitLineEncoding(Encoding):
    """Base class of formats with a line for each unit."""

    tallies = True  # work.answers() adds all judgments to the export's signature
    counts = {"lines": 0, "left_out": 0}  # initial values of work.counts, which the manifest has

    def write_part(self, work: ExportWork, file: HashedFile) -> None:
        for units in read_unit_answers(work):
            for line in self.lines(work, units):
                if line is None:
                    work.counts["left_out"] += 1
                else:
                    file.write_text(f"{line}\n")
                    work.counts["lines"] += 1

    @abstractmethod
    def lines(self, work: ExportWork, units: Sequence[UnitAnswers]) -> Iterator[str | None]:
        """Yield a line for each unit, or None if the file omits the unit."""


class Qrels(UnitLineEncoding):
    """Write TREC relevance judgments: ``query 0 document relevance``.

    Relevance is the grade (``RelevanceScale.grade``) of the adjudicated answer, else of the consensus.
    """

    def lines(self, work: ExportWork, units: Sequence[UnitAnswers]) -> Iterator[str | None]:
        kind, decisions = kind_of(work.study), work.moment.decisions  # unit -> the adjudicated answer
        assert kind.relevance is not None  # studies of other kinds do not fit the format
        if decisions:  # only then, the manifest has this count
            work.counts.setdefault("adjudicated", 0)
        positions: list[int] = []  # for each answer, the position of its unit
        values: list[int] = []
        for position, unit in enumerate(units):
            positions += [position] * len(unit.values)
            values += unit.values
        consensus = kind.aggregation.consensus(positions, values) if values else {}
        for position, unit in enumerate(units):
            decision = decisions.get(unit.pk)
            if position not in consensus and decision is None:
                yield None
                continue
            if decision is not None:
                work.counts["adjudicated"] += 1
            value = consensus[position].value if decision is None else float(decision)
            assert value is not None  # the consensus of these kinds has no ties
            image = _require_no_blank(unit.image, noun="image")
            caption = _require_no_blank(unit.caption, noun="caption id")
            # The task "annotation" ranks captions for an image; "search" ranks images for a caption.
            query, document = (image, caption) if work.task == "annotation" else (caption, image)
            yield f"{query} 0 {document} {kind.relevance.grade(value)}"


class Flickr8k(UnitLineEncoding):
    """Write the image, the caption id, and the columns of Flickr8k's file with the study's scale."""

    def lines(self, work: ExportWork, units: Sequence[UnitAnswers]) -> Iterator[str | None]:
        columns = FLICKR8K_COLUMNS[kind_of(work.study).values]
        for unit in units:
            cells = columns(unit.values)
            yield f"{unit.image}\t{unit.caption}\t{cells}" if cells else None


def _crowd_columns(values: Sequence[float]) -> str:
    """Return the columns of CrowdFlowerAnnotations.txt: the share of yes, the number of yes, and the number of no."""
    n, yes = len(values), sum(values)
    return f"{yes / n:.15g}\t{yes}\t{n - yes}" if n else ""


def _expert_columns(values: Sequence[float]) -> str:
    """Return the columns of ExpertAnnotations.txt, which are exactly three grades, ascending."""
    return "\t".join(map(str, sorted(values))) if len(values) == GRADES_PER_LINE else ""


# The function that returns the columns of Flickr8k's file for a unit's answers, by the values of the scale.
FLICKR8K_COLUMNS: dict[tuple[float, ...], Callable[[Sequence[float]], str]] = {
    (0, 1): _crowd_columns,
    (1, 2, 3, 4): _expert_columns,
}
