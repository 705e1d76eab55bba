"""Guess from a dataset without pictures whether its judged texts are translations, summaries or other texts."""

from __future__ import annotations

import re
from statistics import median

from django.db.models import Q

from judgments.kinds import Kind
from judgments.models import Caption, Dataset, Output

MAX_TEXTS_READ = 200  # texts of a dataset from which the type of its texts is guessed
MAX_SHARED_SHARE = 0.4  # share of a translation's words that its source also has, such as names
MAX_SUMMARY_RATIO = 0.6  # length of a summary as a fraction of its source, in characters
# A word of at least four letters, since many languages share short words; or a character of a script without blanks.
WORD_OR_CHARACTER = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\d_]{4,}")


def has_only_source_texts(dataset: Dataset) -> bool:
    """Return whether the dataset has items, every item has a source text, and none has a picture."""
    items = dataset.items.order_by()
    return items.exists() and not items.filter(~Q(picture="") | ~Q(url="") | Q(text="")).exists()


def judged_text_type(dataset: Dataset) -> str:
    """Return "translation", "summary" or "text", guessed by comparing outputs, or references, with sources."""
    output_rows = Output.objects.annotations().filter(system__dataset=dataset).order_by()
    reference_rows = Caption.objects.filter(dataset=dataset, role=Caption.Role.REFERENCE).order_by()
    for rows in (
        output_rows.values_list("item__text", "caption__text"),
        reference_rows.values_list("item__text", "text"),
    ):
        pairs = [(source, text) for source, text in rows[:MAX_TEXTS_READ] if source and text]
        if pairs:
            if median(_shared_share(source, text) for source, text in pairs) < MAX_SHARED_SHARE:
                return "translation"
            is_short = median(len(text) / len(source) for source, text in pairs) < MAX_SUMMARY_RATIO
            return "summary" if is_short else "text"
    return "text"


def _shared_share(source: str, text: str) -> float:
    """Return the share of the words of ``text`` that ``source`` also has; 1 for a text without words."""
    words = set(WORD_OR_CHARACTER.findall(text.lower()))
    source_words = set(WORD_OR_CHARACTER.findall(source.lower()))
    return len(words & source_words) / len(words) if words else 1.0


def can_ask_about_texts(kind: Kind) -> bool:
    """Return whether the page of a kind works without pictures.

    It does if it shows no picture, or if it can show a source text instead and its question has a wording for texts.
    """
    return not kind.page.shows_picture or ("text" in kind.wordings and not kind.no_source_reason)
