"""Our pages inside a crowd's page: which piece of paid work they are for, without a cookie.

A browser gives a page in a frame on another site none of its cookies. So everything in the frame has an address that
begins with a ticket, ``/f/<ticket>/...``: signed by this installation, it names the session and where its answers are
handed in. Whoever holds it is the session's worker, as whoever holds the cookie is on the other pages
(docs/decisions/0008-framed-work.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.core import signing
from django.http import HttpRequest
from django.urls import get_script_prefix, reverse, set_script_prefix

from annotation.models import CrowdSession, Worker

SALT = "annotation.frames"
TICKET_SECONDS = 30 * 24 * 3600  # longer than any lease and the days in which work is handed in again
# in request.META, where no header of a visitor can have these names
KEY = "quorum.frame"
ENTRANCE = "quorum.entrance"
# MTURK.md §2 Endpoints: where forms post to; the worker's site frames the pages.
SITES = {
    "mturk-live": ("https://www.mturk.com", "https://worker.mturk.com"),
    "mturk-sandbox": ("https://workersandbox.mturk.com",),
}


@dataclass(frozen=True, slots=True)
class Frame:
    """A request of a page in a frame.

    Attributes:
        session: with its study, worker and publication.
        site: where its answers are handed in, such as https://www.mturk.com; of the session's place.
    """

    session: CrowdSession
    site: str

    @property
    def worker(self) -> Worker:
        """Who sits there."""
        return self.session.worker


def sites_of(place: str) -> tuple[str, ...]:
    """The sites that may frame the pages of a place and take its answers; none where nothing is framed."""
    if place not in SITES:
        return ()
    return tuple(site.rstrip("/") for site in settings.MTURK_SITES) or SITES[place]


def all_sites() -> tuple[str, ...]:
    """Those of every place."""
    return tuple(dict.fromkeys(site for place in SITES for site in sites_of(place)))


def new_ticket(session: CrowdSession, *, site: str) -> str:
    """What the addresses of the session's pages begin with."""
    return signing.dumps([session.pk, site], salt=SALT)


def read_ticket(ticket: str) -> Frame | None:
    """What the ticket is for; None where it is none of ours, too old, or for a site that is not allowed any more."""
    try:
        pk, site = signing.loads(ticket, salt=SALT, max_age=TICKET_SECONDS)
    except (signing.BadSignature, ValueError):
        return None
    found = CrowdSession.objects.select_related("study", "worker", "publication").filter(pk=pk).first()
    if found is None or site not in sites_of(found.place):
        return None
    return Frame(session=found, site=site)


def frame_of(request: HttpRequest) -> Frame | None:
    """The frame that the request's page stands in."""
    found = request.META.get(KEY)
    return found if isinstance(found, Frame) else None


def prefix_of(ticket: str) -> str:
    """What comes before every address in the frame."""
    return f"{get_script_prefix()}f/{ticket}/"


@contextmanager
def addresses_under(prefix: str) -> Iterator[None]:
    """Within it, every address that Django makes begins with the prefix."""
    before = get_script_prefix()
    set_script_prefix(prefix)
    try:
        yield
    finally:
        set_script_prefix(before)


def framed_address(ticket: str, name: str, *args: object) -> str:
    """The address of a page in the frame."""
    with addresses_under(prefix_of(ticket)):
        return reverse(name, args=args)


def outer_address(request: HttpRequest, name: str, *args: object) -> str:
    """The address of a public page, without the frame's ticket: whoever opens it in a window of its own sees no
    secret."""
    with addresses_under(request.META.get("SCRIPT_NAME") or "/"):
        return reverse(name, args=args)


def frame_context(request: HttpRequest) -> dict[str, Any]:
    """For templates: whether the page stands in a frame, so that it leads nowhere else."""
    return {"in_frame": frame_of(request) is not None or ENTRANCE in request.META}


def mark_as_framed(request: HttpRequest) -> None:
    """The page stands in a frame without belonging to a session yet."""
    request.META[ENTRANCE] = True
