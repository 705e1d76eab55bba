"""Tables of the verdicts of a pack, for reports and in Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from contrib.packs.reading import Pack
from contrib.packs.verdicts import DIFFERS, MATCHED, NEAR, NOT_REPRODUCIBLE, NumberVerdict
from evaluation.presentation.content import Column, Table

MAX_REPEATED_LENGTH = 24  # longer cells that equal the cell above are not repeated
REPEAT_MARK = "as above"  # stands in place of such a cell
COLUMNS = ("place", "number", "published", "ours", "interval", "verdict", "convention, and why")


def verdict_rows(verdicts: Sequence[NumberVerdict]) -> list[tuple[str, ...]]:
    """Return a row of texts for each verdict, with a cell for each of COLUMNS."""
    return [
        (
            verdict.number.place,
            verdict.number.what,
            verdict.published_text,
            verdict.computed_text,
            verdict.interval_text,
            verdict.kind,
            verdict.reasons,
        )
        for verdict in verdicts
    ]


def verdict_table(pack: Pack, verdicts: Sequence[NumberVerdict]) -> Table:
    """Return the table of a pack's verdicts. REPEAT_MARK stands in place of a long cell that equals the one above."""
    rows = verdict_rows(verdicts)
    rows_above = [COLUMNS, *rows[:-1]]  # the header is above the first row
    table_rows = [
        tuple(
            REPEAT_MARK if cell == above and len(cell) > MAX_REPEATED_LENGTH else cell
            for cell, above in zip(row, row_above, strict=True)
        )
        for row, row_above in zip(rows, rows_above, strict=True)
    ]
    columns = tuple(Column(name) for name in COLUMNS)
    return Table(f"{pack.name}-numbers", "Published numbers beside ours", columns, tuple(table_rows))


def rows_in_full(rows: Iterable[Sequence[str]]) -> Iterator[tuple[str, ...]]:
    """Yield the rows of a `verdict_table`, in which the cell above replaces each REPEAT_MARK."""
    row_above: tuple[str, ...] = COLUMNS
    for row in rows:
        row_above = tuple(
            above if cell == REPEAT_MARK else cell for cell, above in zip(row, row_above, strict=True)
        )
        yield row_above


def verdict_markdown(pack: Pack, verdicts: Sequence[NumberVerdict]) -> str:
    """Return the section of a pack in `verdicts.md`. A note that explains several numbers is listed once."""
    computed_verdicts = [verdict for verdict in verdicts if verdict.kind != NOT_REPRODUCIBLE]
    uses_by_text = Counter(text for verdict in computed_verdicts for text in verdict.explanations)
    notes = [text for text, uses in uses_by_text.items() if uses > 1 and len(text) > MAX_REPEATED_LENGTH]
    lines = [f"### {pack.name}", "", f"{pack.contents.title}. {describe_verdict_counts(verdicts)}", ""]
    if computed_verdicts:
        lines += [markdown_row(COLUMNS), markdown_row(["---"] * len(COLUMNS))]
    for verdict, row in zip(computed_verdicts, verdict_rows(computed_verdicts), strict=True):
        lines.append(markdown_row([*row[:-1], _explanations_with_marks(verdict, notes)]))
    if notes:
        lines += ["", *(f"{number}. {note}" for number, note in enumerate(notes, 1))]
    if len(computed_verdicts) < len(verdicts):
        lines += ["", "Not reproducible:", "", *_unreproducible_lines(verdicts)]
    return "\n".join(lines) + "\n"


def _explanations_with_marks(verdict: NumberVerdict, notes: Sequence[str]) -> str:
    """Return the explanations of a verdict, with the numbers of notes in place of the texts that are notes."""
    unlisted_texts = ". ".join(text for text in verdict.explanations if text not in notes)
    marks = ", ".join(f"[{notes.index(text) + 1}]" for text in verdict.explanations if text in notes)
    return f"{marks} {unlisted_texts}".strip()


def _unreproducible_lines(verdicts: Sequence[NumberVerdict]) -> Iterator[str]:
    """Yield a line for each reason, with the published numbers by the place where they are printed."""
    reasons: dict[str, dict[str, list[str]]] = {}  # texts of numbers, by reason and by place
    for verdict in verdicts:
        if verdict.kind == NOT_REPRODUCIBLE:
            places = reasons.setdefault(verdict.reasons, {})
            places.setdefault(verdict.number.place, []).append(
                f"{verdict.number.what}: {verdict.published_text}"
            )
    for reason, places in reasons.items():
        numbers = " ".join(f"*{place}*: {'; '.join(texts)}." for place, texts in places.items())
        yield f"- {reason}. {numbers}"


def markdown_row(cells: Sequence[str]) -> str:
    escaped_cells = [cell.replace("|", "\\|") for cell in cells]
    return f"| {' | '.join(escaped_cells)} |"


def describe_verdict_counts(verdicts: Sequence[NumberVerdict]) -> str:
    kinds = [verdict.kind for verdict in verdicts]
    differing_count = kinds.count(DIFFERS)
    return (
        f"{len(kinds)} published number{'s' * (len(kinds) != 1)}: {kinds.count(MATCHED)} matched, "
        f"{kinds.count(NEAR)} near, {differing_count} differ{'s' * (differing_count == 1)}, "
        f"{kinds.count(NOT_REPRODUCIBLE)} not reproducible."
    )
