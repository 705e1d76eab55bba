"""Make the sentences of integrity checks, which describe what is wrong with the rows of a query."""

from __future__ import annotations

from collections.abc import Iterator
from string import Formatter
from typing import Any

from django.db.models import QuerySet

from judgments.models import Study

ROWS_PER_BATCH = 2_000
DESIGNED_SOURCE = Study.Source.DESIGNED

Sentences = Iterator[str]


def sentences_about(rows: QuerySet[Any], problem: str, *, study: str = "study") -> Sentences:
    """Yield a sentence about each row.

    Args:
        problem: what is wrong with a row; names in braces are replaced by the row's columns.
        study: lookup path from the row to its study.
    """
    sentence = f"Study {{{study}__slug}}: {problem}"
    columns = [name for _, name, _, _ in Formatter().parse(sentence) if name]
    for row in rows.values(*columns).iterator(ROWS_PER_BATCH):
        yield sentence.format_map(row)
