"""The links by which a panel sends people to a study, and the ids in them.

A link contains the panel's ids of the person and of the submission, such as
``/s/birds/panel/?PROLIFIC_PID=5f1&SESSION_ID=60a``. Links may be signed: an HMAC proves that the ids come from the
panel.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from django.core import signing
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotation.crowds.people import keyed_hash
from common.errors import QuorumError, WrongState
from judgments.design.panel_links import entry_query, project_parameter, session_parameter, worker_parameter
from judgments.design.study_design import StudyDesign
from judgments.design.tables.panel import Panel
from judgments.models import Study
from judgments.studies.designs import design_of

MAX_ID_LENGTH = 100
MAX_LINKS = 20_000  # number of links that are signed at once
DAY_SECONDS = 24 * 3600
SALT = "quorum.panel"  # for the signature of ids in the form of the first page
# an id starts with a letter or digit, so that no spreadsheet takes it for a formula
ID_PATTERN = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._@+:~-]{{0,{MAX_ID_LENGTH - 1}}}")


class LinkProblem(QuorumError):
    """Raised if the link by which somebody came from a panel cannot be used."""

    title = gettext_noop("This link is not complete")


@dataclass(frozen=True, slots=True)
class PanelIds:
    """The panel's ids of a person, of a submission ("" if the panel has none), and of the study."""

    worker: str
    session: str = ""
    project: str = ""


def entry_path(study: Study, design: StudyDesign) -> str:
    """Return path and query of the link by which the panel sends people, with the panel's placeholders for ids."""
    query = entry_query(design.panel)
    return f"/s/{study.slug}/panel/" + (f"?{query}" if query else "")


def ids_of_link(panel: Panel, query: Mapping[str, str]) -> PanelIds:
    """Return the ids in the query of a link. Raise LinkProblem if one is missing or is not valid."""
    return PanelIds(
        worker=_read_id(query, worker_parameter(panel)),
        session=_read_id(query, session_parameter(panel)),
        project=_read_id(query, project_parameter(panel), is_required=False),
    )


def _read_id(query: Mapping[str, str], name: str, *, is_required: bool = True) -> str:
    """Return the id in the parameter ``name`` of a link.

    Return "" if the panel has no such parameter (``name`` is ""), or if the id is optional and missing or invalid.
    """
    value = query.get(name, "").strip() if name else ""
    if name and not value and is_required:
        raise LinkProblem(
            _(
                "Nothing was recorded: “%(name)s” is missing in the link that you followed. "
                "Please go back to where you found the study and open the study from there."
            )
            % {"name": name}
        )
    if value and not ID_PATTERN.fullmatch(value):
        if not is_required:
            return ""
        raise LinkProblem(
            _(
                "Nothing was recorded: “%(name)s” in the link that you followed is not a valid "
                "id. Please go back to where you found the study and open the study from there."
            )
            % {"name": name}
        )
    return value


def sign_ids(study: Study, ids: PanelIds) -> str:
    """Return the ids with a signature, for a hidden field of the first page's form: that page sets no cookie."""
    return signing.dumps([study.pk, ids.worker, ids.session, ids.project], salt=SALT)


def read_signed_ids(study: Study, signed_ids: str) -> PanelIds:
    """Return the ids from the text that ``sign_ids`` made. Raise LinkProblem if it is forged or older than a day."""
    try:
        study_pk, worker, session, project = signing.loads(signed_ids, salt=SALT, max_age=DAY_SECONDS)
        if study_pk != study.pk:
            raise ValueError("another study's form")
    except (signing.BadSignature, ValueError, TypeError):
        raise LinkProblem(
            _(
                "Nothing was recorded: this page is too old. Please go back to where you found the study and open it "
                "from there."
            )
        ) from None
    return PanelIds(worker=worker, session=session, project=project)


def link_signing_key(study: Study) -> str:
    """Return the study's secret key, 64 hexadecimal digits. Anybody who has it can sign links."""
    return keyed_hash("panel-links", str(study.pk), study.slug)


def link_signature_of(study: Study, ids: PanelIds) -> str:
    """Return the signature of a link: the HMAC-SHA256 of the person's id, in hexadecimal digits.

    If the link has a submission's id, the signed text is both ids, each on a line.
    """
    signed_text = f"{ids.worker}\n{ids.session}" if ids.session else ids.worker
    return hmac.new(link_signing_key(study).encode(), signed_text.encode(), hashlib.sha256).hexdigest()


def check_link_signature(
    *, study: Study, design: StudyDesign, ids: PanelIds, query: Mapping[str, str]
) -> None:
    """Raise LinkProblem if the panel signs its links, and ``query`` has no valid signature of ``ids``."""
    parameter = design.panel.signature
    signature = query.get(parameter, "").strip().lower() if parameter else ""
    if parameter and not hmac.compare_digest(signature.encode(), link_signature_of(study, ids).encode()):
        raise LinkProblem(
            _(
                "Nothing was recorded: the link that you followed was changed or is not complete. "
                "Please open the link exactly as you got it."
            )
        )


def signed_links(*, study: Study, people: str, address: str) -> list[tuple[str, str]]:
    """Return (id, signed link) of each person.

    Args:
        people: the panel's ids of the people, one per line.
        address: the public address of this server.

    Raises:
        WrongState: links are not signed, or need a submission's id; or there are no ids, too many, or an invalid one.
    """
    design = design_of(study)
    panel = design.panel
    if not panel.signature or session_parameter(panel):
        raise WrongState(
            f"No links were made: those of study {study.slug!r} are not signed (panel.signature), or have an id for "
            "each submission (panel.session), which its panel alone knows."
        )
    worker_ids = [line.strip() for line in people.splitlines() if line.strip()]
    if not 1 <= len(worker_ids) <= MAX_LINKS:
        raise WrongState(
            f"No links were made: {len(worker_ids)} ids were given; expected 1 to {MAX_LINKS:,}."
        )
    invalid_id = next((worker_id for worker_id in worker_ids if not ID_PATTERN.fullmatch(worker_id)), None)
    if invalid_id is not None:
        raise WrongState(
            f"No links were made: {invalid_id[:80]!r} is no id; expected letters, digits and ._@+:~-, one id a line."
        )
    links = []
    for worker_id in dict.fromkeys(worker_ids):  # without duplicates
        signature = link_signature_of(study, PanelIds(worker=worker_id))
        query = urlencode({worker_parameter(panel): worker_id, panel.signature: signature})
        links.append((worker_id, f"{address}/s/{study.slug}/panel/?{query}"))
    return links
