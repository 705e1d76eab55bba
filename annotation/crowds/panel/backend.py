"""Panels: the backend of panels without an API, the ids in panels' links, completion codes, and panel sessions.

A panel sends people to Quorum by a link with their ids, such as ``/s/birds/panel/?PROLIFIC_PID=5f1&SESSION_ID=60a``,
and pays people who return with the right completion code. Quorum sends nothing to a panel without an API: a member of
staff copies the link, the codes and the lists. Links may be signed: an HMAC proves that the ids come from the panel.
Study files name this backend "external".
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from math import ceil
from typing import Any
from urllib.parse import urlencode

from django.core import signing
from django.db.models import Exists, OuterRef, QuerySet, Sum
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, pgettext

from annotation.crowds.base import Ability, CrowdBackend, CrowdRefusal, HITPlan, Price, fee_of
from annotation.crowds.people import keyed_hash, session_pseudonym
from annotation.models import Assignment, CrowdCall, CrowdSession, Worker
from common.errors import QuorumError, WrongState
from judgments.design.panel_links import (
    entry_query,
    project_parameter,
    return_address,
    session_parameter,
    worker_parameter,
)
from judgments.design.panels import PANEL_PRESETS
from judgments.design.study_design import StudyDesign
from judgments.design.tables.panel import Panel
from judgments.models import HIT, Study
from judgments.studies.codes import CAPITALS
from judgments.studies.designs import design_of

Status = CrowdSession.Status
# these calls only change Quorum's records; a member of staff acts at the panel
MANUAL_ABILITIES = frozenset({Ability.PUBLISH, Ability.EXTEND, Ability.EXPIRE, Ability.BONUS})
CODE_LENGTH = 10
MAX_ID_LENGTH = 100
MAX_LINKS = 20_000  # number of links that are signed at once
DAY_SECONDS = 24 * 3600
SALT = "quorum.panel"  # for the signature of ids in the form of the first page
# an id starts with a letter or digit, so that no spreadsheet takes it for a formula
ID_PATTERN = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._@+:~-]{{0,{MAX_ID_LENGTH - 1}}}")
# states in which an assignment counts for its session; returned and expired ones do not count
COUNTED_STATES = ("reserved", "accepted", "submitted", "approved", "rejected", "invalidated")
OUTCOMES_BY_STATUS: dict[str, str] = {
    Status.SUBMITTED: "completed",
    Status.APPROVED: "completed",
    Status.REJECTED: "completed",
    Status.SCREENED_OUT: "screened-out",
    Status.TIMED_OUT: "timed-out",
    Status.RETURNED: "returned",
    Status.UNKNOWN: "returned",
    Status.FULL: "full",
}


class ExternalBackend(CrowdBackend):
    """The backend of a panel without an API, and the base class of backends of panels with an API.

    The panel pays for a session, in which a person does ``panel.hits`` HITs. The whole study is published as one
    external HIT, and each of its places is for one session.
    """

    name = "external"
    title = "an external panel"
    can = MANUAL_ABILITIES | {Ability.COST}

    def person_of(self, design: StudyDesign) -> str:
        return worker_parameter(design.panel)

    def refuse(self, study: Study, design: StudyDesign) -> None:
        hit_count = HIT.objects.filter(study=study).count()
        if hit_count < design.panel.hits:
            raise WrongState(
                f"Study {study.slug!r} has {hit_count} HITs, fewer than the {design.panel.hits} of a person's session "
                "(panel.hits)."
            )
        if design.access.join != "open":
            raise WrongState(
                f"Study {study.slug!r} asks for a code (access.join = {design.access.join!r}), but its panel sends "
                "people by a link; set access.join to 'open'."
            )
        limit = design.workers.hits_at_most
        if limit and limit < design.panel.hits:
            raise WrongState(
                f"A worker of study {study.slug!r} may do {limit} HITs (workers.hits_at_most), and a person's session "
                f"has {design.panel.hits} (panel.hits)."
            )

    def describe_entrance(self, study: Study) -> str:
        sentence = pgettext(
            "staff",
            "The panel sends participants to /s/%(slug)s/panel/ on this server. The page of the study shows the "
            "link.",
        ) % {"slug": study.slug}
        return sentence if design_of(study).panel.can_verify_ids else f"{sentence} {describe_unsigned()}"

    def price(self, design: StudyDesign, *, places: int) -> Price:
        reward_cents = design.crowd.reward_cents * design.panel.hits
        return Price(reward_cents=reward_cents, fee_cents=self.fee(design, reward_cents))

    def fee(self, design: StudyDesign, cents: int) -> int:
        """Return the panel's fee for a payment of ``cents``."""
        return fee_of(cents, Decimal(str(design.crowd.fee_percent)))

    def publication_plans(self, study: Study) -> Iterable[HITPlan]:
        """Yield one external HIT with one place per session. The last session may have fewer HITs."""
        design = StudyDesign.model_validate(study.design)
        slot_count = HIT.objects.filter(study=study).aggregate(n=Sum("open_slots"))["n"] or 0
        yield HITPlan(hit=None, places=ceil(slot_count / design.panel.hits))

    def places_of_publications(self, design: StudyDesign, *, hits: int) -> list[int]:
        return [ceil(hits * design.judgments_per_unit / design.panel.hits)]

    def carry_out(self, call: CrowdCall) -> dict[str, Any]:
        """Return the result of a call without sending anything: a member of staff acts at the panel."""
        if call.kind not in MANUAL_ABILITIES:
            raise CrowdRefusal(f"The crowd {self.title} cannot be asked to {call.kind}.")
        return {"external_id": call.key} if call.kind == Ability.PUBLISH else {}


def describe_unsigned() -> str:
    """Return the warning about a panel whose links are not signed."""
    return pgettext(
        "staff",
        "The links of the panel are not signed. Anyone who has a link can join several times with "
        "invented ids.",
    )


def entry_path(study: Study, design: StudyDesign) -> str:
    """Return path and query of the link by which the panel sends people, with the panel's placeholders for ids."""
    query = entry_query(design.panel)
    return f"/s/{study.slug}/panel/" + (f"?{query}" if query else "")


def panel_title(design: StudyDesign) -> str:
    return PANEL_PRESETS[design.panel.preset].title


class LinkProblem(QuorumError):
    """Raised if the link by which somebody came from a panel cannot be used."""

    title = gettext_noop("This link is not complete")


@dataclass(frozen=True, slots=True)
class PanelIds:
    """The panel's ids of a person, of a submission ("" if the panel has none), and of the study."""

    worker: str
    session: str = ""
    project: str = ""


def ids_of_link(panel: Panel, query: Mapping[str, str]) -> PanelIds:
    """Return the ids in the query of a link. Raise LinkProblem if one is missing or is not valid."""
    return PanelIds(
        worker=_read_id(query, worker_parameter(panel)),
        session=_read_id(query, session_parameter(panel)),
        project=_read_id(query, project_parameter(panel), required=False),
    )


def _read_id(query: Mapping[str, str], name: str, *, required: bool = True) -> str:
    """Return the id in the parameter ``name`` of a link.

    Return "" if the panel has no such parameter (``name`` is ""), or if the id is optional and missing or invalid.
    """
    value = query.get(name, "").strip() if name else ""
    if name and not value and required:
        raise LinkProblem(
            _(
                "Nothing was recorded: “%(name)s” is missing in the link that you followed. "
                "Please go back to where you found the study and open the study from there."
            )
            % {"name": name}
        )
    if value and not ID_PATTERN.fullmatch(value):
        if not required:
            return ""
        raise LinkProblem(
            _(
                "Nothing was recorded: “%(name)s” in the link that you followed is not a valid "
                "id. Please go back to where you found the study and open the study from there."
            )
            % {"name": name}
        )
    return value


def session_name(study: Study, ids: PanelIds) -> str:
    """Return the pseudonym of a submission, which is stored as the session's external id.

    If the panel has no submission ids, the person's id stands for the submission, since such a panel sends a person to
    a study only once. A panel without an API may use the same id in several studies, so the study's id is added.
    """
    if ids.session and design_of(study).panel.api:
        return session_pseudonym(study.platform, ids.session)
    return session_pseudonym(study.platform, f"{study.pk} {ids.session or ids.worker}")


def code_for(study: Study, design: StudyDesign, outcome: str, session: str = "") -> str:
    """Return the completion code for an outcome, from the design or else derived from a key of this installation.

    Args:
        outcome: one of ``judgments.design.panels.OUTCOMES``.
        session: external id of a session. With ``panel.personal_codes``, each session gets a code of its own.
    """
    code = design.panel.code_of(outcome)
    if code:
        return code
    session_part = [session] if design.panel.personal_codes and session else []
    hash_value = int(keyed_hash("code", str(study.pk), study.slug, outcome, *session_part), 16)
    # write the hash as a number whose digits are capital letters, and keep the last CODE_LENGTH digits
    letters = []
    for _position in range(CODE_LENGTH):
        hash_value, letter_index = divmod(hash_value, len(CAPITALS))
        letters.append(CAPITALS[letter_index])
    return "".join(letters)


def address_back(design: StudyDesign, outcome: str, *, code: str, ids: PanelIds) -> str:
    """Return the address at the panel to which a person returns.

    Return "" if the person copies a code instead, or if the address needs an id that is missing.

    Args:
        outcome: one of ``judgments.design.panels.OUTCOMES``, such as "completed".
    """
    return return_address(design.panel, outcome, code=code, worker=ids.worker, session=ids.session)


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


def panel_sessions(study: Study) -> QuerySet[CrowdSession]:
    return CrowdSession.objects.filter(study=study, publication__hit=None).select_related("publication")


def latest_session(*, study: Study, worker: Worker) -> CrowdSession | None:
    return panel_sessions(study).filter(worker=worker).order_by("pk").last()


def session_with_room(*, study: Study, design: StudyDesign, worker: Worker) -> CrowdSession | None:
    """Return the worker's running session if it may have another HIT, else None."""
    session = latest_session(study=study, worker=worker)
    if session is None or session.status != Status.WORKING:
        return None
    hit_count = Assignment.objects.filter(session=session, state__in=COUNTED_STATES).count()
    return session if hit_count < design.panel.hits else None


def count_submitted(session: CrowdSession) -> int:
    """Return the number of the session's submitted assignments."""
    return Assignment.objects.filter(session=session, submitted_at__isnull=False).count()


def complete_session_after(*, assignment: Assignment) -> None:
    """Complete the session of a submitted assignment if its person has now submitted ``panel.hits`` HITs.

    Call this in the transaction of the submission: the completion must be stored before anybody is notified
    (Dallinger PR#6183).
    """
    session = panel_sessions(assignment.study).filter(assignments=assignment).first()
    if session is not None and count_submitted(session) >= design_of(assignment.study).panel.hits:
        end_session_with_status(session=session, status=Status.SUBMITTED)


def end_session_with_status(*, session: CrowdSession, status: str, why: str = "") -> bool:
    """End a running session, and store the completion code for its outcome. Return False if it had ended before.

    Its assignments are not changed; ``panel.people.end_panel_session`` also releases them.
    """
    end_field = "submitted_at" if status == Status.SUBMITTED else "decided_at"
    end_time = {end_field: timezone.now()}
    outcome = OUTCOMES_BY_STATUS[status]
    row_count = CrowdSession.objects.filter(pk=session.pk, status=Status.WORKING).update(
        status=status,
        code=code_for(session.study, design_of(session.study), outcome, session.external_id),
        feedback=why[:1024],
        **end_time,
    )
    session.refresh_from_db()
    return bool(row_count)


def idle_sessions(study: Study, *, minutes: int) -> QuerySet[CrowdSession]:
    """Return running sessions that began at least ``minutes`` ago and hold no lease now."""
    now = timezone.now()
    current_leases = Assignment.objects.filter(session=OuterRef("pk"), expires_at__gt=now)
    latest_arrival = now - timedelta(minutes=minutes)
    sessions = panel_sessions(study).filter(status=Status.WORKING, arrived_at__lte=latest_arrival)
    return sessions.filter(~Exists(current_leases))


def link_key(study: Study) -> str:
    """Return the study's secret key, 64 hexadecimal digits. Anybody who has it can sign links."""
    return keyed_hash("panel-links", str(study.pk), study.slug)


def link_signature_of(study: Study, ids: PanelIds) -> str:
    """Return the signature of a link: the HMAC-SHA256 of the person's id, in hexadecimal digits.

    If the link has a submission's id, the signed text is both ids, each on a line.
    """
    signed_text = f"{ids.worker}\n{ids.session}" if ids.session else ids.worker
    return hmac.new(link_key(study).encode(), signed_text.encode(), hashlib.sha256).hexdigest()


def refuse_unsigned(*, study: Study, design: StudyDesign, ids: PanelIds, query: Mapping[str, str]) -> None:
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
        WrongState: links are not signed, or need a submission's id, or a line is not a valid id.
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
