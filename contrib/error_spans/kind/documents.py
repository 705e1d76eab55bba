"""Draw whole documents, whose texts are judged in the document's order.

A version of a document is the sequence of texts that a system gave for its items. Systems with equal texts share a
version. Versions are judged one by one, or two of them side by side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

from django.utils.translation import pgettext

from common.errors import DesignError
from contrib.error_spans.kind.drawing import make_text_unit
from contrib.error_spans.kind.screens import TEXTS_PER_SCREEN, describe_screens, join_on_screen, screen_count
from judgments.design.study_design import StudyDesign
from judgments.drawing.controls.splits import divide_images
from judgments.drawing.draws import draw_images, rng_for, shuffle
from judgments.drawing.material import LARGEST_PAGE, SCREENS, Batch, Group, Image, Material, Text, UnitSpec
from judgments.kinds.base import Kind


@dataclass(frozen=True, slots=True)
class _Version:
    """The texts that one or more systems gave for a document, in the document's order.

    Attributes:
        document: name of the document.
        number: number of the version among the document's versions, from 1.
        segments: the items of the document, with the text that was given for each.
    """

    document: str
    number: int
    segments: tuple[tuple[Image, Text], ...]


def draw_documents(kind: Kind, design: StudyDesign, material: Material) -> Batch:
    """Draw documents, and distribute their versions to pages of work. Each version stays on one page."""
    division = divide_images(design, material)
    versions = _versions_of_documents(division.judged_images)
    if not versions:
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
    # The setting sampling.images counts documents here, so documents are drawn in the place of images.
    names = dict.fromkeys(version.document for version in versions)
    documents = [Image(name, "", ()) for name in names]
    drawn_documents = {
        image.name for image in draw_images(documents, design.sampling.images, rng_for(design.seed, "images"))
    }
    drawn_versions = [version for version in versions if version.document in drawn_documents]
    groups = _group_units(design, drawn_versions, division.judged_images)
    hits = kind.hits(design, groups, control_images=division.control_images)
    sentences = [
        f"Documents: {len(drawn_documents):,}, judged as {len(drawn_versions):,} texts of systems, "
        f"each by one person in its order."
    ]
    page_sizes = [len(hit.units) for hit in hits]
    largest_size = max(page_sizes)
    _refuse_long_page(design, largest_size)
    if long_page_count := sum(size > design.units_per_hit for size in page_sizes):
        sentences.append(
            f"Pages longer than units_per_hit: {long_page_count:,}, of up to {largest_size:,} texts; pay and "
            "lease_minutes are per page."
        )
    notes: dict[str, Any] = {LARGEST_PAGE: largest_size}
    if design.spans.contrastive:
        sentences += describe_screens(design, hits)
        notes[SCREENS] = max(map(screen_count, hits))
    return Batch(hits=hits, notes={"sentences": sentences, **notes})


def _refuse_long_page(design: StudyDesign, largest_size: int) -> None:
    """Raise DesignError if the largest page takes longer than workers have. ``largest_size`` is its number of texts."""
    minutes = design.crowd.lease_minutes
    if largest_size * design.seconds_per_unit > minutes * 60:
        raise DesignError(
            pgettext(
                "staff",
                "Documents are not split, so the number of texts on the largest page is %(n)d. With seconds_per_unit "
                "= %(seconds)g, this page takes longer than crowd.lease_minutes = %(minutes)d; expected at least "
                "%(least)d.",
            )
            % {
                "n": largest_size,
                "seconds": design.seconds_per_unit,
                "minutes": minutes,
                "least": ceil(largest_size * design.seconds_per_unit / 60),
            },
            field="crowd.lease_minutes",
        )


def _versions_of_documents(images: Sequence[Image]) -> list[_Version]:
    """Return the versions of each document. Documents and items are in the order in which they were imported."""
    documents: dict[str, list[Image]] = {}
    for image in images:
        if (name := dict(image.fields).get("document", "").strip()) and image.outputs:
            documents.setdefault(name, []).append(image)
    versions: list[_Version] = []
    for name, segments in documents.items():
        # By system and name of the item. If a system has several texts, the one that it ranks first is taken.
        first_texts: dict[str, dict[str, Text]] = {}
        for image in segments:
            for system, text in image.outputs:
                first_texts.setdefault(system, {}).setdefault(image.name, text)
        version_by_texts: dict[tuple[str, ...], _Version] = {}
        for texts in first_texts.values():
            version_segments = tuple((image, texts[image.name]) for image in segments if image.name in texts)
            text_ids = tuple(f"{image.name} {text.key}" for image, text in version_segments)
            version_by_texts.setdefault(text_ids, _Version(name, len(version_by_texts) + 1, version_segments))
        versions += version_by_texts.values()
    return versions


def _group_units(design: StudyDesign, versions: Sequence[_Version], images: Sequence[Image]) -> list[Group]:
    """Return a group of units for each version or, if texts are side by side, for two random versions of a document.

    The last of an odd number of versions is alone. ``images`` are the items of all documents in order.
    """
    if not design.spans.contrastive:
        return [Group(version.document, _units_of(design, version)) for version in versions]
    image_positions = {image.name: position for position, image in enumerate(images)}
    versions_by_document: dict[str, list[_Version]] = {}
    for version in versions:
        versions_by_document.setdefault(version.document, []).append(version)
    groups = []
    for document, versions_of_document in versions_by_document.items():
        shuffled_versions = shuffle(versions_of_document, rng_for(design.seed, f"screens {document}"))
        for start in range(0, len(shuffled_versions), TEXTS_PER_SCREEN):
            shown_versions = shuffled_versions[start : start + TEXTS_PER_SCREEN]
            groups.append(Group(document, _units_side_by_side(design, shown_versions, image_positions)))
    return groups


def _units_side_by_side(
    design: StudyDesign, versions: Sequence[_Version], image_positions: Mapping[str, int]
) -> tuple[UnitSpec, ...]:
    """Return the units of versions of a document, item by item. The units of an item share a screen."""
    passage = f"{versions[0].document}#{'+'.join(str(version.number) for version in versions)}"
    units_by_image: dict[str, list[UnitSpec]] = {}
    for version in versions:
        for unit in _units_of(design, version, passage=passage):
            units_by_image.setdefault(unit.image, []).append(unit)
    units: list[UnitSpec] = []
    for part, name in enumerate(sorted(units_by_image, key=image_positions.__getitem__), start=1):
        parts = [_as_part(unit, part, len(units_by_image)) for unit in units_by_image[name]]
        units += join_on_screen(parts)
    return tuple(units)


def _units_of(design: StudyDesign, version: _Version, *, passage: str = "") -> tuple[UnitSpec, ...]:
    """Return the units of a version of a document.

    Args:
        passage: a name for the versions of the group together if texts are side by side; otherwise "".
    """
    units, previous_text = [], ""
    for part, (image, text) in enumerate(version.segments, start=1):
        document = {
            "name": f"{version.document}#{version.number}",
            "part": part,
            "of": len(version.segments),
            "before": previous_text,
            **({"passage": passage} if passage else {}),
        }
        units.append(make_text_unit(design, image, text, content={"document": document}))
        previous_text = text.text
    return tuple(units)


def _as_part(unit: UnitSpec, part: int, part_count: int) -> UnitSpec:
    """Return a unit as a numbered part of its document. Two texts side by side count as one part."""
    document = {**unit.content["document"], "part": part, "of": part_count}
    return replace(unit, content={**unit.content, "document": document})
