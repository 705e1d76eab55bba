"""Template tags and filters of workers' pages: numbers, answers, writing directions, times, and data for scripts."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from django import template
from django.template import Context
from django.utils.encoding import escape_uri_path
from django.utils.formats import date_format
from django.utils.html import format_html, json_script
from django.utils.safestring import SafeString
from django.utils.translation import get_language, get_language_bidi, gettext

from annotation.work.sheet import texts
from common.markup import render_inline
from common.texts import is_empty, text_or_placeholder
from judgments.design.numbers import display_number, number_text
from judgments.kinds.caption_rules import ENGLISH, primary_subtag, rules_for
from judgments.kinds.keywords import PHRASE_NOT_OFFERED, WORD_NOT_IN_TEXT
from judgments.studies.designs import design_of
from quorum.phrases import normalise_phrase
from quorum.statistics.aggregation.pair_answers import SURE

register = template.Library()
# right-to-left languages and scripts (BCP 47)
RTL_LANGUAGES = frozenset(
    {"ar", "arc", "ckb", "dv", "fa", "he", "iw", "ji", "ks", "nqo", "ps", "sd", "syr", "ug", "ur", "yi"}
)
RTL_SCRIPTS = frozenset({"adlm", "arab", "aran", "hebr", "mand", "nkoo", "rohg", "samr", "syrc", "thaa"})
SCRIPT_LETTERS = 4  # letters of a script in a language tag, such as Arab in az-Arab


@register.filter
def percent(share: float) -> str:
    """Format a fraction as an SVG length in the same notation for every language: 0.25 gives "25%"."""
    return f"{100 * share:.2f}".rstrip("0").rstrip(".") + "%"


@register.filter
def form_number(number: float | None) -> str:
    """Format a number as form data, in the same notation for every language; "" for None."""
    return "" if number is None else number_text(number)


@register.filter
def display(number: float) -> str:
    """Format a number as people read it: with a minus sign, and as 2,5 in German."""
    return display_number(number)


@register.filter
def answer_part(value: int | None) -> int | None:
    """Return an answer to a pair without its confidence. The stored value is the answer plus a multiple of ``SURE``."""
    return None if value is None else value % SURE


@register.filter
def confidence_part(value: int | None) -> int | None:
    """Return the confidence that is part of the stored value of an answer to a pair, a multiple of ``SURE``."""
    return None if value is None else value - value % SURE


@register.filter
def box_of_word(answer: Sequence[Mapping[str, Any]] | None, word: int) -> str:
    """Return the box that an answer links to a word; "" if there is none.

    Args:
        answer: links such as ``[{"word": 2, "box": 1}]``.
        word: position of the word in the text.
    """
    return next((str(link["box"]) for link in answer or () if link["word"] == word), "")


@register.filter
def largest_first(boxes: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Sort boxes by area, largest first, so that small boxes are drawn on top of large ones and can be clicked."""
    return sorted(boxes, key=lambda box: -box["width"] * box["height"])


@register.filter
def text_direction(text: str) -> str:
    """Return "rtl" or "ltr", by the first letter of the text that has a direction; "ltr" if no letter has one.

    Use it for single words, in which a browser with dir="auto" may find no letter.
    """
    for letter in text:
        direction = unicodedata.bidirectional(letter)
        if direction in ("L", "R", "AL"):
            return "ltr" if direction == "L" else "rtl"
    return "ltr"


@register.filter
def mirrored_key(key: str) -> str:
    """Return the opposite arrow key if the page's language is written from right to left. Other keys are unchanged."""
    return {"←": "→", "→": "←"}.get(key, key) if get_language_bidi() else key


@register.simple_tag(takes_context=True)
def page_address(context: Context, language: str = "") -> str:
    """Return this page's address in a language. If ``language`` is "", the reader's stored choice applies."""
    request = context["request"]
    query = request.GET.copy()
    query.pop("language", None)
    if language:
        query["language"] = language
    return escape_uri_path(request.path) + (f"?{query.urlencode()}" if query else "")


@register.filter
def study_title(study: Any) -> str:
    """Return the study's title in the reader's language. The study of a preview is already translated."""
    if isinstance(study, Mapping):
        return str(study["name"])
    translation = design_of(study).translations.get(get_language() or "")
    return translation.name if translation and translation.name else str(study.name)


register.filter(texts.translated_text)
register.filter("inline", render_inline)


@register.filter
def language_direction(text: str, language: str = "") -> str:
    """Return the writing direction of a text by its language tag (BCP 47), "rtl" or "ltr". The text is not read.

    Without a language, return "auto": browsers then go by the first letter of the text.
    """
    if not language:
        return "auto"
    language_code, *subtags = language.lower().split("-")
    script = next((subtag for subtag in subtags if len(subtag) == SCRIPT_LETTERS and subtag.isalpha()), "")
    is_rtl = script in RTL_SCRIPTS if script else language_code in RTL_LANGUAGES
    return "rtl" if is_rtl else "ltr"


@register.simple_tag(takes_context=True)
def judged_text(context: Context, text: str) -> SafeString:
    """Return a judged sentence as HTML, in a ``bdi`` element with the language of the design.

    The element keeps right-to-left text and direction marks from affecting the rest of the page.
    """
    language = getattr(context.get("design"), "language", "")
    if is_empty(text):
        return format_html('<bdi class="said blank" dir="auto">{}</bdi>', text_or_placeholder(text))
    if language:
        return format_html('<bdi class="said" dir="auto" lang="{}">{}</bdi>', language, text)
    return format_html('<bdi class="said" dir="auto">{}</bdi>', text)


@register.simple_tag
def local_time(at: datetime, *, day: bool = False) -> SafeString:
    """Return a time in UTC as HTML; with ``day``, only its date. js/times.js shows it in the reader's time zone."""
    if day:
        text = date_format(at.astimezone(UTC))
        return format_html('<time datetime="{}" data-own-zone="day">{}</time>', at.isoformat(), text)
    text = date_format(at.astimezone(UTC), gettext("j F Y, H:i"))
    return format_html('<time datetime="{}" data-own-zone>{} UTC</time>', at.isoformat(), text)


@register.simple_tag
def saved_answer(row: Any) -> SafeString:
    """Return the answer of a row of the worksheet as ``<script data-saved="POSITION">JSON</script>``, or ""."""
    return SafeString("") if row.value is None else as_json(row.value, "saved", row.position)


@register.simple_tag
def as_json(content: Any, name: str, value: object = "") -> SafeString:
    """Return ``<script data-NAME="VALUE">JSON</script>``, whose attribute tells scripts what the JSON is."""
    # json_script escapes the content; name and value come from templates
    return SafeString(json_script(content).replace("<script ", f'<script data-{name}="{value}" ', 1))


@register.filter
def typed_phrases(answer: Sequence[str] | None, collocations: Sequence[str]) -> str:
    """Return the phrases of an answer that are not among the phrases that the page offers, separated by commas."""
    offered_phrases = {normalise_phrase(phrase) for phrase in collocations}
    return ", ".join(phrase for phrase in answer or () if normalise_phrase(phrase) not in offered_phrases)


@register.filter
def has_phrase(answer: Sequence[str] | None, collocation: str) -> bool:
    """Return whether an answer has a phrase that the page offers."""
    return normalise_phrase(collocation) in {normalise_phrase(phrase) for phrase in answer or ()}


@register.simple_tag
def keyword_message(what: str) -> str:
    """Return the message about a keyword that is not accepted. The page's script replaces {word} by the keyword.

    Args:
        what: "missing" for a word that the text lacks, "phrase" for a phrase that the page does not offer.
    """
    return str({"missing": WORD_NOT_IN_TEXT, "phrase": PHRASE_NOT_OFFERED}[what]) % {"word": "{word}"}


@register.simple_tag
def caption_rules(language: str) -> list[dict[str, Any]]:
    """Return the rules for captions in a language as data for scripts."""
    return [rule.script_fields() for rule in rules_for(language)]


@register.simple_tag
def refusing_rules(language: str) -> list[dict[str, Any]]:
    """Return the rules that refuse captions, to list them on the page. Rules with the same message are listed once.

    Each is ``{"rule": rule, "shown": bool}``, where "shown" says whether the rule's example is in ``language``.
    """
    rules: dict[str, dict[str, Any]] = {}
    for rule in rules_for(language):
        # rules about counts, such as "at most 50 words", are not listed; the examples of general rules are in English
        example_languages = rule.languages or ENGLISH
        if rule.hard and not rule.counts and str(rule.message) not in rules:
            rules[str(rule.message)] = {"rule": rule, "shown": primary_subtag(language) in example_languages}
    return list(rules.values())
