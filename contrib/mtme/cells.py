"""Add up people's answers to units for each system and image ("segment"): the cells of a ``JudgedSystems`` table.

There is a function for each kind of question: about one caption, about a pair, and about the best of several. Each
takes the answers by the unit's row id. ``file_credits`` are the systems to which an imported file credits a text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from contrib.mtme.judged_systems import JudgedSystems
from judgments.drawing.keys import text_key
from judgments.kinds import KINDS
from judgments.models import Unit
from quorum.statistics.aggregation.pair_answers import FIRST, SECOND, side_of


class Cell(NamedTuple):
    """What a unit adds to a cell of the table.

    Attributes:
        system, segment: numbers of the cell's row and column, from 0.
        total: the sum of the answers, as numbers.
        votes: the number of the answers.
    """

    system: int
    segment: int
    total: float
    votes: int


class UnitCells(NamedTuple):
    """The cells of several units, and how often an answer is about a caption of no system of the table."""

    cells: list[Cell]
    omitted_count: int


def cells_of_captions(table: JudgedSystems, answers: Mapping[int, Sequence[float]]) -> UnitCells:
    """Return the sum of the answers to each caption, for each system that is credited with it."""
    cells: list[Cell] = []
    omitted_count = 0
    units = Unit.objects.filter(pk__in=answers).values_list("pk", "item", "first__text_key", "systems")
    for pk, item, caption, file_credits in units:
        segment, votes = table.segments[item], answers[pk]
        systems = table.systems_with(segment, caption, file_credits)
        cells += [Cell(system, segment, sum(votes), len(votes)) for system in systems]
        omitted_count += 0 if systems else len(votes)
    return UnitCells(cells, omitted_count)


def cells_of_pairs(table: JudgedSystems, answers: Mapping[int, Sequence[float]]) -> UnitCells:
    """Return the number of votes for each caption of a pair. An answer for neither side is half a vote for each."""
    cells: list[Cell] = []
    omitted_count = 0
    fields = ("pk", "pair__item", "pair__first__text_key", "pair__first_system")
    units = Unit.objects.filter(pk__in=answers).values_list(
        *fields, "pair__second__text_key", "pair__second_system"
    )
    for pk, item, first_caption, first_system, second_caption, second_system in units:
        segment, votes = table.segments[item], answers[pk]
        sides = [side_of(int(vote)) for vote in votes]
        undecided_votes = sum(side not in (FIRST, SECOND) for side in sides)
        for system, caption, caption_side in (
            (first_system, first_caption, FIRST),
            (second_system, second_caption, SECOND),
        ):
            row = table.systems.get(system)
            if row is None or not table.has_text(row, segment, caption):
                omitted_count += len(votes)
            else:
                total = sides.count(caption_side) + 0.5 * undecided_votes
                cells.append(Cell(row, segment, total, len(votes)))
    return UnitCells(cells, omitted_count)


def cells_of_options(table: JudgedSystems, answers: Mapping[int, Sequence[Any]]) -> UnitCells:
    """Return the points of each shown caption. An answer gives 1 point to the best, -1 to the worst, and else 0."""
    cells: list[Cell] = []
    omitted_count = 0
    for unit in list(Unit.objects.filter(pk__in=answers).select_related("item", "study")):
        segment = table.segments[unit.item_id]
        # for each answer, the points of each option by its key, such as {"a": 1, "b": 0, "c": -1}
        codes = [KINDS[unit.study.protocol].aggregation.codes(unit, answer) for answer in answers[unit.pk]]
        options = unit.content["options"]
        # No list is stored if no file credits systems with the options.
        credits_of_options = unit.systems or [()] * len(options)
        for option, file_credits in zip(options, credits_of_options, strict=True):
            points = [code[option["key"]] for code in codes]
            systems = table.systems_with(segment, text_key(option["text"]), file_credits)
            cells += [Cell(system, segment, sum(points), len(points)) for system in systems]
            omitted_count += 0 if systems else len(points)
    return UnitCells(cells, omitted_count)
