"""Labels for study-file keys and their values, in the form and in sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from copy import copy
from functools import cache
from typing import Any

from django.utils.translation import gettext, gettext_noop
from pydantic.fields import FieldInfo

from judgments.design.editing.form.fields import CENTS_SUFFIX, PairsField, is_money, list_field
from judgments.design.editing.form.sections import extra_of, field_of, fields_in, model_of, sections_for
from judgments.design.editing.form.values import value_at
from judgments.design.editing.rows import RowsField, describe_rows
from judgments.design.editing.translations import describe_translations
from judgments.design.study_design import StudyDesign
from judgments.kinds import KINDS
from judgments.templatetags.judgments_tags import cents

QUOTED_VALUE = re.compile(r"""(['"])([\w-]*)\1""")
BOOLEAN_WORD = re.compile(r"\b(true|false)\b")
# The beginning of an error about a table, such as "crowd: ". The page leaves it out, since it shows errors at fields.
TABLE_PREFIX = re.compile(rf"^(?:{'|'.join(StudyDesign.model_fields)}): ")
# An optional row number and column after the key of a list, such as ".2.options".
ROW_PATH = r"(?P<row_path>(?:\.\d+)?(?:\.[a-z_]+)*)"

# Labels for designs whose participants see a source text instead of a picture.
SOURCE_TEXT_TITLES = {
    "sampling.images": gettext_noop("Source texts"),
    "sampling.references": gettext_noop("References of each source text"),
    "sampling.pairs_from": gettext_noop("Texts judged for each source text"),
    "sampling.foils": gettext_noop("Foils (texts of other source texts) for each source text"),
    "images_per_hit": gettext_noop("Source texts on a page of work"),
    "captions_per_image": gettext_noop("Texts for each source text"),
}


def replace_keys_by_labels(sentence: str, design: StudyDesign | Mapping[str, Any]) -> str:
    """Replace study-file keys in a sentence, and the values of choices, by the form's labels.

    For example, "crowd.backend is 'local'" becomes "“Participants come from” is “The study's link”".

    Args:
        design: the design, or a study file that may be invalid.
    """
    values = dict(design) if isinstance(design, Mapping) else design.model_dump()
    fields, pattern = _fields_by_name(str(values.get("protocol", "")), bool(value_at(values, "source.show")))
    named_fields: list[FieldInfo] = []  # the fields whose keys are in the sentence

    def label(match: re.Match[str]) -> str:
        """Return the label of a key and, for the key of a list, the row number and the label of the column."""
        field = fields[match["key"] or match["first_word"]]
        named_fields.append(field)
        text = f"“{gettext(field.title or '')}”"
        number, _, column = (match["row_path"] or "").lstrip(".").partition(".")
        if number.isdecimal():
            text += gettext(", row %(number)d") % {"number": int(number) + 1}  # errors count from 0
            table = model_of(field)
            columns = table.model_fields if table is not None else {}
            title = columns[column].title if column in columns else ""
            text += f", “{gettext(title)}”" if title else ""
        return text

    sentence = TABLE_PREFIX.sub("", pattern.sub(label, sentence))
    choices: dict[str, str] = {}  # labels by value
    for field in named_fields:
        choices |= {str(value): text for value, text in extra_of(field).get("words", {}).items()}

    def choice_label(match: re.Match[str]) -> str:
        value = match[2]
        return f"“{gettext(choices[value])}”" if value in choices else match[0]

    def yes_or_no(match: re.Match[str]) -> str:
        return gettext("yes") if match[1] == "true" else gettext("no")

    sentence = QUOTED_VALUE.sub(choice_label, sentence)
    if any(field.annotation is bool for field in named_fields):
        sentence = BOOLEAN_WORD.sub(yes_or_no, sentence)
    return sentence


@cache
def _fields_by_name(protocol: str, shows_source: bool) -> tuple[dict[str, FieldInfo], re.Pattern[str]]:
    """Return the fields by key, and a pattern that finds keys in a sentence.

    A key without a dot or underscore could be an ordinary word, so it is found only at the sentence's beginning.
    """
    fields = dict(_fields_with_titles("", StudyDesign.model_fields))
    if protocol in KINDS:
        for section in sections_for(KINDS[protocol]):
            fields |= section.fields
    if shows_source:
        for key, title in SOURCE_TEXT_TITLES.items():
            fields[key] = copy(fields[key])
            fields[key].title = title
    # a key is also found by its last name alone, if no other key has the same
    last_names = [key.rpartition(".")[2] for key in fields]
    for key, last_name in zip(list(fields), last_names, strict=True):
        if "_" in last_name and last_names.count(last_name) == 1:
            fields.setdefault(last_name, fields[key])
    # longest first, since a pattern takes the first alternative that matches
    names = sorted(fields, key=len, reverse=True)
    technical_names = "|".join(re.escape(name) for name in names if "." in name or "_" in name)
    first_word = "|".join(re.escape(name) for name in names)
    return fields, re.compile(
        rf"(?<![\w.])(?P<key>{technical_names})\b{ROW_PATH}|^(?P<first_word>{first_word})\b(?=[ :])"
    )


def _fields_with_titles(table: str, fields: dict[str, FieldInfo]) -> Iterator[tuple[str, FieldInfo]]:
    """Yield the key and the field of each field with a title. Keys begin with ``table``, such as "crowd." or ""."""
    for name, field in fields.items():
        if field.title:
            yield f"{table}{name}", field
        yield from _fields_with_titles(f"{table}{name}.", fields_in(field))


def describe_value(key: str, value: Any) -> str:
    """Format a value as the form shows it. Return a dash for an empty value."""
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
        form_field = list_field(field_of(key))
        if isinstance(form_field, RowsField):
            return describe_rows(form_field.columns, value)
        if isinstance(form_field, PairsField):
            return str(form_field.prepare_value(value))
        return ", ".join(describe_value(key, entry) for entry in value)
    choices: dict[Any, str] = {"all": "all"} | extra_of(field_of(key)).get("words", {})
    return gettext(choices[value]) if value in choices else str(value)


def label_of(key: str, field: FieldInfo, values: dict[str, Any]) -> str:
    """Return the label of a key in a design with these values."""
    labels = SOURCE_TEXT_TITLES if value_at(values, "source.show") else {}
    return gettext(labels.get(key, (field.title or "").removesuffix(CENTS_SUFFIX)))
