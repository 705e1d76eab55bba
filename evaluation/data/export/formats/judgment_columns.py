"""The columns of a study's judgments file: which of ``JUDGMENT_COLUMNS`` it has, and where they are stored."""

from __future__ import annotations

from judgments.drawing.documents import document_in
from judgments.kinds import KINDS
from judgments.kinds.base import JUDGMENT_COLUMNS
from judgments.models import Item, Study
from judgments.studies.designs import design_of, has_chances

# The field of the unit that stores a caption's id or text, by column of the file.
CAPTION_PATHS = {
    "reference": "reference__key",
    "first": "first__key",
    "second": "second__key",
    "reference_text": "reference__text",
    "first_text": "first__text",
    "second_text": "second__text",
}

OPEN_COLUMNS = ("answer", "content")  # only if answers are open
ANSWERS = "answers"  # only if people can answer more than which of two candidates is better
SCALE = "scale"  # only if the study has a scale of its own
CHANCE = "chance"  # only if units were sampled with unequal probabilities
DOCUMENT = "document"  # only if items are parts of documents


def file_columns(study: Study) -> tuple[str, ...]:
    omitted_columns = columns_left_out(study)
    return tuple(name for name in JUDGMENT_COLUMNS if name not in omitted_columns)


def answers_setting(study: Study) -> str:
    """Return the value of the column ``answers``: answers besides the sides, as a two-sided kind's setting; or ""."""
    kind = KINDS[study.protocol]
    return kind.setting(design_of(study)) if kind.two_sided else ""


def study_scale(study: Study) -> str:
    """Return the value of the column ``scale``: the study's own scale, as the setting of a kind with a scale; or ""."""
    kind = KINDS[study.protocol]
    return kind.setting(design_of(study)) if kind.scale else ""


def _has_documents(study: Study) -> bool:
    fields = Item.objects.filter(dataset=study.dataset_id).exclude(fields=[]).values_list("fields", flat=True)
    return any(map(document_in, fields.iterator()))


def columns_left_out(study: Study) -> list[str]:
    """Return the columns of ``JUDGMENT_COLUMNS`` that the study's file does not have."""
    omitted_columns: list[str] = []
    if not KINDS[study.protocol].is_open:
        omitted_columns += OPEN_COLUMNS
    if not answers_setting(study):
        omitted_columns.append(ANSWERS)
    if not study_scale(study):
        omitted_columns.append(SCALE)
    if not (design_of(study).chosen or has_chances(study)):  # no item or unit had unequal probabilities
        omitted_columns.append(CHANCE)
    if not _has_documents(study):
        omitted_columns.append(DOCUMENT)
    return omitted_columns
