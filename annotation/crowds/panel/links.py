"""Signed links: an HMAC proves that an id is one of the panel's."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from urllib.parse import urlencode

from django.utils.translation import gettext as _

from annotation.crowds.panel.backend import AN_ID, LinkProblem, PanelIds
from annotation.crowds.people import installation_mark
from common.errors import WrongState
from judgments.design.panels import session_parameter, worker_parameter
from judgments.design.study_design import StudyDesign
from judgments.models import Study
from judgments.studies.studies import design_of

MOST_LINKS = 20_000


def link_key(study: Study) -> str:
    """Return the study's key, 64 hexadecimal digits, with which anybody can make links."""
    return installation_mark("panel-links", str(study.pk), study.slug)


def signature_of(study: Study, ids: PanelIds) -> str:
    """Return the HMAC-SHA256 of the person's id, and the submission's on a second line if links have one."""
    text = f"{ids.worker}\n{ids.session}" if ids.session else ids.worker
    return hmac.new(link_key(study).encode(), text.encode(), hashlib.sha256).hexdigest()


def refuse_unsigned(*, study: Study, design: StudyDesign, ids: PanelIds, query: Mapping[str, str]) -> None:
    name = design.panel.signature
    given = query.get(name, "").strip().lower() if name else ""
    if name and not hmac.compare_digest(given.encode(), signature_of(study, ids).encode()):
        raise LinkProblem(
            _(
                "Nothing was recorded: the link that brought you here was changed or is not complete. Please open it "
                "again just as you got it."
            )
        )


def signed_links(*, study: Study, people: str, address: str) -> list[tuple[str, str]]:
    """Return the id and the link of each person.

    Args:
        people: their ids, one a line.
        address: the public address of this server.
    Raises:
        WrongState: links are not signed or need a submission's id, or a line is no id.
    """
    design = design_of(study)
    panel = design.panel
    if not panel.signature or session_parameter(panel):
        raise WrongState(
            f"No links were made: those of study {study.slug!r} are not signed (panel.signature), or have an id for "
            "each submission (panel.session), which its panel alone knows."
        )
    ids = [line.strip() for line in people.splitlines() if line.strip()]
    if not 1 <= len(ids) <= MOST_LINKS:
        raise WrongState(f"No links were made: {len(ids)} ids were given; expected 1 to {MOST_LINKS:,}.")
    wrong = next((one for one in ids if not AN_ID.fullmatch(one)), None)
    if wrong is not None:
        raise WrongState(
            f"No links were made: {wrong[:80]!r} is no id; expected letters, digits and ._@+:~-, one id a line."
        )
    return [
        (
            one,
            f"{address}/s/{study.slug}/panel/?"
            + urlencode(
                {
                    worker_parameter(panel): one,
                    panel.signature: signature_of(study, PanelIds(worker=one)),
                }
            ),
        )
        for one in dict.fromkeys(ids)
    ]
