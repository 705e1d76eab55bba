"""A study's template and input files for Mechanical Turk's requester pages.

The pages, not this platform, publish and pay there; nothing here asks Mechanical Turk for anything.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from annotation.batches.own_pages import own_page
from annotation.batches.pages import BatchPage, batch_layout, batch_page, fields_in, template_of
from annotation.crowds import Ability, backend_of
from annotation.crowds.mturk.questions import PictureNotReachable
from annotation.work.presentation import Place, placed, units_of_hit
from common.errors import WrongState
from common.files import FileProblem, HashedFile, whole_file
from judgments.kinds import KINDS
from judgments.models import HIT, Study
from judgments.studies.studies import design_of

MOST_FORMS = 10


@dataclass(slots=True)
class BatchFiles:
    """A template and the input file that belongs to it."""

    template: Path
    rows: Path
    hits: int = 0


@dataclass(slots=True)
class _Form:
    """A template that is being filled: its files, its columns, and what writes its rows."""

    files: BatchFiles
    columns: list[str] = field(default_factory=list)
    out: HashedFile | None = None


def export_batch(*, study: Study, folder: Path, pictures: str = "") -> list[BatchFiles]:
    """Write ``template.html`` and ``input.csv`` into ``folder``, with a number behind the name where HITs need another
    template: one row a HIT, by position.

    Args:
        pictures: an https address in front of the images' names, for those without an address of their own.

    Raises:
        WrongState: the study was never opened (its HITs may still change), holds no work of people, is put up at its
            crowd by this platform, or needs too many templates.
        KindNotCarried: its protocol needs our own pages.
        PictureNotReachable: a picture has no https address.
        FileProblem: the folder cannot be written to.
    """
    refuse_other_studies(study)
    if Ability.PUBLISH in backend_of(study).can:
        raise WrongState(
            f"Study {study.slug!r} is put up at {backend_of(study).title} by this platform; a study by hand has "
            'crowd.backend = "local".'
        )
    design, forms = design_of(study), dict[str, _Form]()
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise FileProblem(f"{folder} is no folder to write to: {error.strerror or error}.") from None
    with ExitStack() as stack:
        for page in _pages(study, pictures):
            form = forms.get(page.form)
            if form is None:
                if len(forms) == MOST_FORMS:
                    raise WrongState(
                        f"The HITs of study {study.slug!r} differ in more than texts: they need more than {MOST_FORMS} "
                        "templates."
                    )
                form = forms[page.form] = _Form(_files(folder, len(forms) + 1))
                template = page.template or template_of(page, design=design)
                form.columns = list(page.cells) if page.template else fields_in(template)
                stack.enter_context(whole_file(form.files.template)).write_text(template)
                form.out = stack.enter_context(whole_file(form.files.rows))
                form.out.write_text(_line(form.columns))
            if form.out is not None:
                form.out.write_text(_line([page.cells[name] for name in form.columns]))
            form.files.hits += 1
    return [form.files for form in forms.values()]


def refuse_other_studies(study: Study) -> None:
    """Only studies of people, whose HITs stay as they are.

    Raises:
        WrongState: it is another one.
    """
    if study.source != Study.Source.DESIGNED or study.simulated:
        raise WrongState(f"Study {study.slug!r} holds imported or simulated answers; no batch belongs to it.")
    if study.state not in (Study.State.OPEN, Study.State.CLOSED):
        raise WrongState(
            f"Study {study.slug!r} is {study.get_state_display()}; open it first, so that its HITs stay as they are "
            "(close it again if nobody is to join here)."
        )


def _pages(study: Study, pictures: str) -> Iterator[BatchPage]:
    design = design_of(study)
    kind = KINDS[design.protocol]
    address = _address(pictures) if kind.shows_picture or kind.own_pages else _no_address
    if not design.about_pictures and not pictures and not kind.own_pages:
        address = _if_there(address)
    for hit in HIT.objects.filter(study=study).order_by("position").iterator():
        units = units_of_hit(hit.pk)
        if not kind.own_pages:
            yield batch_page(design=design, hit=hit, units=units, address=address)
            continue
        layout = batch_layout(design=design, hit=hit, units=units)
        places = placed(units, layout.order, layout.sides)
        yield own_page(
            design=design,
            hit=hit,
            layout=layout,
            places=places,
            address=lambda place: _own_address(place, address),
        )


def _own_address(place: Place, address: Callable[[Place], str]) -> str:
    """Of the picture that came with a row of a template; most have none."""
    item = place.unit.item
    return address(place) if item.picture or item.url else ""


def _if_there(address: Callable[[Place], str]) -> Callable[[Place], str]:
    """For studies whose items need no picture: '' where an item has neither a picture nor an address."""
    return lambda place: address(place) if place.unit.item.picture or place.unit.item.url else ""


def _no_address(place: Place) -> str:
    return ""


def _address(pictures: str) -> Callable[[Place], str]:
    def address(place: Place) -> str:
        item = place.unit.item
        found = item.url or (f"{pictures.rstrip('/')}/{quote(item.name)}" if pictures else "")
        if not found.startswith("https://"):
            at = f"is at {found[:200]!r}" if found else "has no address"
            raise PictureNotReachable(
                f"Image {item.name!r} {at}; the requester pages show pictures with an https address "
                "(--pictures names where they lie)."
            )
        return found

    return address


def _files(folder: Path, number: int) -> BatchFiles:
    mark = "" if number == 1 else f"-{number}"
    return BatchFiles(template=folder / f"template{mark}.html", rows=folder / f"input{mark}.csv")


def _line(cells: list[Any]) -> str:
    stream = io.StringIO()
    csv.writer(stream, quoting=csv.QUOTE_ALL, lineterminator="\r\n").writerow(cells)
    return stream.getvalue()
