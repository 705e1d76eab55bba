"""HITs as a template with ``${field}`` for the requester pages' editor, and a row of an input file each.

The template shows the same pieces as the page of work, every text and address in them a field. HITs whose pages differ
in more than texts (a last one that is shorter) belong to another template: their ``form`` differs.
Rules: "Templating" and "Crowd HTML Elements" of the Mechanical Turk Requester docs; the pages put a cell into the
template as it is, so cells are HTML, in ASCII: they refuse letters beyond the basic plane (emoji) in a file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.template.loader import render_to_string
from django.utils.html import escape
from django.utils.translation import override

from annotation.crowds.mturk.pages import BETWEEN_TAGS, KEYS, layouts, styles_for
from annotation.crowds.mturk.questions import KindNotCarried
from annotation.work.answers import without_unfinished
from annotation.work.presentation import Layout, Place, placed, worded
from annotation.work.worksheet import Step, answers_of_form, open_positions, sheet_of, undecided
from common.markup import render_markdown
from judgments.design.study_design import StudyDesign
from judgments.drawing.draws import content_key
from judgments.kinds import KINDS
from judgments.models import HIT, Unit

SHEETS = ("app.css", "crowds/mturk_page.css", "crowds/batch.css")
HIT_FIELD, CHECK_FIELD = "quorum_hit", "quorum_check"
OURS = ("question", "protocol", "alt", "language")  # words of the page itself, the same in every HIT
FIELD = re.compile(r"\$\{(\w+)\}")
SCRIPTS = re.compile(r"<script type=\"application/json\".*?</script>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class BatchPage:
    """A HIT's page.

    Attributes:
        form: tells HITs of one template from those of another.
        steps: what the template shows, with fields in place of texts and addresses.
        cells: field -> HTML, for the HIT's row of the input file.
        template: of a researcher's own page, the whole of it; '' where it is made of ``steps``.
    """

    form: str
    steps: list[Step]
    cells: dict[str, str]
    template: str = ""


def batch_layout(*, design: StudyDesign, hit: HIT, units: Sequence[Unit]) -> Layout:
    """How everybody sees the HIT: one row is one page, the same for all of its workers."""
    return layouts(design=design, hit=hit, units=units)[0]


def check_of(slug: str, hit: HIT, layout: Layout) -> str:
    """What tells whether a row belongs to this study and to its HIT as it was laid out."""
    return content_key("batch", slug, hit.key, layout.order, layout.sides)


def batch_page(
    *, design: StudyDesign, hit: HIT, units: Sequence[Unit], address: Callable[[Place], str]
) -> BatchPage:
    """The page of a HIT.

    Args:
        units: the HIT's, in its order, with their items and texts.
        address: of a place's picture.

    Raises:
        KindNotCarried: the protocol needs our own pages.
    """
    kind = KINDS[design.protocol].of(design)
    if not kind.self_contained:
        raise KindNotCarried(
            f"{kind.title} Its page needs this server ({kind.name}); it cannot be a template of the requester pages."
        )
    layout = batch_layout(design=design, hit=hit, units=units)
    cells = {HIT_FIELD: hit.key, CHECK_FIELD: check_of(design.slug, hit, layout)}
    steps = []
    for step in sheet_of(
        placed(units, layout.order, layout.sides), design=design, picture_url=address, answers={}
    ):
        rows = tuple(replace(row, shown=_blank(row.shown, f"u{row.position}", cells)) for row in step.rows)
        steps.append(replace(step, rows=rows))
    form = json.dumps([[row.shown for row in step.rows] for step in steps], sort_keys=True)
    return BatchPage(form=content_key(form), steps=steps, cells=cells)


def _blank(shown: Any, path: str, cells: dict[str, str]) -> Any:
    """``shown`` with a field for each text; what stands there goes into ``cells``."""
    if isinstance(shown, str):
        name = path.removesuffix("_text")
        cells[name] = as_html(shown)
        return f"${{{name}}}"
    if isinstance(shown, Mapping):
        return {
            # no address: the template shows no picture there
            key: value
            if key in OURS or (key == "url" and not value)
            else _blank(value, f"{path}_{key}", cells)
            for key, value in shown.items()
        }
    if isinstance(shown, list):
        return [_blank(value, f"{path}_{number}", cells) for number, value in enumerate(shown, start=1)]
    return shown


def as_html(text: str) -> str:
    """A text that stands in HTML as it is, in ASCII, and brings no field of its own."""
    return escape(text).replace("$", "&#36;").encode("ascii", "xmlcharrefreplace").decode()


def template_of(page: BatchPage, *, design: StudyDesign, language: str = "en") -> str:
    """The template for all HITs of the page's form."""
    kind = KINDS[design.protocol].of(design)
    context = {
        "alone": True,
        "design": design,
        "kind": kind,
        "steps": page.steps,
        "hidden": (HIT_FIELD, CHECK_FIELD),
        "instructions": render_markdown(worded(design.instructions)) if design.instructions else "",
        "consent": render_markdown(design.consent) if design.consent else "",
    }
    with override(language):
        body = str(render_to_string("annotation/batch/template.html", context))
    body = SCRIPTS.sub("", KEYS.sub("", BETWEEN_TAGS.sub(">\n<", body)))
    return with_styles(body, seen=body)


def with_styles(body: str, *, seen: str) -> str:
    """A template with the rules of our sheet that its page may need; ``seen`` is all that stands on it."""
    head, form = body.split("<crowd-form", 1)
    return f"{head}<style>{styles_for(seen, _sheet())}</style>\n<crowd-form{form}"


def fields_in(template: str) -> list[str]:
    """The fields that a template asks for, in their order."""
    return list(dict.fromkeys(FIELD.findall(template)))


@dataclass(frozen=True, slots=True)
class BatchAnswers:
    """What came back: answers as ``submit_assignment`` takes them, and positions without one."""

    answers: list[dict[str, Any]]
    missing: list[int]


def answers_of_row(
    fields: Mapping[str, str], *, design: StudyDesign, places: Sequence[Place]
) -> BatchAnswers:
    """The fields of a form as answers; an empty field is none (a box that was not ticked comes back so)."""
    kind = KINDS[design.protocol]
    held = {name: value for name, value in fields.items() if value.strip()}
    given = answers_of_form(held, places, kind=kind, final=True, saved={})
    answers, unfinished = without_unfinished(given, design=design, places=places)
    kept = {str(answer["position"]): answer for answer in answers}
    missing = {*open_positions(places, kept, kind=kind), *undecided(held, places, kind), *unfinished}
    return BatchAnswers(answers=[dict(answer) for answer in answers], missing=sorted(missing))


@cache
def _sheet() -> str:
    folder = Path(settings.BASE_DIR) / "static" / "css"
    return "".join((folder / name).read_text(encoding="utf-8") for name in SHEETS)
