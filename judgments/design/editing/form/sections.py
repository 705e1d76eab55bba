"""The steps and sections of a design's form, with the keys of a study file that a protocol uses."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from typing import Any, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from judgments.design.crowds import keys_of_absent_crowds
from judgments.design.editing.form.values import value_at
from judgments.design.quiz import is_quiz_on
from judgments.design.study_design import StudyDesign
from judgments.kinds import Kind

# The steps that hold fields, in order; "Check" and "Launch" follow.
DESIGN_STEPS = {
    "Data": "What is judged, and how much of it.",
    "Question": "What participants read.",
    "People": "Where they come from, and how many judge each item.",
    "Quality": "How careful answers are told from careless ones.",
    "Cost": "How long a page of work is, and what it pays.",
}
# Fields in sight at first; all others are folded under "Advanced".
UNFOLDED_FIELDS = {
    "name", "dataset", "sampling.pairs_from", "sampling.options", "question", "crowd.backend", "template.html",
    "judgments_per_unit", "units_per_hit", "images_per_hit", "captions_per_image", "controls.per_hit",
    "crowd.reward_cents", "crowd.budget_cents",
}  # fmt: skip

KIND_SECTION = "This kind"

# Key, table or mapping -> whether a kind uses it; some are used by none while a feature is off.
KEY_USES: dict[str, Callable[[Kind], object]] = {
    "captions_per_image": lambda kind: kind.grouped,
    "filter": lambda kind: kind.judges_one_caption,
    "images_per_hit": lambda kind: kind.grouped,
    "labels": lambda kind: kind.labelled,
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
    "source": lambda kind: not kind.no_source,
    "stopping": lambda kind: kind.aggregation.settles,
    "units_per_hit": lambda kind: not kind.grouped,
    "writing": lambda kind: kind.writes_captions,
}


@dataclass(frozen=True, slots=True)
class FormSection:
    """A group of the form, for one ``crowd`` or all ('').

    Attributes:
        keys: dotted, with blanks between them; ``table.*`` stands for all keys of a table or mapping.
        fields: those of ``keys`` that a kind uses, with its titles and descriptions.
    """

    step: str
    title: str
    text: str
    keys: str
    crowd: str = ""
    fields: dict[str, FieldInfo] = dataclass_field(default_factory=dict)


SECTIONS = (
    FormSection("Data", "Names and seed", "", "name slug dataset purpose seed"),
    FormSection(
        "Data", "Sampling", "Which images are judged.",
        "sampling.pairs.* sampling.pairs_from sampling.k sampling.task sampling.references sampling.foils "
        "sampling.listed sampling.source sampling.images sampling.split sampling.only "
        "sampling.not_in",
    ),
    FormSection(
        "Data", "Filter",
        "Leaves out pairs of image and caption that share hardly a word with the image's own captions (Bleu-pre, "
        "Hodosh et al. 2013).",
        "filter.*",
    ),
    FormSection("Data", KIND_SECTION, "", ""),
    FormSection(
        "Question", "Texts", "Instructions may use Markdown.",
        "question judged labels instructions examples language",
    ),
    FormSection(
        "Question", "Scale",
        "The answers that people choose from. Left empty: those of the kind. A study with a scale of its own has its "
        "words here.",
        "scale.low scale.high scale.step scale.labels",
    ),
    FormSection(
        "Question", "Source text",
        "The text of an item, shown beside what is judged: the document of a summary, the original of a translation.",
        "source.*",
    ),
    FormSection(
        "Question", "Other languages",
        "Participants choose the language of their page. A text that is left out is shown as it is written above.",
        "translations",
    ),
    FormSection(
        "People", "Crowd", "", "crowd.backend crowd.lease_minutes crowd.extensions judgments_per_unit"
    ),
    FormSection(
        "People", "Consent", "What participants read before they join. It may use Markdown.", "consent contact"
    ),
    FormSection(
        "People", "Personal data", "What is promised to participants. Say the same in the consent text.",
        "erasure.* retention.*",
    ),
    FormSection(
        "People", "Ethics board",
        "What a board asks and no other field says; it stands in the checklist for the board.",
        "ethics.*",
    ),
    FormSection("People", "Who may join", "Participants need no password.", "access.*"),
    FormSection(
        "People", "Who is asked for", "A crowd that cannot check a requirement refuses the study.",
        "workers.requirements workers.countries workers.approval_above workers.approved_at_least "
        "workers.hits_at_most workers.languages workers.devices workers.requires workers.forbids workers.grants "
        "workers.quotas",
    ),
    FormSection(
        "People", "Panel", "How it sends its people, and how they go back.",
        "panel.preset panel.hits crowd.fee_percent panel.worker panel.session panel.project panel.signature "
        "panel.finish panel.personal_codes panel.api crowd.screen_out_cents crowd.screen_outs crowd.demographics "
        "panel.addresses.* panel.codes.*",
        crowd="external",
    ),
    FormSection(
        "People", "Mechanical Turk",
        "Amazon closed it on 30 September 2026; choose a panel to pay people. These are for an emulator, or a server "
        "with the same API.",
        "crowd.question crowd.keywords crowd.masters crowd.live",
        crowd="mturk",
    ),
    FormSection(
        "Quality", "Check questions",
        "Items whose right answer is known (control items). Participants cannot see which they are.",
        "controls.per_hit controls.threshold controls.least controls.split controls.kinds controls.after "
        "controls.known",
    ),
    FormSection(
        "Quality", "Quiz",
        "What participants pass before the work. Without questions and items there is none.",
        "quiz.*",
    ),
    FormSection(
        "Quality", "Detectors", "They look for answers that are too fast, always on one side, or copied.",
        "rules workers.show_accuracy",
    ),
    FormSection(
        "Quality", "How answers are written",
        "For the detectors of pasted text, typing and the hidden line. What they find is a sign and no proof.",
        "writing.*",
    ),
    FormSection(
        "Quality", "Early stopping",
        "An item gets no more judgments than its outcome needs, and a page of work goes to no more participants than "
        "its items need. The first rule loses nothing: the outcome is that of all votes.",
        "stopping.*",
    ),
    FormSection(
        "Cost", "Size and time", "",
        "images_per_hit captions_per_image units_per_hit seconds_per_unit crowd.edit_minutes",
    ),
    FormSection(
        "Cost", "Pay", "A study belongs to the crowd it is first opened to.",
        "crowd.reward_cents crowd.budget_cents crowd.currency crowd.floor_cents_per_hour crowd.approve_after_hours "
        "crowd.title crowd.description crowd.lifetime_hours",
    ),
)  # fmt: skip


def sections_for(kind: Kind, values: dict[str, Any] | None = None) -> list[FormSection]:
    """Return the sections with the keys that the kind uses.

    Args:
        values: the design; those keys of crowds that are off are left out about which it says nothing.
    """
    without = set()
    if values is not None:
        without = {key for key in keys_of_absent_crowds() if not value_at(values, key)}
    sections = []
    for section in SECTIONS:
        used = kind.own_keys if section.title == KIND_SECTION else _keys_used(section, kind)
        keys = [key for key in used if key not in without]
        text = section.text
        if section.title == "Sampling" and kind.judges_one_caption:
            text = "Which captions are judged with which images."
        elif section.title == "Sampling" and kind.compares_pairs:
            text = "Leave all numbers of pairs empty to have 100 of each kind, or as many as there are."
        if keys:
            fields = {key: _field_for_kind(key, kind) for key in keys}
            sections.append(replace(section, text=text, fields=fields))
    return sections


def _keys_used(section: FormSection, kind: Kind) -> list[str]:
    keys: list[str] = []
    for key in section.keys.split():
        table = key.removesuffix(".*")
        if all(is_used(kind) for name, is_used in KEY_USES.items() if f"{table}.".startswith(f"{name}.")):
            keys += [key] if table == key else [f"{table}.{name}" for name in fields_in(field_of(table))]
    return keys


def fields_in(field: FieldInfo) -> dict[str, FieldInfo]:
    """Return the fields of a table, or of the keys that a mapping lists with titles and descriptions."""
    for table in (field.annotation, *get_args(field.annotation)):
        if (
            isinstance(table, type)
            and issubclass(table, BaseModel)
            and get_origin(field.annotation) is not tuple
        ):
            return table.model_fields
    members = {}
    for name, (title, description) in extra_of(field).get("keys", {}).items():
        members[name] = FieldInfo.from_annotation(get_args(field.annotation)[1])
        members[name].title, members[name].description = title, description
    return members


def field_of(key: str) -> FieldInfo:
    """Return the design's field of a dotted key. Raise KeyError."""
    fields = StudyDesign.model_fields
    for name in key.split("."):
        field = fields[name]
        fields = fields_in(field)
    return field


def extra_of(field: FieldInfo) -> dict[str, Any]:
    """Return a field's settings besides title and description.

    ``words`` are those of the choices, by value; ``radio`` asks for radio buttons; ``rows`` is the height; ``keys``
    are title and description of a mapping's keys.
    """
    return dict(field.json_schema_extra) if isinstance(field.json_schema_extra, dict) else {}


def _field_for_kind(key: str, kind: Kind) -> FieldInfo:
    """Return the field of a key with title and description in the words of a kind."""
    field = copy(field_of(key))
    if key == "controls.per_hit" and kind.grouped:
        field.title = "Check images on each page"
    elif key == "labels":
        answers = ", ".join(map(str, kind.labelled))
        field.description = f"One a line, for {answers}. Empty: built-in ones."
    elif key == "sampling.only" and kind.compares_pairs:
        field.title = "Only these candidate pairs"
    elif key == "sampling.references" and kind.judges_one_caption:
        field.description = "For people's captions: 'all' or a number."
    elif key == "sampling.references" and kind.compares_pairs:
        field.title = "References for each pair"
        field.description = "'all' or a number, drawn with the seed. A triplet is made of each."
    return field
