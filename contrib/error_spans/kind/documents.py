"""Draw whole documents: the texts of one system, or of two systems side by side, in the document's order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

from django.utils.translation import pgettext

from common.errors import DesignError
from contrib.error_spans.kind.drawing import text_unit
from contrib.error_spans.kind.screens import TEXTS_PER_SCREEN, join_on_screen, notes_of_screens, screen_count
from judgments.design.study_design import StudyDesign
from judgments.drawing.controls.splits import divide_images
from judgments.drawing.draws import draw_images, rng_for, shuffle
from judgments.drawing.material import LARGEST_PAGE, SCREENS, Batch, Group, Image, Material, Text, UnitSpec
from judgments.kinds.base import Kind


@dataclass(frozen=True, slots=True)
class _Run:
    """A sequence of texts that one or more systems gave for a document, in the document's order.

    ``column`` is the number of the run among the document's runs, from 1.
    """

    document: str
    column: int
    segments: tuple[tuple[Image, Text], ...]


def draw_documents(kind: Kind, design: StudyDesign, material: Material) -> Batch:
    """Draw documents. Each document stays on one page."""
    division = divide_images(design, material)
    runs = _group_runs(division.judged_images)
    names = list(dict.fromkeys(run.document for run in runs))
    if not runs:
        raise DesignError(
            pgettext(
                "staff",
                "spans.documents is true, but split %(split)r of dataset %(name)r has no item "
                "with both a document and a text of a system; expected a column document "
                "(contrib/error_spans/README.md).",
            )
            % {"split": design.sampling.split, "name": material.name},
            field="spans.documents",
        )
    images = [Image(name, "", ()) for name in names]
    drawn_documents = {
        image.name for image in draw_images(images, design.sampling.images, rng_for(design.seed, "images"))
    }
    drawn_runs = [run for run in runs if run.document in drawn_documents]
    groups = _group_passages(design, drawn_runs, division.judged_images)
    hits = kind.hits(design, groups, control_images=division.control_images)
    sentences = [
        f"Documents: {len(drawn_documents):,}, judged as {len(drawn_runs):,} texts of systems, "
        f"each by one person in its order."
    ]
    sizes = [len(hit.units) for hit in hits]
    largest, minutes = max(sizes), design.crowd.lease_minutes
    if largest * design.seconds_per_unit > minutes * 60:
        raise DesignError(
            pgettext(
                "staff",
                "Documents are not split, so the number of texts on the largest page is %(n)d. With seconds_per_unit "
                "= %(seconds)g, this page takes longer than crowd.lease_minutes = %(minutes)d; expected at least "
                "%(least)d.",
            )
            % {
                "n": largest,
                "seconds": design.seconds_per_unit,
                "minutes": minutes,
                "least": ceil(largest * design.seconds_per_unit / 60),
            },
            field="crowd.lease_minutes",
        )
    if longer := sum(size > design.units_per_hit for size in sizes):
        sentences.append(
            f"Pages longer than units_per_hit: {longer:,}, of up to {largest:,} texts; pay and lease_minutes are "
            "per page."
        )
    notes: dict[str, Any] = {LARGEST_PAGE: largest}
    if design.spans.contrastive:
        sentences += notes_of_screens(design, hits)
        notes[SCREENS] = max(map(screen_count, hits))
    return Batch(hits=hits, notes={"sentences": sentences, **notes})


def _group_runs(images: Sequence[Image]) -> list[_Run]:
    """Group each document's outputs by system, in import order. Equal sequences of texts become one run."""
    documents: dict[str, list[Image]] = {}
    for image in images:
        if (name := dict(image.fields).get("document", "").strip()) and image.outputs:
            documents.setdefault(name, []).append(image)
    runs: list[_Run] = []
    for name, segments in documents.items():
        # if a system has several texts, take the one that it ranks first
        first_texts: dict[str, dict[str, Text]] = {}
        for image in segments:
            for system, text in image.outputs:
                first_texts.setdefault(system, {}).setdefault(image.name, text)
        columns: dict[tuple[str, ...], _Run] = {}
        for texts in first_texts.values():
            parts = tuple((image, texts[image.name]) for image in segments if image.name in texts)
            text_ids = tuple(f"{image.name} {text.key}" for image, text in parts)
            columns.setdefault(text_ids, _Run(name, len(columns) + 1, parts))
        runs += columns.values()
    return runs


def _group_passages(design: StudyDesign, runs: Sequence[_Run], images: Sequence[Image]) -> list[Group]:
    """Return each run as a group.

    For texts side by side, return groups of two random runs of a document, item by item.
    """
    if not design.spans.contrastive:
        return [Group(run.document, _units_of(design, run)) for run in runs]
    order = {image.name: number for number, image in enumerate(images)}
    by_document: dict[str, list[_Run]] = {}
    for run in runs:
        by_document.setdefault(run.document, []).append(run)
    groups = []
    for document, runs_of_document in by_document.items():
        shuffled = shuffle(runs_of_document, rng_for(design.seed, f"screens {document}"))
        for start in range(0, len(shuffled), TEXTS_PER_SCREEN):
            sides = shuffled[start : start + TEXTS_PER_SCREEN]
            passage = f"{document}#{'+'.join(str(run.column) for run in sides)}"
            by_image: dict[str, list[UnitSpec]] = {}
            for run in sides:
                for unit in _units_of(design, run, passage=passage):
                    by_image.setdefault(unit.image, []).append(unit)
            units = [
                unit
                for part, name in enumerate(sorted(by_image, key=order.__getitem__), start=1)
                for unit in join_on_screen([_as_part(unit, part, len(by_image)) for unit in by_image[name]])
            ]
            groups.append(Group(document, tuple(units)))
    return groups


def _units_of(design: StudyDesign, run: _Run, *, passage: str = "") -> tuple[UnitSpec, ...]:
    before, units = "", []
    for part, (image, text) in enumerate(run.segments, start=1):
        document = {
            "name": f"{run.document}#{run.column}",
            "part": part,
            "of": len(run.segments),
            "before": before,
            **({"passage": passage} if passage else {}),
        }
        units.append(text_unit(design, image, text, content={"document": document}))
        before = text.text
    return tuple(units)


def _as_part(unit: UnitSpec, part: int, part_count: int) -> UnitSpec:
    """Return a unit as a numbered part of its document. Two texts side by side count as one part."""
    document = {**unit.content["document"], "part": part, "of": part_count}
    return replace(unit, content={**unit.content, "document": document})
