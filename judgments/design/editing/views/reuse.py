"""The page "Use again" of a study, and the comparison of two designs."""

from __future__ import annotations

import difflib
import re
from itertools import chain
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from common.errors import QuorumError
from judgments.admin.base import QuorumAdmin, signed_in
from judgments.design.editing.form.sections import sections_for
from judgments.design.editing.preset_titles import preset_titles
from judgments.design.named_designs import NamedDesign, earlier_designs, find_design
from judgments.design.reading.comparing import DesignDifference, compare_designs
from judgments.design.saved_presets import newest_presets
from judgments.kinds import KINDS
from judgments.models import Study
from judgments.studies.designs import design_of
from judgments.studies.operations import duplicate, save_preset
from judgments.studies.pages import Context, StudySection
from judgments.studies.step_form import add_operation, take_refusal
from judgments.studies.studies import next_copy_number
from judgments.studies.study_page import study_page

# a number with separators, a word, blanks, or another character
WORDS_AND_GAPS = re.compile(r"\d+(?:[.,]\d+)+|\w+|\s+|[^\w\s]")
MAX_WORD_PAIRS = 1_000_000  # pairs of words of two texts that are compared word by word
# studies and saved presets that the page lists to compare with; the address of the comparison accepts any
MAX_STUDIES_OFFERED = 200


@study_page("reuse", "Use again", order=95, section=StudySection.SHARE, help="designing.md#use-again")
def show_reuse(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    refusal = take_refusal(request, study)
    number = next_copy_number(study)
    other_studies = Study.objects.visible_to(signed_in(request)).exclude(pk=study.pk)
    context |= {
        "copy_name": f"{study.name[:190]} ({number})",
        "copy_slug": f"{study.slug[:75]}-{number}",
        "other_studies": other_studies.values_list("slug", "name")[:MAX_STUDIES_OFFERED],
        "preset_titles": preset_titles(design_of(study).judged),
        "saved_presets": newest_presets(MAX_STUDIES_OFFERED),
        "earlier_designs": earlier_designs(study),
        "is_designed": study.source == Study.Source.DESIGNED,  # imported judgments have no design
    }
    # ``sent_duplicate`` or ``sent_save_preset``: the form that was refused, with its values
    if refusal is not None:
        context[f"sent_{refusal.step.replace('-', '_')}"] = refusal
    return TemplateResponse(request, "judgments/study/reuse.html", context)


def show_comparison(admin: QuorumAdmin, request: HttpRequest) -> HttpResponse:
    context: Context = {
        **admin.admin_site.each_context(request),
        "title": gettext("Compare designs"),
        "subtitle": gettext("Compare designs"),
    }
    studies = Study.objects.visible_to(signed_in(request))
    first_name, second_name = request.GET.get("this", ""), request.GET.get("that", "")
    context |= {"this": first_name, "that": second_name}
    try:
        first, second = (find_design(name, studies=studies) for name in (first_name, second_name))
    except QuorumError as error:
        context["problem"] = str(error)
        return TemplateResponse(request, "judgments/study/compare.html", context, status=error.status)
    # a preset lacks some keys of a study's design; these are compared only if neither design is a preset
    comparison = compare_designs(
        first.comparable_values(second), second.comparable_values(first), names=(first_name, second_name)
    )
    swapped_names = urlencode({"this": second_name, "that": first_name})
    context |= {
        "this_title": gettext(first.title),
        "that_title": gettext(second.title),
        "comparison": comparison,
        "groups": _group_tables(comparison.tables, first, second),
        "swap_address": f"{reverse('admin:judgments_study_compare')}?{swapped_names}",
    }
    return TemplateResponse(request, "judgments/study/compare.html", context)


def _group_tables(
    tables: dict[str, list[DesignDifference]], first: NamedDesign, second: NamedDesign
) -> list[dict[str, Any]]:
    """Return the differences by section of the form, with the values of both designs as HTML."""
    titles: dict[str, tuple[str, str]] = {}  # the titles of the section and of the field, by key
    for design in (second.design, first.design):  # the titles of the first design's kind take precedence
        for section in sections_for(KINDS[design.protocol]):
            for key, field in section.fields.items():
                titles[key] = (gettext(section.title), gettext(field.title or ""))
    groups: dict[str, list[dict[str, Any]]] = {}
    for difference in chain.from_iterable(tables.values()):
        title, label = titles.get(difference.key, (gettext("Other keys"), ""))
        first_html, second_html = mark_differences(difference.first_value, difference.second_value)
        row = {
            "label": label,
            "key": difference.key,
            "first_value": first_html,
            "second_value": second_html,
        }
        groups.setdefault(title, []).append(row)
    return [{"title": title, "rows": rows} for title, rows in groups.items()]


def mark_differences(first_text: str, second_text: str) -> tuple[SafeString, SafeString]:
    """Return two texts as HTML, with their differences marked.

    Words that only the first text has are in ``<del>``, and those that only the second text has are in ``<ins>``.
    Long texts are marked as a whole, since the time to compare words grows with the product of the texts' lengths.
    """
    first_words, second_words = WORDS_AND_GAPS.findall(first_text), WORDS_AND_GAPS.findall(second_text)
    if len(first_words) * len(second_words) > MAX_WORD_PAIRS:
        first_words, second_words = [first_text], [second_text]
    first_parts: list[SafeString] = []
    second_parts: list[SafeString] = []
    changes = difflib.SequenceMatcher(None, first_words, second_words, autojunk=False).get_opcodes()
    for change, start, end, second_start, second_end in changes:
        is_equal = change == "equal"
        if start < end:
            words = "".join(first_words[start:end])
            first_parts.append(format_html("{}" if is_equal else "<del>{}</del>", words))
        if second_start < second_end:
            words = "".join(second_words[second_start:second_end])
            second_parts.append(format_html("{}" if is_equal else "<ins>{}</ins>", words))
    return _join_html(first_parts), _join_html(second_parts)


def _join_html(parts: list[SafeString]) -> SafeString:
    return format_html_join("", "{}", ((part,) for part in parts))


add_operation(duplicate, label="Duplicate", requires="judgments.add_study", result_page="change")
add_operation(save_preset, label="Save as a preset", leads_to=lambda study: "reuse")
