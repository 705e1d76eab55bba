"""Form fields for the texts of a study in other languages.

In the form, these texts are three lists of rows: one row for each language with its texts, one for each worked example
in a language, and one for each question of the quiz in a language.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from html import unescape
from typing import Any

from django import forms
from django.conf import settings
from django.template.loader import render_to_string
from django.utils.html import strip_tags
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_noop
from pydantic import BaseModel

from common.markup import render_markdown
from judgments.design.editing.rows import (
    MAX_ROWS,
    InputRows,
    Row,
    RowColumn,
    RowsField,
    describe_rows,
    row_columns_of,
)
from judgments.design.tables.translations import ExampleTexts, QuizQuestionTexts, StudyTexts

TEXTS, EXAMPLES, QUESTIONS = "texts", "examples", "questions"
TITLES = {
    TEXTS: gettext_noop("Languages"),
    EXAMPLES: gettext_noop("Worked examples"),
    QUESTIONS: gettext_noop("Questions of the quiz"),
}
LANGUAGE_CHOICES = (("", "Choose"), *settings.LANGUAGES)
LANGUAGE_COLUMN = RowColumn("language", "Language", "", "choice", is_needed=True, choices=LANGUAGE_CHOICES)
MARKDOWN_KEYS = ("question", "instructions", "consent")
# the largest number of an example or question; empty rows are added for all smaller numbers
MAX_ROW_NUMBER = 100
POSITION_HELP = "Position in the design, starting at 1."
NUMBER_COLUMNS = {
    EXAMPLES: RowColumn("number", "Example", POSITION_HELP, "whole", is_needed=True),
    QUESTIONS: RowColumn("number", "Question", POSITION_HELP, "whole", is_needed=True),
}


@dataclass(frozen=True, slots=True)
class TranslationRows:
    """The rows of the form, by part of the translations: TEXTS, EXAMPLES or QUESTIONS."""

    rows_by_part: dict[str, list[Row]] = field(default_factory=dict)

    @property
    def max_rows(self) -> int:
        return max(map(len, self.rows_by_part.values()), default=0)


def input_name(name: str, part: str) -> str:
    """Return the name of the inputs of a part. ``name`` is that of the whole field."""
    return name if part == TEXTS else f"{name}_{part}"


def _numbered_rows_field(part: str, model: type[BaseModel]) -> RowsField:
    return RowsField([LANGUAGE_COLUMN, NUMBER_COLUMNS[part], *row_columns_of(model)])


def translation_rows(translations: Mapping[str, Any]) -> TranslationRows:
    """Return the rows of the form for the ``translations`` of a design.

    These are texts by language, such as ``{"de": {"question": "Welche?", "examples": [{"scene": "Ein Hund."}]}}``.
    """
    rows: dict[str, list[Row]] = {part: [] for part in TITLES}
    for language, texts in translations.items():
        rows[TEXTS].append({"language": language} | texts)
        for part in (EXAMPLES, QUESTIONS):
            for number, entry in enumerate(texts.get(part) or (), start=1):
                rows[part].append({"language": language, "number": number} | entry)
    return TranslationRows(rows)


class TranslationsWidget(InputRows):
    def __init__(self, parts: dict[str, RowsField]) -> None:
        super().__init__()
        self.parts = parts

    def value_from_datadict(self, data: Any, files: Any, name: str) -> TranslationRows:
        return TranslationRows(
            {
                part: list(rows_field.widget.value_from_datadict(data, files, input_name(name, part)))
                for part, rows_field in self.parts.items()
            }
        )

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        unshown_row_count = value.max_rows if value.max_rows > MAX_ROWS else 0  # all or none are shown
        parts = [
            (
                gettext(TITLES[part]),
                rows_field.widget.render(input_name(name, part), value.rows_by_part.get(part)),
            )
            for part, rows_field in self.parts.items()
        ]
        context = {
            "parts": parts,
            "unshown_row_count": unshown_row_count,
            "id": (attrs or {}).get("id", f"id_{name}"),
        }
        return render_to_string("judgments/parts/translations.html", context)


class TranslationsField(forms.Field):
    """The texts of a study in other languages, in three parts: texts, worked examples and questions of the quiz."""

    widget: TranslationsWidget

    def __init__(self, **options: Any) -> None:
        # If scripts are off, the page shows these rows next to the study's name in its original language.
        text_columns = [
            replace(column, label="Name in this language") if column.key == "name" else column
            for column in row_columns_of(StudyTexts)
            if column.key not in NUMBER_COLUMNS  # the lists "examples" and "questions" have rows of their own
        ]
        self.parts = {
            TEXTS: RowsField([LANGUAGE_COLUMN, *text_columns]),
            EXAMPLES: _numbered_rows_field(EXAMPLES, ExampleTexts),
            QUESTIONS: _numbered_rows_field(QUESTIONS, QuizQuestionTexts),
        }
        super().__init__(required=False, widget=TranslationsWidget(self.parts), **options)

    def prepare_value(self, value: Any) -> TranslationRows:
        return value if isinstance(value, TranslationRows) else translation_rows(value or {})

    def to_python(self, value: Any) -> dict[str, Any] | None:
        translations: dict[str, Any] = {}
        for number, row in enumerate(self._read_part(value, TEXTS), start=1):
            language = row.pop("language")
            if language in translations:
                raise forms.ValidationError(
                    gettext(
                        "Row %(number)d: there is already a row for %(language)s; expected one row "
                        "for each language."
                    )
                    % {"number": number, "language": _language_title(language)}
                )
            translations[language] = row
        for part in NUMBER_COLUMNS:
            for language, rows in self._numbered_rows(value, part).items():
                translations.setdefault(language, {})[part] = rows
        return translations or None

    def _read_part(self, value: Any, part: str) -> list[dict[str, Any]]:
        try:
            return list(self.parts[part].clean(self.prepare_value(value).rows_by_part.get(part)))
        except forms.ValidationError as error:
            raise forms.ValidationError(
                [f"{gettext(TITLES[part])}, {sentence}" for sentence in error.messages]
            ) from None

    def _numbered_rows(self, value: Any, part: str) -> dict[str, list[dict[str, Any]]]:
        """Return the rows of each language in the order of their numbers, with empty rows for untranslated examples."""
        rows_by_language: dict[str, dict[int, dict[str, Any]]] = {}
        for row in self._read_part(value, part):
            language, number = row.pop("language"), row.pop("number")
            rows = rows_by_language.setdefault(language, {})
            if number in rows or not 1 <= number <= MAX_ROW_NUMBER:
                raise forms.ValidationError(
                    gettext(
                        "%(part)s, %(language)s: number %(number)d is unexpected; expected the "
                        "numbers 1, 2, 3 and so on, each only once."
                    )
                    % {"part": gettext(TITLES[part]), "language": _language_title(language), "number": number}
                )
            rows[number] = row
        rows_in_order = {}
        for language, rows in rows_by_language.items():
            missing_numbers = [number for number in range(1, max(rows)) if number not in rows]
            if part == QUESTIONS and missing_numbers:
                raise forms.ValidationError(
                    gettext(
                        "%(part)s, %(language)s: number %(number)d is missing; translate all "
                        "questions or none."
                    )
                    % {
                        "part": gettext(TITLES[part]),
                        "language": _language_title(language),
                        "number": missing_numbers[0],
                    }
                )
            rows_in_order[language] = [rows.get(number, {}) for number in range(1, max(rows) + 1)]
        return rows_in_order

    def as_posted(self, name: str, rows: TranslationRows) -> dict[str, str]:
        form_data: dict[str, str] = {}
        for part, rows_field in self.parts.items():
            form_data |= rows_field.as_posted(input_name(name, part), rows.rows_by_part.get(part, []))
        return form_data


def _language_title(language: str) -> str:
    return gettext(dict(settings.LANGUAGES).get(language, language))


def _text_of_markdown(source: str) -> str:
    """Return the text of a Markdown source without its markup and without blank lines."""
    lines = unescape(strip_tags(render_markdown(source))).splitlines()
    return "\n".join(line for line in lines if line.strip())


def describe_translations(translations: Mapping[str, Any]) -> str:
    """Return translations as lines of text, without Markdown."""
    rows = translation_rows(translations).rows_by_part
    for index, row in enumerate(rows[TEXTS]):
        plain_texts = {name: _text_of_markdown(row[name]) for name in MARKDOWN_KEYS if row.get(name)}
        rows[TEXTS][index] = {**row, **plain_texts}
    parts = TranslationsField().parts.items()
    return "\n".join(
        describe_rows(rows_field.columns, rows[part]) for part, rows_field in parts if rows[part]
    )
