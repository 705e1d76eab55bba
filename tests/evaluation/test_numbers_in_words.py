"""Numbers in sentences for staff."""

from __future__ import annotations

from django.utils.translation import override

from annotation.words import spell_seconds
from evaluation.plots.work import progress_sentence
from judgments.templatetags.judgments_tags import hours


def test_one_imported_judgment_is_said_in_the_singular() -> None:
    assert progress_sentence({"judgments": 1, "wanted": 0}) == "One judgment was imported."
    with override("de"):
        assert progress_sentence({"judgments": 1, "wanted": 0}) == "Ein Urteil wurde importiert."


def test_no_comma_parts_thousands_on_german_pages() -> None:
    assert spell_seconds(5_000 * 3600) == "5,000 h"
    assert hours(5_000) == "about 5,000 h"
    with override("de"):
        assert spell_seconds(5_000 * 3600) == "5\N{NARROW NO-BREAK SPACE}000 h"
        assert "," not in hours(5_000)
