"""The form of a design, with a field for each study-file key that the protocol uses.

Labels and help texts come from the fields of `StudyDesign`. The key ``crowd.budget_cents`` has the form field
``crowd-budget_cents``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.forms import BoundField
from django.utils.translation import gettext
from pydantic.fields import FieldInfo

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
from judgments.design.panel_links import SIGNATURE_PARAMETER, quorum_makes_links
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


def _currency_of(values: Mapping[str, Any]) -> str:
    """Return the currency of a design. Its values of other keys may be missing or invalid."""
    crowd = Crowd(**{key: values["crowd"][key] for key in ("backend", "currency")})
    return currency_named_by(crowd, Panel(preset=values["panel"]["preset"])) or USUAL_CURRENCY


class DesignForm(forms.Form):
    """A study design as form fields.

    Attributes:
        base: the complete values from which the form starts, as in a study file.
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
        complete_tables = {
            name: dict(default) | base.get(name, {})
            for name, default in tables.items()
            if isinstance(default, DesignTable)
        }
        self.base = base | complete_tables
        self.kind = KINDS[base["protocol"]]
        self.sections = sections_for(self.kind, self.base)
        unpublished_keys = PRESETS[base["preset"]].ours if base.get("preset") in PRESETS else ()
        sources = sources_by_key(self.base)
        for section in self.sections:
            for key, schema in section.fields.items():
                field = self._make_field(key, schema, datasets)
                if key in unpublished_keys:
                    note = gettext("The paper gives no value. Quorum chose this one.")
                    field.help_text = f"{field.help_text} {note}".strip()
                if key in sources:
                    note = gettext("This value is from the paper: %(source)s.") % {"source": sources[key]}
                    field.help_text = f"{field.help_text} {note}".strip()
                self.fields[html_name(key)] = field
        self._set_currency(self.base)
        if self.is_bound:
            self._clear_former_requirements()

    def _make_field(self, key: str, schema: FieldInfo, datasets: list[str]) -> forms.Field:
        """Return the field for a key, with the value from which the form starts.

        A list with too many rows cannot be edited in the form. It is shown, but its field is disabled.
        """
        field = form_field(key, schema, datasets)
        if key in SOURCE_TEXT_TITLES:
            field.label = label_of(key, schema, self.base)
        field.initial = field.prepare_value(value_at(self.base, key))
        if isinstance(field, TranslationsField):
            field.disabled = field.initial.max_rows > MAX_ROWS
        if isinstance(field, RowsField):
            field.disabled = len(field.initial or ()) > MAX_ROWS
            field.widget.hidden_keys = (
                self.kind.unused_known_item_keys if key == "controls.known" else frozenset()
            )
        return field

    def fields_by_section(self) -> Iterator[tuple[FormSection, list[BoundField]]]:
        for section in self.sections:
            yield section, [self[html_name(key)] for key in section.fields]

    def visible_pair_keys(self) -> list[str]:
        """Return those keys ``sampling.pairs.KIND`` that have a number or an error; all of these keys if none has."""
        keys = [f"sampling.pairs.{name}" for name in PAIR_KINDS] if self.kind.compares_pairs else []
        requested_keys = [key for key in keys if self[html_name(key)].value() not in (0, "0", "", None)]
        wrong_keys = [key for key in keys if self.is_bound and html_name(key) in self.errors]
        return [key for key in keys if key in requested_keys or key in wrong_keys] or keys

    def folded_values(self, sections: Iterable[FormSection]) -> list[tuple[str, str]]:
        """Return the titles and values of some fields below "Advanced", which have short values and are not empty."""
        titled_values = []
        for section in sections:
            if section.crowd:  # hidden in studies of other crowds
                continue
            for key, schema in section.fields.items():
                value = value_at(self.base, key)
                is_visible = key in UNFOLDED_FIELDS or key.startswith("sampling.pairs.")
                is_single_value = not isinstance(value, list | tuple | dict)
                if is_visible or not is_single_value or value in (None, "", 0, False):
                    continue
                text = describe_value(key, value)
                if len(text) <= MAX_FOLDED_LENGTH:
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
        cleaned_data = super().clean() or {}
        self.values = self._entered_values(cleaned_data)
        # replace missing names by any name, so that errors about them hide no other errors
        missing_keys = [key for key in NAME_KEYS if key in self.errors]
        for problem in problems_in(self.values | dict.fromkeys(missing_keys, "open")):
            field = self._field_of(problem.field)
            # fields with errors of their own were checked with their previous value
            if field not in self.errors:
                self.add_error(field, replace_keys_by_labels(str(problem), self.values))
        if not self.errors:
            self.design = make_design(self.values)
        if not {"crowd-backend", "crowd-currency", "panel-preset"} & self.errors.keys():
            self._set_currency(self.values)
        return cleaned_data

    def _set_currency(self, values: Mapping[str, Any]) -> None:
        self.currency = _currency_of(values)
        for field in self.fields.values():
            if isinstance(field, AmountField):
                field.unit = self.currency

    def design_to_preview(self) -> StudyDesign | None:
        """Return a design to preview, with a placeholder for a missing name or slug; None if the design is invalid."""
        if not self.is_bound:
            values = deepcopy(self.base)
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
        """Return the fields with errors and their messages, in the order of the form.

        None stands for the form as a whole, whose errors come first.
        """
        problems: list[tuple[BoundField | None, list[str]]] = []
        if general_errors := [str(error) for error in self.non_field_errors()]:
            problems.append((None, general_errors))
        for name in self.fields:
            if name in self.errors:
                problems.append((self[name], [str(message) for message in self.errors[name]]))
        return problems

    def _clear_former_requirements(self) -> None:
        """Clear the posted values of a requirements preset if the person has chosen another preset instead of it.

        Values that the person has edited stay, with all others of that preset.
        """
        former_name = value_at(self.base, REQUIREMENTS_KEY)
        posted_name = self.data.get(html_name(REQUIREMENTS_KEY))
        if former_name not in REQUIREMENT_PRESETS or posted_name in (None, former_name):
            return
        keys_by_name = {html_name(f"workers.{key}"): key for key in REQUIREMENT_PRESETS[former_name].values}
        if all(self._has_initial_value(name, f"workers.{key}") for name, key in keys_by_name.items()):
            defaults = Workers().model_dump(mode="json")
            data: Any = self.data
            data = data.copy()  # the data of a request cannot be changed
            for name, key in keys_by_name.items():
                data[name] = self.fields[name].prepare_value(defaults[key])
            self.data = data

    def _has_initial_value(self, name: str, key: str) -> bool:
        """Return whether the posted field has the value from which the form started."""
        try:
            return bool(self.fields[name].clean(self.data.get(name)) == value_at(self.base, key))
        except ValidationError:
            return False

    def _field_of(self, key: str) -> str | None:
        """Return the name of the field for a key or, if it has none, for its table; None for the form as a whole."""
        while key and html_name(key) not in self.fields:
            key = key.rpartition(".")[0]
        return html_name(key) if key else None

    def _entered_values(self, cleaned_data: dict[str, Any]) -> dict[str, Any]:
        """Return ``base`` with the form's valid values; an empty field stands for the default."""
        values = deepcopy(self.base)
        for section in self.sections:
            for key in section.fields:
                if html_name(key) in cleaned_data:  # a field with an error keeps its previous value
                    put_value(values, key, cleaned_data[html_name(key)])
        scale = values.get("scale") or {}
        if all(value in (None, {}) for value in scale.values()):  # the protocol's own scale is used
            values.pop("scale", None)
        # a new worked example keeps the original text until it is translated
        for texts in (values.get("translations") or {}).values():
            if translated_examples := texts.get("examples"):
                missing_count = max(0, len(values["examples"]) - len(translated_examples))
                texts["examples"] = [*translated_examples, *({} for _ in range(missing_count))]
        # once Quorum makes the participants' links, it signs them, unless somebody empties the field again
        if (
            quorum_makes_links(values)
            and not quorum_makes_links(self.base)
            and not values["panel"]["signature"]
        ):
            values["panel"]["signature"] = SIGNATURE_PARAMETER
        # for another type of judged text, the built-in question is another one
        if values.get("judged") != self.base.get("judged"):
            former_wording = self.kind.wordings.get(self.base.get("judged", ""))
            if former_wording and values.get("question") == former_wording.question:
                del values["question"]
        return values


def sources_by_key(base: Mapping[str, Any]) -> dict[str, str]:
    """Return the sources, such as a paper's section, of the values that a design has from its preset, by dotted key.

    Only the requirements of workers and the quiz have sources of their own.
    """
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
