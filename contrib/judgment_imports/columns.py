"""The page that asks, before a table of judgments is imported, what its columns mean and how the answers are read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext, gettext_lazy, gettext_noop

from common.errors import QuorumError
from common.incoming.archives import UploadRefused
from common.incoming.bounded_files import uploaded_text
from judgments.datasets.table_columns import PEOPLE, TableUse, UploadTable, add_table_use
from judgments.design.reading.study_files import toml_values
from judgments.design.scale import InferredScale, bounds_from_text, scale_from_text
from judgments.importers.mapped.mapping import MAPPABLE_COLUMNS
from judgments.kinds import KINDS

IMPORT_JOB = "import_judgments"  # the kind of the import's job
SCALE_HELP = gettext_lazy(
    "Needed only for graded or slider answers. Examples are 1:5, 1:5:0.5 and -3:3. If this field is empty, the "
    "import derives the scale from the answers and reports it."
)
DESIGN_HELP = gettext_lazy(
    "The TOML file that a study page offers for download. It is required for answers to a HIT template."
)


class JudgmentTableUse(TableUse):
    """The fields and checks of the page of columns for an import, whose arguments so far are ``args``."""

    def remove_impossible_guesses(self, guesses: dict[str, str]) -> None:
        if "image" in guesses:
            guesses.pop("text", None)  # a column of texts names items only if no other column does

    def column_context(self, args: Mapping[str, Any], table: UploadTable) -> dict[str, Any]:
        earlier_mapping, has_design = args.get("mapping") or {}, bool(args.get("design"))
        scale_of_rows = ""
        if not has_design:  # a design may state another scale
            scale_of_rows = _scale_of_first_rows(table, str(args.get("protocol") or ""))
        return {
            # settings of a ``ColumnMapping``: the column of criteria, whether workers are unknown, and the time zone
            **{name: earlier_mapping.get(name, "") for name in ("criterion", "workers", "zone")},
            "is_folder": table.is_folder,
            # what words of the file stand for, such as "yes=1, no=0"
            "words": ", ".join(
                f"{word}={value}" for word, value in earlier_mapping.get("values", {}).items()
            ),
            "scale": args.get("scale", ""),
            "scale_help": SCALE_HELP,
            "scale_of_rows": scale_of_rows,
            "has_design": has_design,
            "design_help": DESIGN_HELP,
        }

    def arguments(
        self, args: Mapping[str, Any], values: Mapping[str, str], files: Mapping[str, Any]
    ) -> dict[str, Any]:
        try:
            scale = clean_scale(values.get("scale", ""))
        except ValueError as error:
            raise UploadRefused(f"{gettext('Scale of the answers')}: {error}.") from None
        return {
            "good_rows": "good_rows" in values,  # import the valid rows, although others are invalid
            "design": text_of_study_file(files.get("design")) or args.get("design", ""),
            "scale": scale,
        }


def _scale_of_first_rows(table: UploadTable, protocol: str) -> str:
    """Return the scale of the answers in the first rows, in words; "" without numbers, or if the protocol has none."""
    kind, column = KINDS.get(protocol), table.chosen.get("value")
    if kind is None or kind.scale is None or column not in table.names:
        return ""
    cells = [row[table.names.index(column)].strip() for row in table.rows]
    try:
        numbers = [float(cell) for cell in cells if cell]
        inferred_scale = InferredScale.from_number(numbers[0])
        for number in numbers[1:]:
            inferred_scale = inferred_scale.with_number(number)
        return inferred_scale.scale_like(kind.scale).in_words
    except (ValueError, IndexError):
        return ""


def text_of_study_file(file: UploadedFile | None) -> str:
    """Return the text of a study file; "" if there is no file. Raise UploadRefused if it is not a study file."""
    if file is None:
        return ""
    try:
        text = uploaded_text(file)
        toml_values(text, source=file.name or "")
    except QuorumError as error:
        raise UploadRefused(f"{gettext('Study file')}: {error}") from None
    return text


add_table_use(
    IMPORT_JOB,
    JudgmentTableUse(
        required=("unit", "worker"),
        # Only files that Quorum exports have the columns that are left out; these need no mapping.
        optional=tuple(
            name for name in MAPPABLE_COLUMNS if name not in ("systems", "answers", "study", "document")
        ),
        labels={},  # the page shows the names of the columns
        choices={PEOPLE: gettext_noop("answers of the participant who is named in the header")},
        template="judgment_imports/columns.html",
    ),
)


def clean_scale(text: str) -> str:
    """Return a scale, LOW:HIGH or LOW:HIGH:STEP or "", without outer blanks. Raise ValueError for other texts."""
    text = text.strip()
    if text and bounds_from_text(text).step:
        scale_from_text(text)  # refuses steps that do not divide the scale
    return text
