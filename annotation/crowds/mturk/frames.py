"""Parse the address with which Mechanical Turk opens a page in its frame, and make addresses inside it.

Form: "ExternalQuestion" of the Mechanical Turk API Reference. Workers control every part, so only our own rows
count.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, QueryDict
from django.urls import get_script_prefix, reverse, set_script_prefix
from django.utils.translation import gettext as _

from annotation.errors import ArrivalRefused
from annotation.models import CrowdSession, Worker

PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"
SUBMIT = "/mturk/externalSubmit"
ID = re.compile(r"[A-Za-z0-9_-]{1,64}")  # letters and digits, as far as known


@dataclass(frozen=True, slots=True)
class Arrival:
    """A parsed arrival; in a preview ``assignment``, ``worker`` and ``site`` are ''."""

    hit: str
    assignment: str = ""
    worker: str = ""
    site: str = ""

    @property
    def is_preview(self) -> bool:
        return not self.assignment


def read_arrival(query: QueryDict, *, sites: Collection[str]) -> Arrival:
    """Parse an arrival.

    Raises:
        ArrivalRefused: a part is missing, repeated or malformed, or the site is not allowed.
    """
    for name in ("assignmentId", "hitId", "workerId", "turkSubmitTo"):
        if len(query.getlist(name)) > 1:
            raise ArrivalRefused(
                _("Nothing was recorded: %(name)s stands in the address twice; expected once.")
                % {"name": name}
            )
    hit, assignment, worker = (query.get(name, "") for name in ("hitId", "assignmentId", "workerId"))
    if assignment in ("", PREVIEW) or not worker:
        return Arrival(hit=hit if ID.fullmatch(hit) else "")
    for name, value in (("hitId", hit), ("assignmentId", assignment), ("workerId", worker)):
        if not ID.fullmatch(value):
            raise ArrivalRefused(
                _("Nothing was recorded: the %(name)s in the address is none of Mechanical Turk’s.")
                % {"name": name}
            )
    return Arrival(
        hit=hit, assignment=assignment, worker=worker, site=_allowed(query.get("turkSubmitTo", ""), sites)
    )


def _allowed(address: str, sites: Collection[str]) -> str:
    try:
        parts = urlsplit(address)
    except ValueError:
        parts = urlsplit("")
    site = f"{parts.scheme}://{parts.netloc}"
    if site not in sites or address.rstrip("/") != site:
        raise ArrivalRefused(
            _(
                "Nothing was recorded: the address sends your answers to %(address)s, which is not Mechanical Turk. "
                "Open the HIT from your worker’s page, or return it."
            )
            % {"address": repr(address[:100])}
        )
    return site


SALT = "annotation.crowds.mturk.frames"
TICKET_SECONDS = 30 * 24 * 3600  # longer than any lease and the days in which work may be resubmitted
# in request.META, where no visitor's header can have these names
KEY = "quorum.frame"
ENTRANCE = "quorum.entrance"
# MTURK.md §2 Endpoints: the targets of forms; the worker's site frames the pages.
SITES = {
    "mturk-live": ("https://www.mturk.com", "https://worker.mturk.com"),
    "mturk-sandbox": ("https://workersandbox.mturk.com",),
}


@dataclass(frozen=True, slots=True)
class Frame:
    """The frame of a request; ``site`` takes its answers, such as https://www.mturk.com."""

    session: CrowdSession
    site: str

    @property
    def worker(self) -> Worker:
        return self.session.worker


def sites_of(place: str) -> tuple[str, ...]:
    """Return the sites that may frame a place's pages and take its answers."""
    if place not in SITES:
        return ()
    return tuple(site.rstrip("/") for site in settings.MTURK_SITES) or SITES[place]


def all_sites() -> tuple[str, ...]:
    return tuple(dict.fromkeys(site for place in SITES for site in sites_of(place)))


def new_ticket(session: CrowdSession, *, site: str) -> str:
    """Sign a ticket, which starts all addresses of the session's pages."""
    return signing.dumps([session.pk, site], salt=SALT)


def read_ticket(ticket: str) -> Frame | None:
    """Return the ticket's frame; None if it is forged, too old, or for a site that is no longer allowed."""
    try:
        pk, site = signing.loads(ticket, salt=SALT, max_age=TICKET_SECONDS)
    except (signing.BadSignature, ValueError):
        return None
    found = CrowdSession.objects.select_related("study", "worker", "publication").filter(pk=pk).first()
    if found is None or site not in sites_of(found.place):
        return None
    return Frame(session=found, site=site)


def frame_of(request: HttpRequest) -> Frame | None:
    found = request.META.get(KEY)
    return found if isinstance(found, Frame) else None


def prefix_of(ticket: str) -> str:
    return f"{get_script_prefix()}f/{ticket}/"


@contextmanager
def addresses_under(prefix: str) -> Iterator[None]:
    """Make Django prefix every address within the context."""
    before = get_script_prefix()
    set_script_prefix(prefix)
    try:
        yield
    finally:
        set_script_prefix(before)


def framed_address(ticket: str, name: str, *args: object) -> str:
    with addresses_under(prefix_of(ticket)):
        return reverse(name, args=args)


def outer_address(request: HttpRequest, name: str, *args: object) -> str:
    """Return a public page's address without the ticket, which must not leak into other windows."""
    with addresses_under(request.META.get("SCRIPT_NAME") or "/"):
        return reverse(name, args=args)


def frame_context(request: HttpRequest) -> dict[str, Any]:
    """Tell templates whether the page is in a frame, so that it links nowhere else."""
    return {"in_frame": frame_of(request) is not None or ENTRANCE in request.META}


def mark_as_framed(request: HttpRequest) -> None:
    request.META[ENTRANCE] = True
