"""Import a HIT template and its inputs, a CSV file with a row for each unit, as a draft study.

Template and inputs are checked first. Then dataset and study are stored in one transaction.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.db import transaction

from common.errors import DataConflict
from contrib.hit_templates.expected_answers import (
    ExpectedAnswerProblem,
    expected_answer_columns,
    read_expected_answers,
)
from contrib.hit_templates.filling import PICTURE_COLUMN, filled_questions
from contrib.hit_templates.html.elements import fields_in
from contrib.hit_templates.kind import HITTemplate
from contrib.hit_templates.reading import TemplateForm, TemplateProblem, read_template
from judgments.access.study_log import note_event
from judgments.datasets.importing.datasets import import_dataset
from judgments.design.reading.checking import make_design
from judgments.design.study_design import StudyDesign
from judgments.importers.tables.inputs import InputTable
from judgments.models import Dataset, Study
from judgments.studies.generation.progress import Progress, no_progress
from judgments.studies.studies import create_study
from quorum.numeric.names import nearest_name

if TYPE_CHECKING:
    from django.contrib.auth.models import User

INPUTS_FORMAT = "inputs"
# A tag or an entity of HTML.
MARKUP = re.compile(r"</?[a-zA-Z][^<>]*>|&(amp|lt|gt|quot|#\d+);")
MAX_NAMES_LISTED = 5
ROWS_PER_REPORT = 1_000  # rows between two reports of progress


@dataclass(frozen=True, slots=True)
class CheckedTemplate:
    """A template and its inputs after the check.

    Attributes:
        source: the HTML of the template.
        template: the parsed template.
        columns: the columns of the inputs.
        first_row: the texts of the first row of the inputs, by column.
        row_count: number of rows of the inputs.
        known_row_count: number of rows with expected answers, which can be control items.
        omission_notes: sentences about parts of the template that are left out, and about unusual cells.
    """

    source: str
    template: TemplateForm
    columns: tuple[str, ...]
    first_row: dict[str, str]
    row_count: int
    known_row_count: int
    omission_notes: tuple[str, ...]


def check_template(
    *, source: str, inputs: Path, encoding: str | None = None, progress: Progress = no_progress
) -> CheckedTemplate:
    """Check a template and its inputs, without storing anything.

    Raises:
        TemplateProblem: the template is unusable, or has a field that is not a column of the inputs.
    """
    template = read_template(source)
    table = InputTable(inputs, encoding)
    columns: tuple[str, ...] = ()
    first_row: dict[str, str] = {}
    row_count = known_row_count = 0
    unusable_answers: list[str] = []  # sentences about cells with expected answers
    # Numbers of cells with HTML, and of empty cells in place of an option, by column.
    markup_counts: Counter[str] = Counter()
    empty_counts: Counter[str] = Counter()
    option_columns = _option_columns(template)
    for row in table.rows():  # ``row.image`` is the name of the row, such as "row-1"
        if not row_count:
            columns, first_row = tuple(name for name, _ in row.fields), dict(row.fields)
            _check_columns(template, columns, inputs)
        row_count += 1
        if row_count % ROWS_PER_REPORT == 0:
            progress(0.5, f"{row_count:,} rows")  # the share is unknown, as the number of rows is
        try:
            cells = dict(row.fields)
            known_row_count += bool(read_expected_answers(filled_questions(template.questions, cells), cells))
        except ExpectedAnswerProblem as problem:
            unusable_answers.append(f"{row.image}, column “{problem.column}”: {problem}")
        for name, cell in row.fields:
            if MARKUP.search(cell):
                markup_counts[name] += 1
            if name in option_columns and not cell.strip():
                empty_counts[name] += 1
    return CheckedTemplate(
        source=source,
        template=template,
        columns=columns,
        first_row=first_row,
        row_count=row_count,
        known_row_count=known_row_count,
        omission_notes=(
            *template.omission_notes,
            *_describe_cells(template, columns, markup_counts, empty_counts),
            *_describe_known_rows(template, columns, known_row_count, unusable_answers),
        ),
    )


def _option_columns(template: TemplateForm) -> set[str]:
    return {
        name
        for question in template.questions
        for option in question.options
        for name in fields_in(option.value)
    }


def _check_columns(template: TemplateForm, columns: tuple[str, ...], inputs: Path) -> None:
    """Raise TemplateProblem if the template has a field that is no column of the inputs."""
    for name in template.fields:
        if name in columns:
            continue
        nearest_column = nearest_name(name, columns)
        expected = f"{nearest_column!r} perhaps" if nearest_column else f"one of {', '.join(columns[:10])}"
        raise TemplateProblem(
            f"The template has the field ${{{name}}}, but {inputs.name} has no such column; expected {expected}."
        )


def _describe_cells(
    template: TemplateForm, columns: tuple[str, ...], markup_counts: Counter[str], empty_counts: Counter[str]
) -> list[str]:
    """Return sentences about unused columns, HTML in cells, and empty options."""
    sentences = []
    answer_columns = expected_answer_columns(columns, template.questions)
    extras = [
        name
        for name in columns
        if name not in template.fields and name not in answer_columns and name != PICTURE_COLUMN
    ]
    if extras:
        more = f" and {len(extras) - MAX_NAMES_LISTED} more" if len(extras) > MAX_NAMES_LISTED else ""
        names = ", ".join(extras[:MAX_NAMES_LISTED]) + more
        sentences.append(
            f"Columns that the template does not show go along to the exports, and no participant sees them: {names}."
        )
    for name, count in markup_counts.items():
        if name in template.fields:
            sentences.append(
                f"Column “{name}” holds HTML in {_format_rows(count)}: it is shown as text, tags and all."
            )
    for name, count in empty_counts.items():
        sentences.append(
            f"Column “{name}” is empty in {_format_rows(count)}: that option cannot be chosen there."
        )
    return sentences


def _describe_known_rows(
    template: TemplateForm, columns: tuple[str, ...], known_row_count: int, unusable_answers: list[str]
) -> list[str]:
    """Return sentences about rows with expected answers, and about answers that cannot be used."""
    answer_columns = expected_answer_columns(columns, template.questions)
    if not answer_columns:
        return []
    sentences = []
    if known_row_count:
        verb = "says" if known_row_count == 1 else "say"
        names = ", ".join(list(answer_columns)[:MAX_NAMES_LISTED])
        sentences.append(
            f"{_format_rows(known_row_count)} {verb} what is expected ({names}), which no participant sees: "
            "with controls.per_hit they are check questions."
        )
    if unusable_answers:
        more = f" (and {len(unusable_answers) - 1} more)" if len(unusable_answers) > 1 else ""
        sentences.append(f"What is expected could not be met by any answer in {unusable_answers[0]}{more}.")
    return sentences


def _format_rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"


def make_draft_design(*, source: str, slug: str, name: str = "", **design_fields: Any) -> StudyDesign:
    """Return the design of a study of the template, whose HTML is ``source``. Raise DesignError if it is invalid."""
    return make_design(
        {
            "name": name or slug,
            "slug": slug,
            "dataset": slug,
            "protocol": HITTemplate.name,
            "template": {"html": source},
            **design_fields,
        }
    )


def import_template(
    *,
    slug: str,
    source: str,
    inputs: Path,
    name: str = "",
    images: str | None = None,
    encoding: str | None = None,
    user: User | None = None,
    progress: Progress = no_progress,
    **design_fields: Any,
) -> tuple[Study, CheckedTemplate]:
    """Store a dataset of the inputs and a draft study, both named ``slug``, in one transaction.

    Args:
        source: the HTML of the template.
        name: the study's name for workers; if empty, the slug.
        images: a folder with the pictures of column ``picture``, or the address to which their names are added.
        design_fields: further fields of the design.

    Raises:
        DataConflict: the study exists, or the dataset exists with other rows (with ``user``, with any rows).
    """
    check = check_template(source=source, inputs=inputs, encoding=encoding, progress=progress)
    design = make_draft_design(source=source, slug=slug, name=name, **design_fields)
    if Study.objects.filter(slug=slug).exists():
        raise DataConflict(f"A study {slug!r} already exists; choose another slug.")
    # A person makes a new dataset. The command, which has no user, may be repeated with a dataset of the same rows.
    if user is not None and Dataset.objects.filter(name=slug).exists():
        raise DataConflict(f"A dataset {slug!r} already exists; choose another short name.")
    with transaction.atomic():
        import_dataset(
            format=INPUTS_FORMAT,
            path=inputs,
            name=slug,
            images=images,
            encoding=encoding,
            user=user,
            progress=progress,
        )
        study = create_study(design=design, user=user)
        study.notes = study.notes | {"left_out": list(check.omission_notes)}
        study.save(update_fields=["notes"])
        sentence = f"A HIT template was brought over with {_format_rows(check.row_count)} of inputs."
        note_event(study=study, what="template-brought", sentence=sentence, by=user)
    return study, check
