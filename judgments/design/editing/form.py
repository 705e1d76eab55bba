"""The design form: steps with sections, and a field for each key of a study file that the protocol uses.

Labels and help are those of the design's fields. Each step has fields in sight and folded sections.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy, deepcopy
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from functools import cache
from typing import Annotated, Any, Literal, get_args, get_origin

from django import forms
from django.core.exceptions import ValidationError
from django.forms import BoundField
from django.utils.translation import gettext, gettext_lazy, gettext_noop
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminRadioSelectWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanWidget,
)

from common.amounts import AmountField
from common.errors import DesignError
from common.incoming import HEAD, TextRefused, uploaded_text
from judgments.design.crowds import keys_of_absent_crowds
from judgments.design.editing.rows import (
    MOST_ROWS,
    RowsField,
    TranslationsField,
    columns_of,
    describe_rows,
    describe_translations,
)
from judgments.design.panels import SIGNATURE, Panel, makes_own_links
from judgments.design.quiz import QUIZ_PRESETS, is_quiz_on
from judgments.design.reading import (
    NO_PRESETS,
    PRESETS,
    Preset,
    line_of,
    make_design,
    problems_in,
    slugify_name,
    toml_values,
)
from judgments.design.requirements import REQUIREMENT_PRESETS, Workers
from judgments.design.study_design import USUAL, USUAL_CURRENCY, StudyDesign, currency_named
from judgments.design.tables import PAIR_KINDS, Access, Controls, Crowd
from judgments.kinds import KINDS, Kind
from judgments.templatetags.judgments_tags import cents

# Those that hold fields, in order; "Check" and "Launch" follow.
DESIGN_STEPS = {
    "Data": "What is judged, and how much of it.",
    "Question": "What participants read.",
    "People": "Where they come from, and how many judge each item.",
    "Quality": "How careful answers are told from careless ones.",
    "Cost": "How long a page of work is, and what it pays.",
}
# In sight at first; all other fields are folded under "Advanced".
IN_SIGHT = {
    "name", "dataset", "sampling.pairs_from", "sampling.options", "question", "crowd.backend", "template.html",
    "judgments_per_unit", "units_per_hit", "images_per_hit", "captions_per_image", "controls.per_hit",
    "crowd.reward_cents", "crowd.budget_cents",
}  # fmt: skip


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


KIND_SECTION = "This kind"
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
# Keys, tables and mappings that only some kinds use, or none while a feature is off.
USED_BY: dict[str, Callable[[Kind], object]] = {
    "captions_per_image": lambda kind: kind.grouped,
    "filter": lambda kind: kind.judges_one_caption,
    "images_per_hit": lambda kind: kind.grouped,
    "labels": lambda kind: kind.labelled,
    "quiz": lambda kind: is_quiz_on(),
    "sampling.foils": lambda kind: kind.judges_one_caption,
    "sampling.k": lambda kind: kind.judges_one_caption,
    "sampling.listed": lambda kind: kind.judges_one_caption,
    "sampling.only": lambda kind: kind.chosen_by_id,
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
        if all(is_used(kind) for name, is_used in USED_BY.items() if f"{table}.".startswith(f"{name}.")):
            keys += [key] if table == key else [f"{table}.{name}" for name in _fields_in(field_of(table))]
    return keys


def _fields_in(field: FieldInfo) -> dict[str, FieldInfo]:
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
        fields = _fields_in(field)
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


REQUIREMENTS = "workers.requirements"
IN_CENTS = ", in cents"  # ends the titles of keys that hold money
MOST_FOLDED = 6
LONGEST_FOLDED = 40  # characters of a value that stands beside "Advanced"
NAMES = ("name", "slug", "dataset")  # what a design to start from lacks


class AllOrNumberField(forms.CharField):
    def to_python(self, value: Any) -> Any:
        text = str(super().to_python(value)).strip().lower()
        if text in ("", "all"):
            return "all" if text else ""
        if not text.isascii() or not text.isdigit() or int(text) < 1:
            raise forms.ValidationError(
                gettext("This is %(value)r; expected 'all' or a whole number from 1 on.") % {"value": value}
            )
        return int(text)


class TypedField(forms.CharField):
    def __init__(self, *, rows: int, **options: Any) -> None:
        widget = UnfoldAdminTextareaWidget(attrs={"rows": rows, "spellcheck": "false"})
        super().__init__(required=False, widget=widget, **options)


class LinesField(TypedField):
    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, (list, tuple)) else value

    def to_python(self, value: Any) -> Any:
        return [line.strip() for line in str(super().to_python(value)).splitlines() if line.strip()]


class PointsField(LinesField):
    """The words of points of a scale, one point a line: 1 = bad."""

    def prepare_value(self, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        return "\n".join(f"{point} = {label}" for point, label in value.items())

    def to_python(self, value: Any) -> Any:
        labels = {}
        for number, line in enumerate(super().to_python(value), start=1):
            point, equals, text = (part.strip() for part in line.partition("="))
            if not (point and equals and text):
                raise forms.ValidationError(
                    gettext(
                        "Line %(number)d is %(line)r; expected a number, = and its words, such as 1 = bad."
                    )
                    % {"number": number, "line": line}
                )
            labels[point] = text
        return labels


class PairsField(LinesField):
    """A list of pairs, one a line with a tab between."""

    def prepare_value(self, value: Any) -> Any:
        if not isinstance(value, (list, tuple)):
            return value
        return "\n".join("\t".join(pair) for pair in value)

    def to_python(self, value: Any) -> Any:
        pairs = [[cell.strip() for cell in line.split("\t")] for line in super().to_python(value)]
        for number, pair in enumerate(pairs, start=1):
            if len(pair) != 2 or not all(pair):
                raise forms.ValidationError(
                    gettext("Line %(number)d has %(cells)d cells; expected an image, a tab and a caption.")
                    % {"number": number, "cells": len(pair)}
                )
        return pairs


def starting_values(
    *, preset: str = "", protocol: str = "", saved: Mapping[str, Preset] = NO_PRESETS
) -> dict[str, Any]:
    values = dict.fromkeys(NAMES, "new") | ({"preset": preset} if preset else {"protocol": protocol})
    return make_design(values, saved=saved).model_dump(mode="json") | dict.fromkeys(NAMES, "")


def values_from_toml(text: str, *, saved: Mapping[str, Preset] = NO_PRESETS) -> dict[str, Any]:
    """Return a complete design from a study file that may lack name, slug and dataset.

    Raises:
        DesignError: the file is refused; the sentence begins with the line.
    """
    values = toml_values(text, source="This")
    open_keys = [key for key in NAMES if not values.get(key)]
    try:
        design = make_design(values | dict.fromkeys(open_keys, "new"), saved=saved)
    except DesignError as error:
        line = line_of(text, error.field)
        at_line = gettext("Line %(line)d: %(error)s") % {"line": line, "error": error} if line else str(error)
        raise DesignError(at_line, field=error.field) from None
    return design.model_dump(mode="json") | dict.fromkeys(open_keys, "")


def field_of_key(key: str, design: StudyDesign) -> str:
    """Return the field of the form that a key of the design stands at, or "": not every kind asks for every key."""
    form = DesignForm(base=design.model_dump(mode="json"), datasets=[design.dataset])
    if key == "sampling.pairs":  # the first of those in sight
        key = next(iter(form.pair_keys_in_sight()), key)
    name = html_name(key)
    return name if name in form.fields else ""


QUOTED = re.compile(r"""(['"])([\w-]*)\1""")
TRUTH = re.compile(r"\b(true|false)\b")
TABLE = re.compile(rf"^(?:{'|'.join(StudyDesign.model_fields)}): ")  # what is said of a whole table
ROW = r"((?:\.\d+)?(?:\.[a-z_]+)*)"  # what may follow the key of a list: the number of its row and a column


def in_labels(sentence: str, design: StudyDesign | Mapping[str, Any]) -> str:
    """Put the labels of the form where a sentence names keys of a study file, and the words of their choices.

    Args:
        design: whose form it is, or its study file, right or wrong.
    """
    values = dict(design) if isinstance(design, Mapping) else design.model_dump()
    fields, pattern = _fields_by_name(str(values.get("protocol", "")), bool(value_at(values, "source.show")))
    mentioned: list[FieldInfo] = []

    def label(match: re.Match[str]) -> str:
        field = fields[match[1] or match[3]]
        mentioned.append(field)
        text = f"“{gettext(field.title or '')}”"
        number, _, column = (match[2] or "").lstrip(".").partition(".")
        if number.isdecimal():
            text += gettext(", row %(number)d") % {"number": int(number) + 1}
            title = next((inner.title for name, inner in _columns(field).items() if name == column), "")
            text += f", “{gettext(title)}”" if title else ""
        return text

    sentence = TABLE.sub("", pattern.sub(label, sentence))
    choices = {
        str(value): text for field in mentioned for value, text in extra_of(field).get("words", {}).items()
    }
    sentence = QUOTED.sub(
        lambda match: f"“{gettext(choices[match[2]])}”" if match[2] in choices else match[0], sentence
    )
    if any(field.annotation is bool for field in mentioned):
        sentence = TRUTH.sub(lambda match: gettext("yes") if match[1] == "true" else gettext("no"), sentence)
    return sentence


@cache
def _fields_by_name(protocol: str, of_source_texts: bool) -> tuple[dict[str, FieldInfo], re.Pattern[str]]:
    """Return the fields by key, and the pattern of keys in a sentence: a word alone is one only where it begins."""
    fields = dict(_all_fields("", StudyDesign.model_fields))
    if protocol in KINDS:
        fields |= {
            key: field for section in sections_for(KINDS[protocol]) for key, field in section.fields.items()
        }
    for key, title in OF_SOURCE_TEXTS.items() if of_source_texts else ():
        fields[key] = copy(fields[key])
        fields[key].title = title
    last_parts = [key.rpartition(".")[2] for key in fields]
    for key, last in zip(list(fields), last_parts, strict=True):
        if "_" in last and last_parts.count(last) == 1:
            fields.setdefault(last, fields[key])
    names = sorted(fields, key=len, reverse=True)
    anywhere = "|".join(re.escape(name) for name in names if "." in name or "_" in name)
    first = "|".join(re.escape(name) for name in names)
    return fields, re.compile(rf"(?<![\w.])({anywhere})\b{ROW}|^({first})\b(?=[ :])")


def _all_fields(table: str, fields: dict[str, FieldInfo]) -> Iterator[tuple[str, FieldInfo]]:
    for name, field in fields.items():
        if field.title:
            yield f"{table}{name}", field
        yield from _all_fields(f"{table}{name}.", _fields_in(field))


def _columns(field: FieldInfo) -> dict[str, FieldInfo]:
    members = get_args(field.annotation) if get_origin(field.annotation) is tuple else ()
    tables = [member for member in members if isinstance(member, type) and issubclass(member, BaseModel)]
    return tables[0].model_fields if tables else {}


def describe_value(key: str, value: Any) -> str:
    """Format as the form does; a dash if empty."""
    if isinstance(value, bool):
        return gettext("yes") if value else gettext("no")
    if is_money(key):
        return cents(value)
    if value is None or value in ("", []):
        return "–"
    if key == "scale.labels":
        return ", ".join(f"{point}: {label}" for point, label in value.items())
    if isinstance(value, dict):
        return describe_translations(value)
    if isinstance(value, list):
        shown = _list_field(field_of(key))
        if isinstance(shown, RowsField):
            return describe_rows(shown.columns, value)
        if isinstance(shown, PairsField):
            return str(shown.prepare_value(value))
        return ", ".join(describe_value(key, entry) for entry in value)
    choices: dict[Any, str] = {"all": "all"} | extra_of(field_of(key)).get("words", {})
    return gettext(choices[value]) if value in choices else str(value)


def is_money(key: str) -> bool:
    return "_cents" in key


def _currency(base: Mapping[str, Any]) -> str:
    """Return the currency; other values may be missing or wrong."""
    crowd = Crowd(**{key: base["crowd"][key] for key in ("backend", "currency")})
    return currency_named(crowd, Panel(preset=base["panel"]["preset"])) or USUAL_CURRENCY


def html_name(key: str) -> str:
    return key.replace(".", "-")


class DesignForm(forms.Form):
    """A study design as fields.

    Attributes:
        values: the content of a checked form as in a study file, valid or not.
        design: the design of a valid form.
        currency: of all amounts.
    """

    values: dict[str, Any]
    design: StudyDesign
    currency: str

    def __init__(self, data: Any = None, *, base: dict[str, Any], datasets: list[str]) -> None:
        """Build the fields from ``base``, a study file as nested dicts with every key."""
        super().__init__(data)
        # a design leaves these tables out where they say what is usual
        base = {**{table: usual.model_dump(mode="json") for table, usual in USUAL.items()}, **base}
        base["access"] = Access().model_dump() | base["access"]
        base["answers"] = {"worst": True} | base["answers"]  # left out where it is so
        base["controls"] = Controls().model_dump(mode="json") | base["controls"]
        self.base = base
        self.kind = KINDS[base["protocol"]]
        self.sections = sections_for(self.kind, base)
        ours = PRESETS[base["preset"]].ours if base.get("preset") in PRESETS else ()
        sources = sources_by_key(base)
        for section in self.sections:
            for key, schema in section.fields.items():
                field = _form_field(key, schema, datasets)
                if key in OF_SOURCE_TEXTS:
                    field.label = label_of(key, schema, base)
                if key in ours:
                    chosen = gettext("Quorum chose the value, as the paper gives none.")
                    field.help_text = f"{field.help_text} {chosen}".strip()
                if key in sources:
                    source = gettext("From the paper: %(source)s.") % {"source": sources[key]}
                    field.help_text = f"{field.help_text} {source}".strip()
                field.initial = field.prepare_value(value_at(base, key))
                if isinstance(field, TranslationsField):
                    field.disabled = field.initial.longest > MOST_ROWS
                if isinstance(field, RowsField):
                    field.disabled = len(field.initial or ()) > MOST_ROWS
                    field.widget.hidden = self.kind.hidden_keys if key == "controls.known" else frozenset()
                self.fields[html_name(key)] = field
        self._name_currency(base)
        if self.is_bound:
            self._take_requirements_off()

    def groups(self) -> Iterator[tuple[FormSection, list[BoundField]]]:
        for section in self.sections:
            yield section, [self[html_name(key)] for key in section.fields]

    def pair_keys_in_sight(self) -> list[str]:
        """Return the kinds of pairs with a number; all if none has one."""
        keys = [f"sampling.pairs.{name}" for name in PAIR_KINDS] if self.kind.compares_pairs else []
        requested = [key for key in keys if self[html_name(key)].value() not in (0, "0", "", None)]
        wrong = [key for key in keys if self.is_bound and html_name(key) in self.errors]
        return [key for key in keys if key in requested or key in wrong] or keys

    def folded_values(self, sections: Iterable[FormSection]) -> list[tuple[str, str]]:
        folded = []
        for section in sections:
            for key, schema in section.fields.items():
                value = value_at(self.base, key)
                if (
                    section.crowd
                    or key in IN_SIGHT
                    or value in (None, "", 0, False)
                    or isinstance(value, list | dict)
                ):
                    continue
                text = describe_value(key, value)
                if len(text) <= LONGEST_FOLDED and not key.startswith("sampling.pairs."):
                    folded.append((gettext(schema.title or ""), text))
        return folded[:MOST_FOLDED]

    def as_posted(self) -> dict[str, Any]:
        """Return what a browser sends for the unchanged form."""
        sent: dict[str, Any] = {}
        for name, field in self.fields.items():
            value = self.get_initial_for_field(field, name)
            if isinstance(field, TranslationsField):
                sent |= field.posted(name, value)
            elif isinstance(field, RowsField):
                sent |= field.posted(name, value or [])
            elif value is not None and value is not False:
                sent[name] = value
        return sent

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        self.values = self._values(cleaned)
        # a stand-in for what is still open, so that its want hides nothing else
        open_keys = [key for key in NAMES if key in self.errors]
        for problem in problems_in(self.values | dict.fromkeys(open_keys, "open")):
            field = self._field_of(problem.field)
            # what the field itself refused was replaced by the value it had before
            if field not in self.errors:
                self.add_error(field, in_labels(str(problem), self.values))
        if not self.errors:
            self.design = make_design(self.values)
        if not {"crowd-backend", "crowd-currency", "panel-preset"} & self.errors.keys():
            self._name_currency(self.values)
        return cleaned

    def _name_currency(self, values: Mapping[str, Any]) -> None:
        self.currency = _currency(values)
        for field in self.fields.values():
            if isinstance(field, AmountField):
                field.unit = self.currency

    def sketch(self) -> StudyDesign | None:
        """Return a design to preview, with a stand-in name and slug if missing; None if it is invalid."""
        if not self.is_bound:
            values = deepcopy(self.base) | {
                "dataset": self.get_initial_for_field(self.fields["dataset"], "dataset")
            }
        elif self.errors.keys() <= {"name", "slug"}:
            values = self.values
        else:
            return None
        name = values.get("name")
        if not name or "name" in self.errors:
            name = "A study without a name"
        slug = values.get("slug")
        if not slug or "slug" in self.errors:
            slug = slugify_name(name)
        try:
            return make_design(values | {"name": name, "slug": slug})
        except DesignError:
            return None

    def problems(self) -> list[tuple[BoundField | None, list[str]]]:
        """Follow the order of the fields; None stands for the whole form."""
        general = [str(error) for error in self.non_field_errors()]
        problems: list[tuple[BoundField | None, list[str]]] = [(None, general)] if general else []
        return problems + [
            (self[name], [str(message) for message in self.errors[name]])
            for name in self.fields
            if name in self.errors
        ]

    def _take_requirements_off(self) -> None:
        """Clear the previous set of requirements, unless one was edited."""
        named = value_at(self.base, REQUIREMENTS)
        chosen = self.data.get(html_name(REQUIREMENTS))
        if named not in REQUIREMENT_PRESETS or chosen in (None, named):
            return
        filled = {html_name(f"workers.{key}"): key for key in REQUIREMENT_PRESETS[named].values}
        if all(self._is_as_before(name, f"workers.{key}") for name, key in filled.items()):
            nothing = Workers().model_dump(mode="json")
            data: Any = self.data
            data = data.copy()  # what came with a request cannot be changed
            for name, key in filled.items():
                data[name] = self.fields[name].prepare_value(nothing[key])
            self.data = data

    def _is_as_before(self, name: str, key: str) -> bool:
        try:
            return bool(self.fields[name].clean(self.data.get(name)) == value_at(self.base, key))
        except ValidationError:
            return False

    def _field_of(self, key: str) -> str | None:
        while key and html_name(key) not in self.fields:
            key = key.rpartition(".")[0]
        return html_name(key) if key else None

    def _values(self, cleaned: dict[str, Any]) -> dict[str, Any]:
        """Lay the answers over the base; an empty answer means the default."""
        values = deepcopy(self.base)
        built_in = self.kind.wordings.get(values.get("judged", ""))
        for section in self.sections:
            for key in section.fields:
                if html_name(key) in cleaned:  # what its field refused keeps the value it had
                    _put(values, key, cleaned[html_name(key)])
        if not any(value not in (None, {}) for value in (values.get("scale") or {}).values()):
            values.pop("scale", None)
        # a worked example that was added stays as it is written until it is translated
        for texts in (values.get("translations") or {}).values():
            if translated := texts.get("examples"):
                texts["examples"] = [*translated, *({} for _ in values["examples"][len(translated) :])]
        # links of one's own are signed from when they are chosen on, until somebody empties the field
        if makes_own_links(values) and not makes_own_links(self.base) and not values["panel"]["signature"]:
            values["panel"]["signature"] = SIGNATURE
        # the built-in question goes with what is judged
        if (
            built_in
            and values.get("question") == built_in.question
            and values["judged"] != self.base["judged"]
        ):
            del values["question"]
        return values


def sources_by_key(base: Mapping[str, Any]) -> dict[str, str]:
    """Return dotted key -> source."""
    preset = PRESETS.get(base.get("preset", ""))
    if preset is None:
        return {}
    sources: dict[str, str] = {}
    named = value_at(preset.values, REQUIREMENTS)
    if named and named == value_at(dict(base), REQUIREMENTS):
        requirements = REQUIREMENT_PRESETS[named]
        keys = (REQUIREMENTS, *(f"workers.{key}" for key in requirements.values))
        sources |= dict.fromkeys(keys, requirements.source)
    quiz = value_at(preset.values, "quiz.preset")
    if quiz in QUIZ_PRESETS and quiz == value_at(dict(base), "quiz.preset"):
        sources["quiz.preset"] = QUIZ_PRESETS[quiz].source
    return sources


def _put(values: dict[str, Any], key: str, answer: Any) -> None:
    """Set a dotted key; remove it for an empty answer."""
    *tables, last = key.split(".")
    for table in tables:
        values = values.setdefault(table, {})
    if answer is None or (answer == "" and last == "slug"):
        values.pop(last, None)
    else:
        values[last] = answer


# Labels where participants see a source text instead of a picture.
OF_SOURCE_TEXTS = {
    "sampling.images": gettext_noop("Source texts"),
    "sampling.references": gettext_noop("References of each source text"),
    "sampling.pairs_from": gettext_noop("Texts judged with a source text"),
    "sampling.foils": gettext_noop("Foils with each source text"),
    "sampling.options": gettext_noop("Texts shown together"),
    "sampling.appearances": gettext_noop("Items each text stands in"),
    "images_per_hit": gettext_noop("Source texts on a page of work"),
    "captions_per_image": gettext_noop("Texts under a source text"),
}


def label_of(key: str, field: FieldInfo, values: dict[str, Any]) -> str:
    labels = OF_SOURCE_TEXTS if value_at(values, "source.show") else {}
    return gettext(labels.get(key, (field.title or "").removesuffix(IN_CENTS)))


def value_at(values: dict[str, Any], key: str) -> Any:
    value: Any = values
    for part in key.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _form_field(key: str, field: FieldInfo, datasets: list[str]) -> forms.Field:
    """Return the form's field for a key, by the type and limits of the design's field."""
    extra, limits, kind = extra_of(field), _limits(field), field.annotation
    options: dict[str, Any] = {
        "label": gettext(field.title or ""),
        "help_text": gettext(field.description or ""),
    }
    bounds: dict[str, Any] = {"min_value": limits.get("ge"), "max_value": limits.get("le")}
    if key == "translations":
        return TranslationsField(**options)
    if key == "dataset":
        choices = [("", gettext("Choose a dataset")), *((name, name) for name in datasets)]
        return forms.ChoiceField(choices=choices, widget=UnfoldAdminSelectWidget, **options)
    if labels := extra.get("words"):
        choices = [(value, gettext(label)) for value, label in labels.items()]
        if get_origin(kind) is tuple:
            several = UnfoldAdminCheckboxSelectMultipleWidget
            needed = bool(field.default)
            return forms.MultipleChoiceField(required=needed, choices=choices, widget=several, **options)
        widget: Any = UnfoldAdminRadioSelectWidget if extra.get("radio") else UnfoldAdminSelectWidget
        return forms.ChoiceField(required=all(labels), choices=choices, widget=widget, **options)
    if rows := _list_field(field, **options):
        return rows
    if kind is bool:
        return forms.BooleanField(required=False, widget=UnfoldBooleanWidget, **options)
    if is_money(key):  # the study file and its key hold cents
        label = gettext((field.title or "").removesuffix(IN_CENTS))
        return AmountField(label, options["help_text"], required=True, most_cents=limits.get("le"))
    if kind is int:
        needed = not key.startswith("sampling.pairs.")
        return forms.IntegerField(required=needed, widget=UnfoldAdminIntegerFieldWidget, **bounds, **options)
    if key == "scale.labels":
        return PointsField(rows=extra["rows"], **options)
    if kind is float:
        widget = UnfoldAdminIntegerFieldWidget(attrs={"step": "any"})
        needed = not key.startswith("scale.")
        return forms.FloatField(required=needed, widget=widget, **bounds, **options)
    if Literal["all"] in get_args(kind):
        return AllOrNumberField(widget=UnfoldAdminTextInputWidget, **options)
    widget = UnfoldAdminTextInputWidget
    if "rows" in extra:
        widget = UnfoldAdminTextareaWidget(attrs={"rows": extra["rows"]})
    if key.startswith(("panel.codes.", "panel.addresses.")):
        options["empty_value"] = None
    return forms.CharField(
        required=key == "name", max_length=limits.get("max_length"), widget=widget, **options
    )


def _list_field(field: FieldInfo, **options: Any) -> forms.Field | None:
    if get_origin(field.annotation) is not tuple:
        return None
    rows = extra_of(field).get("rows", 1)
    (member, *_) = get_args(field.annotation)
    if get_origin(member) is Annotated:
        (member, *_) = get_args(member)
    if get_origin(member) is tuple:
        return PairsField(rows=rows, **options)
    if isinstance(member, type) and issubclass(member, BaseModel):
        return RowsField(columns_of(member), **options)
    return LinesField(rows=rows, **options)


def _limits(field: FieldInfo) -> dict[str, Any]:
    return {
        name: getattr(rule, name)
        for rule in field.metadata
        for name in ("ge", "le", "max_length")
        if hasattr(rule, name)
    }


class StudyFileForm(forms.Form):
    text = forms.CharField(
        label=gettext_lazy("Study file"),
        required=False,
        max_length=HEAD,
        help_text=gettext_lazy("TOML; name, dataset and protocol (or a preset) have no default."),
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 18, "spellcheck": "false"}),
    )
    file = forms.FileField(label=gettext_lazy("or a file"), required=False)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        upload, text = cleaned.get("file"), cleaned.get("text", "")
        if bool(upload) == bool(text.strip()):
            raise forms.ValidationError(
                gettext("Paste a study file or choose one: one of the two is needed.")
            )
        if upload:
            try:
                cleaned["text"] = uploaded_text(upload)
            except TextRefused as error:
                raise forms.ValidationError(str(error)) from None
        return cleaned
