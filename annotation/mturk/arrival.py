"""What Mechanical Turk says in the address of a page that it shows in its frame.

Form: "ExternalQuestion" of the Mechanical Turk API Reference. The worker controls every part of it: what counts is
whether our own rows agree.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import urlsplit

from django.http import QueryDict
from django.utils.translation import gettext as _

from annotation.errors import ArrivalRefused

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
