"""Read the judgments of a source from a file: a judgments file, or a published set of judgments."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from common.files import unguard_formula
from common.incoming import quote_value
from common.texts import one_text
from contrib.comparing.sources.judgments import CaptionTriple, CreditedSystems, SourceJudgments, UnitContent
from evaluation.data.judgment_sets.files import (
    NO_VALUE,
    REASONS,
    checked_kind,
    included_rows,
    read_document,
    read_judgment_table,
    read_optional,
)
from judgments.design.tables.sampling import SIDES
from judgments.importers import JUDGMENT_FORMATS, ColumnMapping, open_judgments
from judgments.importers.problems import ImportProblem
from judgments.importers.records.json_records import json_cell
from judgments.importers.records.record import Record
from judgments.importers.records.rows import CreditedRow, JudgmentRow
from judgments.importers.records.values import read_name, read_output, read_text
from judgments.kinds import KINDS

TEXT_TABLES = ("jsonl", "csv")  # the formats of judgments files, which are detected if no format is named
SOURCE_FORMATS = (*TEXT_TABLES, *JUDGMENT_FORMATS)


def read_source(
    path: Path,
    *,
    format: str | None = None,
    protocol: str | None = None,
    encoding: str | None = None,
    mapping: ColumnMapping | None = None,
    progress: Callable[[int], None] | None = None,
) -> SourceJudgments:
    """Read judgments to compare, from a judgments file or a file in one of SOURCE_FORMATS.

    Args:
        protocol: the protocol, for files that name none, or that have judgments of several.
        mapping: the columns of a judgments file.
        progress: gets the number of rows read so far.

    Raise ImportProblem if the file cannot be read.
    """
    if format is None or format in TEXT_TABLES:
        return _read_table(path, protocol, encoding=encoding, mapping=mapping, progress=progress)
    source = open_judgments(format, path, protocol=protocol, encoding=encoding)
    units, raters, values = array("q"), array("q"), array("d")
    unit_index: dict[str, int] = {}
    rater_index: dict[str, int] = {}
    contents: list[UnitContent] = []
    excluded_counts: Counter[str] = Counter()
    for row in included_rows(source.judgments(), excluded_counts, progress):
        if row.value is None:
            excluded_counts[NO_VALUE] += 1
            continue
        if row.unit not in unit_index:
            contents.append(_content_of_row(row))
        units.append(unit_index.setdefault(row.unit, len(unit_index)))
        raters.append(rater_index.setdefault(row.worker, len(rater_index)))
        values.append(row.value)
    return SourceJudgments(
        name=format,
        # The setting has the design options that the answers need, such as a scale.
        kind=KINDS[source.protocol].with_setting(source.setting) if source.protocol else None,
        units=list(unit_index),
        contents=contents,
        unit=np.array(units, dtype=np.int64),
        rater=np.array(raters, dtype=np.int64),
        value=np.array(values, dtype=np.float64),
        left_out={reason: excluded_counts[reason] for reason in REASONS if excluded_counts[reason]},
        anonymous=source.anonymous,
    )


def _content_of_row(row: JudgmentRow) -> UnitContent:
    """Return the content of the unit to which a row of a published set belongs."""
    first_systems, second_systems = row.systems()[:2] if isinstance(row, CreditedRow) else ((), ())
    return UnitContent(
        row.image,
        ids=(row.reference, row.first, row.second),
        texts=_strip_texts(row.reference_text, row.first_text, row.second_text),
        systems=(first_systems, second_systems),
        kind=row.kind or "",
        document=row.document or "",
    )


def _read_table(path: Path, protocol: str | None, **options: Any) -> SourceJudgments:
    """Read a judgments file in CSV or JSON lines. If a protocol was asked for, values must be numbers."""
    table = read_judgment_table(path, numeric=protocol is not None, read_content=_read_content, **options)
    if protocol is not None and table.protocol not in (None, protocol):
        raise ImportProblem(
            path, None, "protocol", quote_value(table.protocol), f"{protocol!r}, as was asked for"
        )
    kind = KINDS.get(protocol or table.protocol or "")
    # `match_sources` refuses open kinds, whose answers are no numbers.
    if kind is not None and not kind.is_open:
        kind = checked_kind(path, table, kind)
    return SourceJudgments(
        name=path.name,
        kind=kind,
        units=table.unit_names,
        contents=table.contents,
        unit=table.units,
        rater=table.workers,
        value=table.values,
        left_out=table.excluded_counts,
        anonymous=table.is_anonymous,
    )


def _read_content(record: Record) -> UnitContent:
    """Return the content of the unit to which a row of a judgments file belongs."""
    names = ("reference", "first", "second")
    ids = [read_optional(record, name, read_name) for name in names]
    texts = [
        read_optional(record, f"{name}_text", read_text if name == "reference" else read_output)
        for name in names
    ]
    if record.textual:
        # In exports to CSV, a text that a spreadsheet would read as a formula begins with an additional apostrophe.
        ids = [identifier and unguard_formula(identifier) for identifier in ids]
        texts = [text and unguard_formula(text) for text in texts]
    return UnitContent(
        read_optional(record, "image", read_name),
        ids=(ids[0], ids[1], ids[2]),
        texts=_strip_texts(*texts),
        systems=_read_systems(record),
        kind=read_optional(record, "kind", read_name) or "",
        document=read_document(record),
    )


def _read_systems(record: Record) -> CreditedSystems:
    """Return the names of the systems that a row credits with its first text and with its second text.

    The row's `systems` are an object whose keys are the ids of the texts: ``{"cap-1": [{"system": "A"}]}``. Equal texts
    have the same id; in this case, the keys are the sides.
    """
    credits = json_cell(record, "systems")
    if not isinstance(credits, dict):
        return (), ()
    same_texts = record.get("first") == record.get("second")
    first_credits, second_credits = (
        credits.get(side if same_texts and side in credits else record.get(side)) or () for side in SIDES
    )
    return _system_names(first_credits), _system_names(second_credits)


def _system_names(credits: Any) -> tuple[str, ...]:
    """Return the sorted names in a list ``[{"system": NAME}]``, without entries of another form."""
    rows = credits if isinstance(credits, list) else []
    return tuple(sorted({str(row["system"]) for row in rows if isinstance(row, dict) and "system" in row}))


def _strip_texts(*texts: str | None) -> CaptionTriple:
    """Normalise texts, so that differences such as leading and trailing blanks do not count."""
    reference, first, second = (None if text is None else one_text(text) for text in texts)
    return reference, first, second
