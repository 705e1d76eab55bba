"""The steps and sections of a design's form, with the study-file keys that a protocol uses.

A key is the dotted name of a field of `StudyDesign`, such as ``crowd.budget_cents``.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from typing import Any, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from judgments.design.crowds import keys_of_disabled_crowds
from judgments.design.editing.form.values import value_at
from judgments.design.quiz import is_quiz_on
from judgments.design.study_design import StudyDesign
from judgments.kinds import Kind

# The steps with fields, in order; "Check" and "Launch" follow.
DESIGN_STEPS = {
    "Data": "The dataset, and the items that are judged.",
    "Question": "The texts for participants.",
    "Participants": "Where participants come from, and how many participants judge each item.",
    "Quality": "How careless answers are detected.",
    "Cost": "The length of a page of work, and its pay.",
}
# Fields that are visible at first; all others are folded under "Advanced".
UNFOLDED_FIELDS = {
    "name", "dataset", "sampling.pairs_from", "sampling.options", "question", "crowd.backend", "template.html",
    "judgments_per_unit", "units_per_hit", "images_per_hit", "captions_per_image", "controls.per_hit",
    "crowd.reward_cents", "crowd.budget_cents",
}  # fmt: skip

KIND_SECTION = "Options of this protocol"  # the section with ``Kind.specific_keys``

# By key, or by the table or mapping that has keys: a function that returns whether a kind uses it. All kinds use the
# other keys. If a feature is off, no kind uses its keys.
KEY_USES: dict[str, Callable[[Kind], object]] = {
    "captions_per_image": lambda kind: kind.grouped,
    "filter": lambda kind: kind.judges_one_caption,
    "images_per_hit": lambda kind: kind.grouped,
    "labels": lambda kind: kind.labelled_values,
    "quiz": lambda kind: is_quiz_on(),
    "sampling.foils": lambda kind: kind.judges_one_caption,
    "sampling.k": lambda kind: kind.judges_one_caption,
    "sampling.listed": lambda kind: kind.judges_one_caption,
    "sampling.only": lambda kind: kind.supports_unit_ids,
    "sampling.pairs": lambda kind: kind.compares_pairs,
    "sampling.pairs_from": lambda kind: kind.judges_one_caption,
    "sampling.references": lambda kind: kind.compares_pairs or kind.judges_one_caption,
    "sampling.source": lambda kind: kind.compares_pairs,
    "sampling.task": lambda kind: kind.judges_one_caption,
    "scale": lambda kind: kind.scale,
    "source": lambda kind: not kind.no_source_reason,
    "stopping": lambda kind: kind.aggregation.supports_early_stopping,
    "units_per_hit": lambda kind: not kind.grouped,
    "writing": lambda kind: kind.writes_captions,
}


@dataclass(frozen=True, slots=True)
class FormSection:
    """A section of the form.

    Attributes:
        step: the key of ``DESIGN_STEPS`` to which the section belongs.
        text: an explanation below the title.
        crowd: the backend for whose studies the section is shown; "" for all studies.
        keys: dotted keys, separated by spaces; ``table.*`` stands for all keys of a table or mapping.
        fields: the fields of the keys that the kind uses, by key, with the kind's titles and descriptions.
    """

    step: str
    title: str
    text: str
    keys: str
    crowd: str = ""
    fields: dict[str, FieldInfo] = dataclass_field(default_factory=dict)


SECTIONS = (
    FormSection("Data", "Name, dataset and seed", "", "name slug dataset purpose seed"),
    FormSection(
        "Data", "Sampling", "The items to be judged.",
        "sampling.pairs.* sampling.pairs_from sampling.k sampling.task sampling.references sampling.foils "
        "sampling.listed sampling.source sampling.images sampling.split sampling.only "
        "sampling.not_in",
    ),
    FormSection(
        "Data", "Filter",
        "Leaves out texts that have almost no words in common with the references of the item "
        "(Bleu-pre, Hodosh et al. 2013).",
        "filter.*",
    ),
    FormSection("Data", KIND_SECTION, "", ""),
    FormSection(
        "Question", "Texts", "Instructions can use Markdown.",
        "question judged labels instructions examples language",
    ),
    FormSection(
        "Question", "Scale",
        "The answers that participants choose from. If empty, the answers of the protocol are used. "
        "Labels of a custom scale are also set here.",
        "scale.low scale.high scale.step scale.labels",
    ),
    FormSection(
        "Question", "Source text",
        "The source text of an item is shown next to the judged text. It is the document of a "
        "summary, or the original of a translation.",
        "source.*",
    ),
    FormSection(
        "Question", "Other languages",
        "Participants choose the language of their page. Texts without a translation are shown in the "
        "original language.",
        "translations",
    ),
    FormSection(
        "Participants", "Crowd", "", "crowd.backend crowd.lease_minutes crowd.extensions judgments_per_unit"
    ),
    FormSection(
        "Participants", "Consent", "Participants read this text before they join. It can use Markdown.",
        "consent contact",
    ),
    FormSection(
        "Participants", "Personal data",
        "These are promises to participants. The consent text should say the same.",
        "erasure.* retention.*",
    ),
    FormSection(
        "Participants", "Ethics board",
        "Questions of an ethics board that no other field answers. Your answers appear in the "
        "checklist for the board.",
        "ethics.*",
    ),
    FormSection("Participants", "Who may join", "Participants need no password.", "access.*"),
    FormSection(
        "Participants", "Requirements",
        "If the crowd cannot check a requirement, the study cannot be opened.",
        "workers.requirements workers.countries workers.approval_above workers.approved_at_least "
        "workers.hits_at_most workers.languages workers.devices workers.requires workers.forbids workers.grants "
        "workers.quotas",
    ),
    FormSection(
        "Participants", "Panel", "How the panel sends participants, and how participants return to the panel.",
        "panel.preset panel.hits crowd.fee_percent panel.worker panel.session panel.project panel.signature "
        "panel.finish panel.personal_codes panel.api crowd.screen_out_cents crowd.screen_outs crowd.demographics "
        "panel.addresses.* panel.codes.*",
        crowd="external",
    ),
    FormSection(
        "Participants", "Mechanical Turk",
        "Amazon closed Mechanical Turk on 30 September 2026. These settings are for an emulator, or "
        "for a server with the same API. To pay participants, choose a panel.",
        "crowd.question crowd.keywords crowd.masters crowd.live",
        crowd="mturk",
    ),
    FormSection(
        "Quality", "Check questions",
        "Items whose right answer is known. Participants cannot tell which ones they are.",
        "controls.per_hit controls.threshold controls.least controls.split controls.kinds controls.after "
        "controls.known",
    ),
    FormSection(
        "Quality", "Quiz",
        "Participants take the quiz before they work. If it has no questions and no known items, "
        "there is no quiz.",
        "quiz.*",
    ),
    FormSection(
        "Quality", "Detectors",
        "Detectors look for answers that are too fast, always on one side, or copied.",
        "rules workers.show_accuracy",
    ),
    FormSection(
        "Quality", "How answers are written",
        "The detectors of pasted text, typing and the hidden line use these records. A finding of "
        "a detector is a hint, not a proof.",
        "writing.*",
    ),
    FormSection(
        "Quality", "Early stopping",
        "An item gets no more judgments when its outcome is decided. With the rule “Stop when one "
        "answer has the required lead”, the outcome can differ from the one that all planned "
        "judgments would give.",
        "stopping.*",
    ),
    FormSection(
        "Cost", "Size, time and pay", "",
        "images_per_hit captions_per_image units_per_hit seconds_per_unit crowd.edit_minutes",
    ),
    FormSection(
        "Cost", "Pay", "The crowd cannot be changed after the study has been opened.",
        "crowd.reward_cents crowd.budget_cents crowd.currency crowd.floor_cents_per_hour crowd.approve_after_hours "
        "crowd.title crowd.description crowd.lifetime_hours",
    ),
)  # fmt: skip


def sections_for(kind: Kind, values: dict[str, Any] | None = None) -> list[FormSection]:
    """Return the sections with the keys that the kind uses.

    Args:
        values: the design. Keys of disabled crowds are left out unless the design sets them.
    """
    disabled_keys = set()
    if values is not None:
        disabled_keys = {key for key in keys_of_disabled_crowds() if not value_at(values, key)}
    sections = []
    for section in SECTIONS:
        used_keys = kind.specific_keys if section.title == KIND_SECTION else _used_keys(section, kind)
        keys = [key for key in used_keys if key not in disabled_keys]
        text = section.text
        if section.title == "Sampling" and kind.judges_one_caption:
            text = "The texts to be judged for each item."
        elif section.title == "Sampling" and kind.compares_pairs:
            text = (
                "If you leave all numbers empty, 100 pairs of each kind are used. If a kind has fewer than "
                "100 pairs, all its pairs are used."
            )
        if keys:
            fields = {key: _field_for_kind(key, kind) for key in keys}
            sections.append(replace(section, text=text, fields=fields))
    return sections


def _used_keys(section: FormSection, kind: Kind) -> list[str]:
    """Return the keys of a section that the kind uses. A table is replaced by its keys."""
    keys: list[str] = []
    for key in section.keys.split():
        table = key.removesuffix(".*")  # the key itself if it has no ".*"
        # a key is used if its own entry and those of its tables say so
        conditions = [is_used for name, is_used in KEY_USES.items() if f"{table}.".startswith(f"{name}.")]
        if not all(is_used(kind) for is_used in conditions):
            continue
        if key == table:
            keys.append(key)
        else:
            keys += [f"{table}.{name}" for name in fields_in(field_of(table))]
    return keys


def model_of(field: FieldInfo) -> type[BaseModel] | None:
    """Return the model of a table, or of each row of a list of tables; None for other fields."""
    for member in (field.annotation, *get_args(field.annotation)):
        if isinstance(member, type) and issubclass(member, BaseModel):
            return member
    return None


def fields_in(field: FieldInfo) -> dict[str, FieldInfo]:
    """Return the fields of a table, or of those keys of a mapping that have titles; {} for other fields."""
    table = model_of(field)
    if table is not None and get_origin(field.annotation) is not tuple:
        return table.model_fields
    members = {}
    for name, (title, description) in extra_of(field).get("keys", {}).items():
        _, value_type = get_args(field.annotation)
        members[name] = FieldInfo.from_annotation(value_type)
        members[name].title, members[name].description = title, description
    return members


def field_of(key: str) -> FieldInfo:
    """Return the design's field for a dotted key. Raise KeyError if there is none."""
    fields = StudyDesign.model_fields
    for name in key.split("."):
        field = fields[name]
        fields = fields_in(field)
    return field


def extra_of(field: FieldInfo) -> dict[str, Any]:
    """Return what a field of the design tells the form besides its title and description.

    The keys are ``words``, the labels of the choices by value; ``radio``, whether to show radio buttons; ``rows``, the
    height of the text area; and ``keys``, the titles and descriptions of a mapping's keys.
    """
    return dict(field.json_schema_extra) if isinstance(field.json_schema_extra, dict) else {}


def _field_for_kind(key: str, kind: Kind) -> FieldInfo:
    """Return the field for a key, with title and description as the kind words them."""
    field = copy(field_of(key))
    if key == "controls.per_hit" and kind.grouped:
        field.title = "Check questions (items) on each page"
    elif key == "labels":
        answers = ", ".join(map(str, kind.labelled_values))
        field.description = f"One label per line, for {answers} in this order. Empty: built-in labels."
    elif key == "sampling.only" and kind.compares_pairs:
        field.title = "Use only these candidate pairs"
    elif key == "sampling.references" and kind.judges_one_caption:
        field.description = "'all', or the number of texts. Used only if people's texts are judged."
    elif key == "sampling.references" and kind.compares_pairs:
        field.title = "References for each pair"
        field.description = "'all', or the number of references to sample. Each reference gives one triplet."
    return field
