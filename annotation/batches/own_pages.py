"""HITs of the researcher's own template as files for the requester pages, and their answers read back.

A HIT of one row goes out as the template itself, as it was brought, with its own columns: what stands in it is its
author's, scripts too, and nothing of it runs on this server. Where a HIT holds several rows, the input file holds the
page of each row, cleaned and filled, in a column of its own. Controls keep their names, with ``u1_``, ``u2_``, … before
them where there are several rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.template.loader import render_to_string
from django.utils.safestring import mark_safe
from django.utils.translation import override

from annotation.batches.pages import (
    CHECK_FIELD,
    HIT_FIELD,
    BatchAnswers,
    BatchPage,
    as_html,
    check_of,
    with_styles,
)
from annotation.work.answers import without_unfinished
from annotation.work.presentation import Layout, Place, worded
from common.markup import render_markdown
from judgments.design.study_design import StudyDesign
from judgments.drawing.draws import content_key
from judgments.hit_templates import fill_page, read_template
from judgments.hit_templates.filling import PICTURE
from judgments.hit_templates.shapes import fields_in
from judgments.kinds import KINDS
from judgments.models import HIT

FORM = re.compile(r"<(?:crowd-form|form)\b[^>]*>", re.IGNORECASE)


def own_page(
    *, design: StudyDesign, hit: HIT, layout: Layout, places: Sequence[Place], address: Callable[[Place], str]
) -> BatchPage:
    """The page of a HIT of the researcher's own template.

    Args:
        address: of a place's own picture; '' where it has none.
    """
    marks = {HIT_FIELD: hit.key, CHECK_FIELD: check_of(design.slug, hit, layout)}
    if len(places) == 1:
        return BatchPage(
            form="one row",
            steps=[],
            cells=marks | _cells(design, places[0], address),
            template=_whole(design),
        )
    read = read_template(design.template.html)
    with override("en"):
        rows = {
            f"u{place.position}": fill_page(
                read,
                place.unit.content["fields"],
                position=place.position,
                picture=address(place),
                named=prefix_of(place, places),
            )
            for place in places
        }
    html = {name: _in_ascii(page) for name, page in rows.items()}
    return BatchPage(
        form=content_key("rows", len(places)),
        steps=[],
        cells=marks | html,
        template=_of_rows(design, list(rows), "".join(rows.values())),
    )


def _in_ascii(html: str) -> str:
    """The same page, which brings no field of its own."""
    return html.replace("$", "&#36;").encode("ascii", "xmlcharrefreplace").decode()


def prefix_of(place: Place, places: Sequence[Place]) -> str:
    """What stands before the names of a row's controls."""
    return f"u{place.position}_" if len(places) > 1 else ""


def _cells(design: StudyDesign, place: Place, address: Callable[[Place], str]) -> dict[str, str]:
    """The cells that the template as it was brought shows; a picture of ours by its address."""
    held = place.unit.content["fields"]
    cells = {name: held[name] for name in fields_in(design.template.html) if name in held}
    if PICTURE in cells and (found := address(place)):
        cells[PICTURE] = found
    return {name: as_html(cell) for name, cell in cells.items()}


def _whole(design: StudyDesign) -> str:
    """The template as it was brought, with what tells its HITs apart inside its form."""
    source = design.template.html
    head = _head(design)
    form = FORM.search(source)
    if form is not None:
        return f"{source[: form.end()]}\n{head}{source[form.end() :]}"
    return str(
        render_to_string("annotation/batch/wrapped.html", {"inside": mark_safe(f"{head}{source}")})  # noqa: S308  # the author's, for the author's account
    )


def _head(design: StudyDesign) -> str:
    context = {
        "hidden": (HIT_FIELD, CHECK_FIELD),
        "consent": render_markdown(design.consent) if design.consent else "",
    }
    with override("en"):
        return str(render_to_string("annotation/batch/head.html", context))


def _of_rows(design: StudyDesign, names: Sequence[str], filled: str) -> str:
    context = {
        "design": design,
        "kind": KINDS[design.protocol].of(design),
        "head": mark_safe(_head(design)),  # noqa: S308  # our own template
        "rows": [(number, f"${{{name}}}") for number, name in enumerate(names, start=1)],
        "instructions": render_markdown(worded(design.instructions)) if design.instructions else "",
    }
    with override("en"):
        body = str(render_to_string("annotation/batch/rows.html", context))
    return with_styles(body, seen=body + filled)


def own_answers(fields: Mapping[str, str], *, design: StudyDesign, places: Sequence[Place]) -> BatchAnswers:
    """The fields of a result file as answers; what is no answer to its row is missing."""
    kind = KINDS[design.protocol].of(design)
    given: list[dict[str, Any]] = [
        {
            "position": place.position,
            "answer": kind.read_results(fields, prefix_of(place, places), place.unit),
        }
        for place in places
    ]
    answers, unfinished = without_unfinished(given, design=design, places=places)
    return BatchAnswers(answers=[dict(answer) for answer in answers], missing=sorted(unfinished))
