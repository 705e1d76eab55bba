"""The form of a design, with a field for each study-file key that the protocol uses.

Labels and help texts come from the design's fields. Each step has visible fields and folded sections.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.forms import BoundField
from django.utils.translation import gettext

from common.amounts import AmountField
from common.errors import DesignError
from judgments.design.editing.form.fields import form_field, html_name
from judgments.design.editing.form.labels import (
    SOURCE_TEXT_TITLES,
    describe_value,
    label_of,
    replace_keys_by_labels,
)
from judgments.design.editing.form.sections import UNFOLDED_FIELDS, FormSection, sections_for
from judgments.design.editing.form.values import NAME_KEYS, put_value, value_at
from judgments.design.editing.rows import MAX_ROWS, RowsField
from judgments.design.editing.translations import TranslationsField
from judgments.design.panel_links import SIGNATURE_PARAMETER, makes_own_links
from judgments.design.quiz import QUIZ_PRESETS
from judgments.design.reading.checking import make_design, problems_in
from judgments.design.reading.completing import slugify_name
from judgments.design.reading.presets import PRESETS
from judgments.design.requirements import REQUIREMENT_PRESETS, Workers
from judgments.design.study_design import USUAL_CURRENCY, StudyDesign, currency_named_by
from judgments.design.tables.base import DesignTable
from judgments.design.tables.crowd import Crowd
from judgments.design.tables.panel import Panel
from judgments.design.tables.sampling import PAIR_KINDS
from judgments.kinds import KINDS

REQUIREMENTS_KEY = "workers.requirements"  # the key that names a predefined set of requirements
MAX_FOLDED_VALUES = 6  # values of folded fields that are shown next to "Advanced"
MAX_FOLDED_LENGTH = 40  # characters of such a value


def field_of_key(key: str, design: StudyDesign) -> str:
    """Return the name of the form field for a key of the design; "" if the design's kind does not use the key."""
    form = DesignForm(base=design.model_dump(mode="json"), datasets=[design.dataset])
    if key == "sampling.pairs":  # the first visible field of a kind of pairs
        key = next(iter(form.visible_pair_keys()), key)
    name = html_name(key)
    return name if name in form.fields else ""


def _currency(base: Mapping[str, Any]) -> str:
    """Return the currency of a design whose other values may be missing or invalid."""
    crowd = Crowd(**{key: base["crowd"][key] for key in ("backend", "currency")})
    return currency_named_by(crowd, Panel(preset=base["panel"]["preset"])) or USUAL_CURRENCY


class DesignForm(forms.Form):
    """A study design as form fields.

    Attributes:
        base: the complete values from which the form starts.
        sections: the sections with the keys that the design's kind uses.
        values: set by validation: the entered values as in a study file, valid or not.
        design: set by validation, if the form is valid.
        currency: the currency of all amounts.
    """

    values: dict[str, Any]
    design: StudyDesign
    currency: str

    def __init__(self, data: Any = None, *, base: dict[str, Any], datasets: list[str]) -> None:
        """Build the fields from ``base``, a study file as nested dicts with every key."""
        super().__init__(data)
        # a design leaves out tables and keys that have their defaults
        tables = {name: field.default for name, field in StudyDesign.model_fields.items()}
        base = base | {
            name: dict(default) | base.get(name, {})
            for name, default in tables.items()
            if isinstance(default, DesignTable)
        }
        self.base = base
        self.kind = KINDS[base["protocol"]]
        self.sections = sections_for(self.kind, base)
        unpublished_keys = PRESETS[base["preset"]].ours if base.get("preset") in PRESETS else ()
        sources = sources_by_key(base)
        for section in self.sections:
            for key, schema in section.fields.items():
                field = form_field(key, schema, datasets)
                if key in SOURCE_TEXT_TITLES:
                    field.label = label_of(key, schema, base)
                if key in unpublished_keys:
                    note = gettext("The paper gives no value. Quorum chose this one.")
                    field.help_text = f"{field.help_text} {note}".strip()
                if key in sources:
                    source = gettext("This value is from the paper: %(source)s.") % {"source": sources[key]}
                    field.help_text = f"{field.help_text} {source}".strip()
                field.initial = field.prepare_value(value_at(base, key))
                if isinstance(field, TranslationsField):
                    field.disabled = field.initial.max_rows > MAX_ROWS
                if isinstance(field, RowsField):
                    field.disabled = len(field.initial or ()) > MAX_ROWS
                    field.widget.hidden_keys = (
                        self.kind.unused_known_item_keys if key == "controls.known" else frozenset()
                    )
                self.fields[html_name(key)] = field
        self._set_currency(base)
        if self.is_bound:
            self._clear_former_requirements()

    def fields_by_section(self) -> Iterator[tuple[FormSection, list[BoundField]]]:
        for section in self.sections:
            yield section, [self[html_name(key)] for key in section.fields]

    def visible_pair_keys(self) -> list[str]:
        """Return the keys of the kinds of pairs that have a number or an error; all keys if none has."""
        keys = [f"sampling.pairs.{name}" for name in PAIR_KINDS] if self.kind.compares_pairs else []
        requested_keys = [key for key in keys if self[html_name(key)].value() not in (0, "0", "", None)]
        wrong_keys = [key for key in keys if self.is_bound and html_name(key) in self.errors]
        return [key for key in keys if key in requested_keys or key in wrong_keys] or keys

    def folded_values(self, sections: Iterable[FormSection]) -> list[tuple[str, str]]:
        """Return (title, value) of some fields below "Advanced" that are not empty and whose values are short."""
        titled_values = []
        for section in sections:
            for key, schema in section.fields.items():
                value = value_at(self.base, key)
                if (
                    section.crowd
                    or key in UNFOLDED_FIELDS
                    or value in (None, "", 0, False)
                    or isinstance(value, list | tuple | dict)
                ):
                    continue
                text = describe_value(key, value)
                if len(text) <= MAX_FOLDED_LENGTH and not key.startswith("sampling.pairs."):
                    titled_values.append((gettext(schema.title or ""), text))
        return titled_values[:MAX_FOLDED_VALUES]

    def as_posted(self) -> dict[str, Any]:
        """Return the data that a browser would post for the unchanged form."""
        form_data: dict[str, Any] = {}
        for name, field in self.fields.items():
            value = self.get_initial_for_field(field, name)
            if isinstance(field, TranslationsField):
                form_data |= field.as_posted(name, value)
            elif isinstance(field, RowsField):
                form_data |= field.as_posted(name, value or [])
            elif value is not None and value is not False:
                form_data[name] = value
        return form_data

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        self.values = self._entered_values(cleaned)
        # replace missing names, so that errors about them hide no other errors
        open_keys = [key for key in NAME_KEYS if key in self.errors]
        for problem in problems_in(self.values | dict.fromkeys(open_keys, "open")):
            field = self._field_of(problem.field)
            # fields with errors of their own were checked with their previous value
            if field not in self.errors:
                self.add_error(field, replace_keys_by_labels(str(problem), self.values))
        if not self.errors:
            self.design = make_design(self.values)
        if not {"crowd-backend", "crowd-currency", "panel-preset"} & self.errors.keys():
            self._set_currency(self.values)
        return cleaned

    def _set_currency(self, values: Mapping[str, Any]) -> None:
        self.currency = _currency(values)
        for field in self.fields.values():
            if isinstance(field, AmountField):
                field.unit = self.currency

    def design_to_preview(self) -> StudyDesign | None:
        """Return a design to preview, with a placeholder for a missing name or slug; None if the design is invalid."""
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
        """Return (field, errors) in the order of the fields; None stands for the form as a whole."""
        general = [str(error) for error in self.non_field_errors()]
        problems: list[tuple[BoundField | None, list[str]]] = [(None, general)] if general else []
        return problems + [
            (self[name], [str(message) for message in self.errors[name]])
            for name in self.fields
            if name in self.errors
        ]

    def _clear_former_requirements(self) -> None:
        """Clear the values of the previous requirements preset if another preset is chosen and no value was edited."""
        former_name = value_at(self.base, REQUIREMENTS_KEY)
        posted_name = self.data.get(html_name(REQUIREMENTS_KEY))
        if former_name not in REQUIREMENT_PRESETS or posted_name in (None, former_name):
            return
        keys_by_name = {html_name(f"workers.{key}"): key for key in REQUIREMENT_PRESETS[former_name].values}
        if all(self._is_as_before(name, f"workers.{key}") for name, key in keys_by_name.items()):
            defaults = Workers().model_dump(mode="json")
            data: Any = self.data
            data = data.copy()  # the data of a request cannot be changed
            for name, key in keys_by_name.items():
                data[name] = self.fields[name].prepare_value(defaults[key])
            self.data = data

    def _is_as_before(self, name: str, key: str) -> bool:
        """Return whether the posted field has the value that the form started with."""
        try:
            return bool(self.fields[name].clean(self.data.get(name)) == value_at(self.base, key))
        except ValidationError:
            return False

    def _field_of(self, key: str) -> str | None:
        """Return the name of the field for a key or, if it has none, for its table; None for the form as a whole."""
        while key and html_name(key) not in self.fields:
            key = key.rpartition(".")[0]
        return html_name(key) if key else None

    def _entered_values(self, cleaned: dict[str, Any]) -> dict[str, Any]:
        """Return ``base`` with the form's valid answers; an empty answer stands for the default."""
        values = deepcopy(self.base)
        built_in_wording = self.kind.wordings.get(values.get("judged", ""))
        for section in self.sections:
            for key in section.fields:
                if html_name(key) in cleaned:  # a field with an error keeps its previous value
                    put_value(values, key, cleaned[html_name(key)])
        if not any(value not in (None, {}) for value in (values.get("scale") or {}).values()):
            values.pop("scale", None)
        # a new worked example keeps the original text until it is translated
        for texts in (values.get("translations") or {}).values():
            if translated_examples := texts.get("examples"):
                texts["examples"] = [
                    *translated_examples,
                    *({} for _ in values["examples"][len(translated_examples) :]),
                ]
        # choosing one's own links adds a signature; it stays until somebody empties the field
        if makes_own_links(values) and not makes_own_links(self.base) and not values["panel"]["signature"]:
            values["panel"]["signature"] = SIGNATURE_PARAMETER
        # the built-in question depends on the type of judged text
        if (
            built_in_wording
            and values.get("question") == built_in_wording.question
            and values["judged"] != self.base["judged"]
        ):
            del values["question"]
        return values


def sources_by_key(base: Mapping[str, Any]) -> dict[str, str]:
    """Return the source of each preset value, such as a paper's section, by dotted key."""
    preset = PRESETS.get(base.get("preset", ""))
    if preset is None:
        return {}
    sources: dict[str, str] = {}
    requirements_name = value_at(preset.values, REQUIREMENTS_KEY)
    if requirements_name and requirements_name == value_at(dict(base), REQUIREMENTS_KEY):
        requirements = REQUIREMENT_PRESETS[requirements_name]
        keys = (REQUIREMENTS_KEY, *(f"workers.{key}" for key in requirements.values))
        sources |= dict.fromkeys(keys, requirements.source)
    quiz = value_at(preset.values, "quiz.preset")
    if quiz in QUIZ_PRESETS and quiz == value_at(dict(base), "quiz.preset"):
        sources["quiz.preset"] = QUIZ_PRESETS[quiz].source
    return sources
