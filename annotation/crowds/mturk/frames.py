"""Pages in Mechanical Turk's frame: the parameters with which workers arrive, and tickets that replace cookies.

Browsers often refuse cookies in a frame. So the addresses of a worker's pages begin with a ticket, a signed text with
the row id of the session and the site that gets the answers, such as ``/f/<ticket>/s/birds/work/``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from urllib.parse import urlsplit

from django.conf import settings
from django.core import signing
from django.http import QueryDict
from django.urls import get_script_prefix, reverse, set_script_prefix
from django.utils.translation import gettext as _

from annotation.errors import ArrivalRefused
from annotation.models import CrowdSession, Worker

PREVIEW_ASSIGNMENT = "ASSIGNMENT_ID_NOT_AVAILABLE"  # the assignmentId in the address of a preview
SUBMIT_PATH = "/mturk/externalSubmit"
TURK_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")  # ids have had only letters and digits so far
# Tickets live on in addresses at Mechanical Turk, so this must not change, although no module has this name any more.
SALT = "annotation.frames"
TICKET_SECONDS = 30 * 24 * 3600  # longer than any lease, and than the time in which work may be resubmitted

# origins to which forms in the frame may be sent, by platform; pages of the admin name the first one
SITES = {
    "mturk-live": ("https://www.mturk.com", "https://worker.mturk.com"),
    "mturk-sandbox": ("https://workersandbox.mturk.com",),
}


@dataclass(frozen=True, slots=True)
class Arrival:
    """The parameters with which Mechanical Turk opens the page: its ids, and the site that gets the answers.

    In a preview, before the worker accepts the HIT, ``assignment``, ``worker`` and ``site`` are "".
    """

    hit: str
    assignment: str = ""
    worker: str = ""
    site: str = ""

    @property
    def is_preview(self) -> bool:
        return not self.assignment


def read_arrival(query: QueryDict, *, sites: Collection[str]) -> Arrival:
    """Return the checked parameters of an arrival, from a query such as ``hitId=3X&assignmentId=3A&workerId=A1``.

    Raises:
        ArrivalRefused: a parameter occurs twice, or is not valid.
    """
    for name in ("assignmentId", "hitId", "workerId", "turkSubmitTo"):
        if len(query.getlist(name)) > 1:
            raise ArrivalRefused(
                _("Nothing was recorded: “%(name)s” occurs twice in the address of this page; expected once.")
                % {"name": name}
            )
    hit, assignment, worker = (query.get(name, "") for name in ("hitId", "assignmentId", "workerId"))
    if assignment in ("", PREVIEW_ASSIGNMENT) or not worker:
        return Arrival(hit=hit if TURK_ID.fullmatch(hit) else "")
    for name, value in (("hitId", hit), ("assignmentId", assignment), ("workerId", worker)):
        if not TURK_ID.fullmatch(value):
            raise ArrivalRefused(
                _(
                    "Nothing was recorded: “%(name)s” in the address of this page is not an id of "
                    "Mechanical Turk."
                )
                % {"name": name}
            )
    return Arrival(
        hit=hit,
        assignment=assignment,
        worker=worker,
        site=_read_site(query.get("turkSubmitTo", ""), sites),
    )


def _read_site(address: str, sites: Collection[str]) -> str:
    """Return the origin of an address. Raise ArrivalRefused unless it is one of ``sites``, without a path."""
    try:
        parts = urlsplit(address)
    except ValueError:
        parts = urlsplit("")
    site = f"{parts.scheme}://{parts.netloc}"
    if site not in sites or address.rstrip("/") != site:
        raise ArrivalRefused(
            _(
                "Nothing was recorded: this page would send your answers to %(address)s, which "
                "does not belong to Mechanical Turk. Open the HIT from your worker’s page, or "
                "return the HIT."
            )
            % {"address": repr(address[:100])}
        )
    return site


@dataclass(frozen=True, slots=True)
class Frame:
    """The frame around a page of a session. ``site`` is the origin that gets the answers."""

    session: CrowdSession
    site: str

    @property
    def worker(self) -> Worker:
        return self.session.worker


def sites_of(platform: str) -> tuple[str, ...]:
    """Return the origins to which forms may be sent; none if the platform is not Mechanical Turk's."""
    if platform not in SITES:
        return ()
    # an emulator's sites, which the setting names, replace Amazon's
    return tuple(site.rstrip("/") for site in settings.MTURK_SITES) or SITES[platform]


def all_sites() -> tuple[str, ...]:
    """Return the origins of all platforms of Mechanical Turk, each once."""
    return tuple(dict.fromkeys(chain.from_iterable(map(sites_of, SITES))))


def new_ticket(session: CrowdSession, *, site: str) -> str:
    """Return a ticket for the pages of a session in a frame of ``site``."""
    return signing.dumps([session.pk, site], salt=SALT)


def read_ticket(ticket: str) -> Frame | None:
    """Return the frame of a ticket; None if the ticket is forged or expired, or its site is no longer allowed."""
    try:
        pk, site = signing.loads(ticket, salt=SALT, max_age=TICKET_SECONDS)
    except (signing.BadSignature, ValueError):
        return None
    session = CrowdSession.objects.select_related("study", "worker", "publication").filter(pk=pk).first()
    if session is None or site not in sites_of(session.platform):
        return None
    return Frame(session=session, site=site)


def prefix_of(ticket: str) -> str:
    """Return the prefix of all addresses of the ticket's pages."""
    return f"{get_script_prefix()}f/{ticket}/"


@contextmanager
def addresses_under(prefix: str) -> Iterator[None]:
    """Let Django begin every address that it builds in the ``with`` block with ``prefix``."""
    previous_prefix = get_script_prefix()
    set_script_prefix(prefix)
    try:
        yield
    finally:
        set_script_prefix(previous_prefix)


def framed_address(ticket: str, name: str, *args: object) -> str:
    """Return the address of the page with this URL name, for a ticket."""
    with addresses_under(prefix_of(ticket)):
        return reverse(name, args=args)
