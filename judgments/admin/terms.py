"""Terms of the field, which ``static/js/terms.js`` explains at their first use on a page of the admin."""

from __future__ import annotations

import re
from functools import cache

from django.http import HttpRequest, JsonResponse
from django.urls import reverse
from django.utils.text import slugify
from django.utils.translation import gettext
from django.views.decorators.cache import cache_control

from common.markup import plain_text
from judgments.admin.documentation import GLOSSARY, documents

SECTION = "Terms of the field"
# an entry of the glossary, such as "- **unit**: The smallest thing that is judged."; further lines are indented
ENTRY = re.compile(r"^- \*\*(.+?)\*\*: (.+(?:\n  .+)*)", re.M)


@cache
def terms() -> dict[str, str]:
    """Return the meanings of the terms in the glossary's section "Terms of the field", by term."""
    text = documents()[GLOSSARY].read_text(encoding="utf-8")
    _, _, text_after_heading = text.partition(f"\n## {SECTION}\n")
    section, _, _ = text_after_heading.partition("\n## ")
    return {name: plain_text(meaning) for name, meaning in ENTRY.findall(section)}


@cache_control(private=True, max_age=3600)
def show_terms(request: HttpRequest, language: str) -> JsonResponse:
    """Return the terms in the reader's language. The address has the language, since browsers cache the response."""
    glossary = reverse("documentation", args=[GLOSSARY])
    return JsonResponse(
        {
            "glossary": {"name": gettext("Glossary"), "address": f"{glossary}#{slugify(SECTION)}"},
            "terms": [(gettext(name), gettext(meaning)) for name, meaning in terms().items()],
        }
    )
