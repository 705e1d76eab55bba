"""Write the consensus as qrels or as Flickr8k's files."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from common.files import HashedFile
from evaluation.errors import ExportError
from evaluation.export.encoding import Encoding, Work
from judgments.kinds import KINDS
from judgments.models import Unit

GRADES_A_LINE = 3  # the expert file has three columns of grades


@dataclass(frozen=True, slots=True)
class UnitAnswers:
    pk: int
    image: str
    caption: str
    values: tuple[int, ...]


def unit_answers(work: Work) -> Iterator[list[UnitAnswers]]:
    for some, answers in work.answers():
        names = Unit.objects.filter(pk__in=some, control=False).order_by("position", "pk")
        rows = names.values_list("pk", "item__name", "first__key")
        yield [UnitAnswers(pk, image, caption, tuple(answers.get(pk, ()))) for pk, image, caption in rows]


def _name(text: str, *, what: str) -> str:
    if not text or text.split() != [text]:
        raise ExportError(f"The {what} {text!r} holds a blank; qrels separates its fields by blanks.")
    return text


class LineParts(Encoding):
    tallies = True
    counts = {"lines": 0, "left_out": 0}

    def write_part(self, work: Work, file: HashedFile) -> None:
        for units in unit_answers(work):
            for line in self.lines(work, units):
                if line is None:
                    work.counts["left_out"] += 1
                else:
                    file.write_text(f"{line}\n")
                    work.counts["lines"] += 1

    @abstractmethod
    def lines(self, work: Work, units: Sequence[UnitAnswers]) -> Iterator[str | None]:
        """Yield a unit's lines, or None for nothing."""


class Qrels(LineParts):
    """Write TREC relevance judgments: ``query 0 document relevance``.

    Relevance is the adjudicated answer or the consensus (``RelevanceScale.grade``). Units without either are
    omitted.
    """

    def __init__(self, task: str) -> None:
        self.task = task

    def lines(self, work: Work, units: Sequence[UnitAnswers]) -> Iterator[str | None]:
        kind, decisions = KINDS[work.study.protocol], work.moment.decisions
        assert kind.relevance is not None  # the format refuses other kinds
        if decisions:
            work.counts.setdefault("adjudicated", 0)
        places = [place for place, unit in enumerate(units) for _ in unit.values]
        values = [value for unit in units for value in unit.values]
        found = kind.aggregation.consensus(places, values) if values else {}
        for place, unit in enumerate(units):
            decision = decisions.get(unit.pk)
            if place not in found and decision is None:
                yield None
                continue
            if decision is not None:
                work.counts["adjudicated"] += 1
            value = found[place].value if decision is None else float(decision)
            assert value is not None  # these kinds have no ties
            image, caption = _name(unit.image, what="image"), _name(unit.caption, what="caption id")
            query, document = (image, caption) if self.task == "annotation" else (caption, image)
            yield f"{query} 0 {document} {kind.relevance.grade(value)}"


class Flickr8kCrowd(LineParts):
    """Write CrowdFlowerAnnotations.txt: image, caption id, share of yes, number of yes, number of no."""

    def lines(self, work: Work, units: Sequence[UnitAnswers]) -> Iterator[str | None]:
        for unit in units:
            n, yes = len(unit.values), sum(unit.values)
            yield f"{unit.image}\t{unit.caption}\t{yes / n:.15g}\t{yes}\t{n - yes}" if n else None


class Flickr8kExpert(LineParts):
    """Write ExpertAnnotations.txt: image, caption id, three grades sorted ascending.

    Units without exactly three included grades are omitted and counted.
    """

    def lines(self, work: Work, units: Sequence[UnitAnswers]) -> Iterator[str | None]:
        for unit in units:
            grades = "\t".join(str(grade) for grade in sorted(unit.values))
            fits = len(unit.values) == GRADES_A_LINE
            yield f"{unit.image}\t{unit.caption}\t{grades}" if fits else None
