"""Count the items and pages of a design on a real draw, before its pages of work are generated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from judgments.design.requirements import requirement_phrases, unsupported_requirements
from judgments.design.study_design import StudyDesign
from judgments.drawing.controls.pool import ControlPool, count_control_pool
from judgments.kinds import KINDS
from judgments.models import Dataset
from judgments.studies.generation.batches import build_batch
from judgments.studies.stopping import expected_share


@dataclass(frozen=True, slots=True)
class StudyPlan:
    """The amounts of a design.

    Attributes:
        units: the number of items, without control items.
        controls: the number of control items on all pages.
        judgments: the number of answers, including answers to control items.
        hours: the expected time of all participants together.
        asked: the expected share of ``judgments`` that workers are asked for; below 1 if the design stops early.
        pool: the number of distinct control items, and of HITs that a worker can do before a control item repeats.
        notes: counts and sentences about the draw, as in ``Batch.notes``, such as how many captions passed the
            design's filter.
        asks: a phrase about each requirement for workers.
        unsaid: those of ``asks`` that the crowd can neither state nor check. They prevent opening the study.
    """

    units: int
    controls: int
    hits: int
    judgments: int
    hours: float
    asked: float
    pool: ControlPool
    notes: dict[str, Any]
    asks: list[str]
    unsaid: list[str]


def plan_study(design: StudyDesign, dataset: Dataset, *, maker: int | None = None) -> StudyPlan:
    batch = build_batch(design, dataset, maker=maker)  # without other accounts' unpublished systems
    judgments = batch.place_count * design.judgments_per_unit  # places: items on pages, also control items
    return StudyPlan(
        units=batch.unit_count,
        controls=batch.control_count,
        hits=len(batch.hits),
        judgments=judgments,
        hours=judgments * design.seconds_per_unit / 3600,
        # a triplet study has a unit for each reference of a pair; other pairs have one unit
        asked=expected_share(
            design, units_per_pair=round(batch.unit_count / len(batch.pairs)) if batch.pairs else 1
        ),
        pool=count_control_pool(batch.hits, grouped=KINDS[design.protocol].grouped),
        notes=batch.notes,
        asks=list(requirement_phrases(design.workers).values()),
        unsaid=unsupported_requirements(design.workers, design.crowd_name),
    )
