"""Make pages of work that Mechanical Turk stores and shows (HTMLQuestion), and read the answers that they send.

Such a page is one HTML document that contains its script and styles. All workers of a HIT get the same document. For
about half of the workers, its script swaps the left and the right sides of all units; the page then sends the number
of the layout that it showed, 0 or 1.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.staticfiles import finders
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import get_supported_language_variant, override

from annotation.crowds.base import SubmittedAnswers
from annotation.crowds.mturk.answers import AnswersUnreadable, fields_of, parse_answer_document
from annotation.crowds.mturk.questions import QuestionProblem, html_question_of
from annotation.crowds.mturk.styles import styles_for
from annotation.models import Worker
from annotation.work.answers.checks import split_unfinished, unanswered_positions
from annotation.work.answers.form_answers import answers_of_form, undecided_positions
from annotation.work.sheet.examples import WorkedExample
from annotation.work.sheet.layout import Layout, draw_layout
from annotation.work.sheet.texts import translated_text
from annotation.work.sheet.units import PageUnit, arrange_units
from annotation.work.worksheet import steps_of
from common.markup import render_markdown
from judgments.design.study_design import StudyDesign
from judgments.kinds import KINDS
from judgments.models import HIT, Unit

PLACEHOLDER_WORKER = Worker(name="html question")  # one document serves all workers of a HIT
ORIGIN = re.compile(r"https?://[A-Za-z0-9.-]+(:\d+)?")  # http is for an emulator on this machine
BETWEEN_TAGS = re.compile(r">\s*\n\s*<")
# hints of keys, which are removed, since these pages lack the script that reads keys
KEY_HINTS = re.compile(r'<kbd aria-hidden="true">[^<]*</kbd>')


def html_question(*, design: StudyDesign, hit: HIT, **page_arguments: Any) -> str:
    """Return the HTMLQuestion (XML) with the document of a HIT; arguments and errors are as in ``html_page``."""
    return html_question_of(html_page(design=design, hit=hit, **page_arguments), hit=hit.key)


def html_page(
    *,
    design: StudyDesign,
    hit: HIT,
    units: Sequence[Unit],
    hosts: Sequence[str],
    examples: Sequence[WorkedExample] = (),
    language: str = settings.LANGUAGE_CODE,
) -> str:
    """Return the HTML document of a HIT; equal arguments give an equal document.

    Args:
        units: the HIT's units in order, with items and texts.
        hosts: origins that may receive the answers, such as "https://www.mturk.com".
        language: the language of the page's own words.

    Raises:
        QuestionProblem: the design or a picture cannot be shown on such a page.
    """
    kind = KINDS[design.protocol].for_design(design)
    if not kind.page.self_contained:
        raise QuestionProblem(
            f"HIT {hit.key}: {kind.name} cannot be asked on a page that stands alone; expected "
            'crowd.question = "external".'
        )
    for host in hosts:
        _check_host(host)
    layout, *mirrored_layouts = possible_layouts(design=design, hit=hit, units=units)
    for number, example in enumerate(examples, start=1):
        if example.picture:
            _require_https(example.picture, f"the picture of worked example {number}")
    with override(language):
        steps = steps_of(
            arrange_units(units, layout.order, layout.sides),
            design=design,
            picture_url=_picture_address_maker(hit, design),
            answers={},
        )
        instructions = translated_text(design.instructions) if design.instructions else ""
        context = {
            "alone": True,  # the page works without Quorum's server and its usual scripts
            "design": design,
            "kind": kind,
            "steps": steps,
            "examples": examples,
            "instructions": render_markdown(instructions) if instructions else "",
            "consent": render_markdown(design.consent) if design.consent else "",
            "hosts": " ".join(hosts),
            "mirror": bool(mirrored_layouts),  # whether the script may swap the sides
            "language": language,
        }
        return _render_inlined(context)


def language_of(design: StudyDesign) -> str:
    """Return the study's language if workers' pages are translated to it, else the default.

    All workers share the document, so it cannot depend on their languages.
    """
    try:
        return get_supported_language_variant(design.language)
    except LookupError:
        return settings.LANGUAGE_CODE


def possible_layouts(*, design: StudyDesign, hit: HIT, units: Sequence[Unit]) -> list[Layout]:
    """Return the possible layouts of a HIT's document: the drawn one and, if the kind has sides, its mirror image."""
    kind = KINDS[design.protocol].for_design(design)
    # the stored document still shows check questions that were withdrawn after it was made
    layout = draw_layout(design=design, hit=hit, worker=PLACEHOLDER_WORKER, units=units, with_withdrawn=True)
    if not layout.sides:
        return [layout]
    return [layout, Layout(order=layout.order, sides=[kind.sides.mirror(side) for side in layout.sides])]


def answers_of_page(
    document: str, *, design: StudyDesign, hit: HIT, units: Sequence[Unit]
) -> SubmittedAnswers:
    """Read the answers to a page that ``html_page`` made from the same design, HIT and units.

    ``document`` is the XML with the form's fields (QuestionFormAnswers).
    """
    kind = KINDS[design.protocol].for_design(design)
    fields = fields_of(parse_answer_document(document))
    layouts_by_number = {
        str(number): layout
        for number, layout in enumerate(possible_layouts(design=design, hit=hit, units=units))
    }
    layout = layouts_by_number.get(fields.get("layout", "0"))
    if layout is None:
        raise AnswersUnreadable(
            f"HIT {hit.key}: layout is {fields['layout'][:80]!r}; expected {' or '.join(layouts_by_number)}."
        )
    if design.consent and fields.get("consent") != "1":
        raise AnswersUnreadable(
            "Its worker did not agree to the study's consent text: nothing of it is used."
        )
    page_units = arrange_units(units, layout.order, layout.sides)
    form_answers = answers_of_form(fields, page_units, kind=kind, final=True, saved={})  # no draft
    answers, _unfinished = split_unfinished(form_answers, design=design, page_units=page_units)
    by_position = {str(answer["position"]): answer for answer in answers}
    # "undecided" are the captions of a group in which neither a caption nor "none of these" was ticked, or both
    missing_positions = {
        *unanswered_positions(page_units, by_position, kind=kind),
        *undecided_positions(fields, page_units, kind),
    }
    return SubmittedAnswers(
        layout=layout,
        answers=[dict(answer) for answer in answers if answer["position"] not in missing_positions],
        missing_positions=sorted(missing_positions),
    )


def _picture_address_maker(hit: HIT, design: StudyDesign) -> Callable[[PageUnit], str]:
    """Return a function that returns the checked address of a unit's picture, or "" if it has none."""
    kind = KINDS[design.protocol].for_design(design)
    always_has_picture = kind.page.shows_picture and design.about_pictures
    may_have_picture = kind.page.shows_picture or kind.page.custom

    def picture_address(page_unit: PageUnit) -> str:
        item = page_unit.unit.item
        has_picture = always_has_picture or (may_have_picture and bool(item.picture or item.url))
        # a picture that only Quorum stores has no url, so it is refused
        return _require_https(item.url, f"HIT {hit.key}: image {item.name!r}") if has_picture else ""

    return picture_address


def _require_https(address: str, subject: str) -> str:
    """Return the address. Raise QuestionProblem about ``subject`` unless it is an https address."""
    try:
        parts = urlsplit(address)
        is_https = parts.scheme == "https" and bool(parts.hostname)
    except ValueError:
        is_https = False
    if not is_https:
        raise QuestionProblem(
            f"{subject} is at {address[:200]!r}; a page on Mechanical Turk's servers can show pictures with an https "
            "address only."
        )
    return address


def _check_host(host: str) -> None:
    if not ORIGIN.fullmatch(host):
        raise QuestionProblem(
            f"Answers may go to {host!r}, which is no origin; expected https://www.mturk.com."
        )


def _render_inlined(context: dict[str, Any]) -> str:
    """Render the document with its script and styles inline, and with a policy (CSP) that allows no others."""
    script = _read_script()
    policy = (
        "default-src 'none'; img-src https:; media-src https:; style-src 'unsafe-inline'; base-uri 'none'; "
        f"script-src 'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
    )
    inline_parts = {"policy": policy, "script": SafeString(f"<script>{script}</script>")}
    # render without styles first, because the content decides which styles are needed
    document = str(render_to_string("annotation/mturk/page.html", context | inline_parts))
    document = BETWEEN_TAGS.sub(">\n<", document)  # drop blank lines and indentation
    document = KEY_HINTS.sub("", document)
    head, body = document.split("</head>", 1)
    names = ("css/app.css", context["kind"].page.style, "css/crowds/mturk_page.css")
    sheet = "".join(_read_static_file(name) for name in names if name)
    return f"{head}<style>{styles_for(document, sheet)}</style>\n</head>{body}"


@cache
def _read_script() -> str:
    """Return the page's script without comment lines, blank lines and indentation."""
    lines = (line.strip() for line in _read_static_file("js/crowds/mturk_page.js").splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//"))


@cache
def _read_static_file(name: str) -> str:
    path = finders.find(name)  # the source file, since collected files have other names
    if path is None:
        raise FileNotFoundError(f"No app has the static file {name!r}.")
    return Path(path).read_text(encoding="utf-8")
