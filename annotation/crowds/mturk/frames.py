"""What Mechanical Turk says in the address of a page that it shows in its frame.

Form: "ExternalQuestion" of the Mechanical Turk API Reference. The worker controls every part of it: what counts is
whether our own rows agree.
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
ID = re.compile(r"[A-Za-z0-9_-]{1,64}")  # capital letters and digits, as far as seen


@dataclass(frozen=True, slots=True)
class Arrival:
    """Who came for what.

    Attributes:
        hit, assignment, worker: Mechanical Turk's ids; the last two '' in a preview.
        site: where the answers are handed in, one of those that are allowed; '' in a preview.
    """

    hit: str
    assignment: str = ""
    worker: str = ""
    site: str = ""

    @property
    def is_preview(self) -> bool:
        """Whether nobody has accepted the HIT yet."""
        return not self.assignment


def read_arrival(query: QueryDict, *, sites: Collection[str]) -> Arrival:
    """The arrival that an address tells of.

    Raises:
        ArrivalRefused: a part is missing, there twice or of another form, or the answers are to go elsewhere.
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
