"""Prolific by its API: places, approvals, bonuses and groups, for people who come in by the panel's entry.

The study is put up there once, as a whole. What the API offers to make a call happen once only is little: nothing on
creating a study, nothing on bonuses. So a draft carries our token as its internal name and is looked for before one is
made, the draft that is published is remembered first, places are set to a total rather than added, decisions are read
before they are made, and a bonus is looked for, never paid again, after a lost answer (prolific_people).
"""

from __future__ import annotations

import html
import math
from collections import Counter
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.db.models import Count, Max

from annotation.crowds.base import Ability, Refused, SeenPublication, SeenWork, TryLater, fee_of
from annotation.crowds.panel.backend import ExternalBackend, entry_path
from annotation.crowds.panel.ids import code_for
from annotation.crowds.people import session_pseudonym
from annotation.crowds.prolific.client import ProlificClient
from annotation.crowds.prolific.people import (
    STATUS,
    asking,
    blocked_group_name,
    change_group,
    decide,
    pay_bonus,
    refuse_dearer,
    remember,
    send_message,
)
from annotation.crowds.prolific.shapes import (
    CompletionCode,
    PanelStudy,
    ProlificRefused,
    StudyAction,
    StudyDraft,
    StudyState,
    SubmissionState,
)
from annotation.models import CrowdCall, CrowdSession, Publication
from common.errors import WrongState
from common.markup import plain_text
from judgments.design.study_design import StudyDesign
from judgments.models import HIT, Study
from judgments.studies.studies import design_of

Status = CrowdSession.Status
DECIDED_THERE = (Status.APPROVED, Status.REJECTED)
FINISHED_HERE = (Status.SUBMITTED, *DECIDED_THERE)
NOT_PAID = {  # what a person is asked who comes back with another code than the completed one
    "screened-out": "You do not fulfil what this study asks of its participants.",
    "timed-out": "The time for this study was over before it was finished.",
    "returned": "You gave the study back.",
    "full": "Nothing was left to do when you came.",
}
AT_WORK = {SubmissionState.RESERVED, SubmissionState.ACTIVE, SubmissionState.PROCESSING}
UP = {
    StudyState.PUBLISHING,
    StudyState.ACTIVE,
    StudyState.PAUSED,
    StudyState.AWAITING_REVIEW,
    StudyState.COMPLETED,
}


class ProlificBackend(ExternalBackend):
    """A study at Prolific, steered from here."""

    name = "prolific"
    title = "Prolific"
    person = "PROLIFIC_PID"
    can = frozenset(Ability)

    def serves(self, design: StudyDesign) -> bool:
        """Studies for a panel that say so: `panel.preset = "prolific"` and `panel.api = true`."""
        return design.crowd.backend == "external" and design.panel.api

    def refuse(self, study: Study, design: StudyDesign) -> None:
        """Settings that have to be there before anybody is invited."""
        super().refuse(study, design)
        public = urlsplit(settings.PUBLIC_URL)
        trying = urlsplit(settings.PROLIFIC_API_URL).hostname in ("localhost", "127.0.0.1")
        if not settings.PROLIFIC_TOKEN:
            raise WrongState(f"Study {study.slug!r} was not opened: the setting PROLIFIC_TOKEN is empty.")
        if public.scheme != "https" and not trying:
            raise WrongState(
                f"Study {study.slug!r} was not opened: PUBLIC_URL is {settings.PUBLIC_URL!r}; expected the https "
                "address under which people at Prolific reach this server."
            )
        if not design.crowd.reward_cents:
            raise WrongState(
                f"Study {study.slug!r} was not opened: crowd.reward_cents is 0; Prolific's people are paid."
            )

    def where(self, study: Study) -> str:
        """One sentence."""
        return f"People come from Prolific, whose study leads to {settings.PUBLIC_URL}/s/{study.slug}/panel/."

    def fee(self, design: StudyDesign, cents: int) -> int:
        """The account's fee, rounded up: Prolific's own total is asked for before anything is bought."""
        return self.bonus_fee(cents)

    def bonus_fee(self, cents: int) -> int:
        """As on pay."""
        percent: Decimal = settings.PROLIFIC_FEE_PERCENT
        fee = fee_of(cents, percent)
        return fee + (Decimal(cents) * percent / 100 > fee)

    def balance(self, place: str) -> int | None:
        """What the workspace has left, where the settings name it."""
        if not settings.PROLIFIC_WORKSPACE:
            return None
        try:
            with asking() as client:
                return client.balance(settings.PROLIFIC_WORKSPACE).available_cents
        except Refused as problem:  # a workspace of somebody else, say
            raise TryLater(f"{problem} Check PROLIFIC_WORKSPACE.", final=True) from problem

    def carry_out(self, call: CrowdCall) -> dict[str, Any]:
        """As ``CrowdBackend`` says."""
        with asking() as client:
            match call.kind:
                case Ability.PUBLISH:
                    return _publish(client, call)
                case Ability.EXTEND:
                    return _extend(client, call)
                case Ability.EXPIRE:
                    return _expire(client, call)
                case Ability.APPROVE | Ability.REJECT:
                    return decide(client, call)
                case Ability.BONUS:
                    return pay_bonus(client, call)
                case Ability.BLOCK | Ability.UNBLOCK:
                    return change_group(
                        client, call, name=blocked_group_name(), add=call.kind == Ability.BLOCK
                    )
                case Ability.QUALIFY:
                    name, add = str(call.payload.get("qualification", "")), bool(call.payload.get("value", 1))
                    return change_group(client, call, name=name, add=add)
                case Ability.MESSAGE:
                    return send_message(client, call)
        raise Refused(f"Prolific cannot be asked to {call.kind}.")

    def publications(self, study: Study, *, known: Iterable[Publication]) -> Iterator[SeenPublication]:
        """Those we know by their id, and those whose answer was lost by our token."""
        ours = {one.external_id: one.token for one in known if one.external_id}
        lost = Publication.objects.filter(study=study, place=study.place, external_id="")
        tokens = set(lost.values_list("token", flat=True))
        with asking() as client:
            for external_id, token in ours.items():
                yield _seen(client, client.get_study(external_id), token)
            if tokens:
                for row in client.list_studies(project=settings.PROLIFIC_PROJECT):
                    if row.internal_name in tokens and row.state in UP:
                        yield _seen(client, row, row.internal_name)

    def session_id(self, place: str, raw: str) -> str:
        """A panel's submissions are kept under pseudonyms."""
        return session_pseudonym(place, raw)

    def work(self, publication: Publication) -> Iterator[SeenWork]:
        """What became of everybody who came here, and of those who were paid or refused there without having come.

        Whoever goes back to Prolific with a code waits for review there, also with a code that was read off somewhere,
        or one that asks for the return: what is finished is what was finished here, the rest counts as under way. Who
        has a place there and has not come yet is left out, so that the panel's entry is the first to know them.
        """
        here = dict(CrowdSession.objects.filter(publication=publication).values_list("external_id", "status"))
        with asking() as client:
            for one in client.submissions(publication.external_id):
                status, ours = STATUS[one.state], here.get(self.session_id(publication.place, one.id))
                if ours is None and status not in DECIDED_THERE:
                    continue
                if status == Status.SUBMITTED and ours not in FINISHED_HERE:
                    status = Status.WORKING
                yield SeenWork(
                    external_id=one.id,
                    worker=one.participant,
                    status=str(status),
                    accepted_at=one.started_at,
                    submitted_at=one.completed_at,
                    receipt=one.code,
                )


# --- the study ------------------------------------------------------------------------------------
def _publish(client: ProlificClient, call: CrowdCall) -> dict[str, Any]:
    """One study of our token is published, whoever asked how often: it is found, or made, remembered, and published."""
    publication = _publication(call)
    found = client.find_studies(publication.token, project=settings.PROLIFIC_PROJECT)
    up = [study for study in found if study.state in UP]
    if up:
        return {"external_id": up[0].id}
    chosen = call.answer.get("draft") or (found[0].id if found else "")
    if not chosen:
        refuse_dearer(
            client, reward_cents=publication.reward_cents, places=publication.places, kept=call.reserved_cents
        )
        chosen = client.create_study(draft_of(client, publication)).id
    remember(call, draft=chosen)  # of two drafts that a lost answer left, only this one is ever published
    try:
        client.transition_study(chosen, StudyAction.PUBLISH)
    except ProlificRefused:
        if client.get_study(chosen).state not in UP:
            raise
    return {"external_id": chosen}


def draft_of(client: ProlificClient, publication: Publication) -> StudyDraft:
    """What people at Prolific read, and where they are sent."""
    study = publication.study
    design = design_of(study)
    units = HIT.objects.filter(study=study).annotate(n=Count("units")).aggregate(most=Max("n"))["most"] or 1
    minutes = max(1, math.ceil(units * design.panel.hits * design.seconds_per_unit / 60))
    least = math.ceil(2 + 2 * minutes + 2 * math.sqrt(minutes))  # docs.prolific.com, maximum_allowed_time
    words = design.crowd.description or plain_text(design.question) or design.name
    earlier = (
        Publication.objects.filter(study=study, place=study.place).exclude(external_id="").order_by("pk")
    )
    blocked = []
    if settings.PROLIFIC_WORKSPACE:
        groups = client.groups(settings.PROLIFIC_WORKSPACE)
        blocked = [group.id for group in groups if group.name == blocked_group_name()]
        blocked = blocked or [client.create_group(settings.PROLIFIC_WORKSPACE, name=blocked_group_name()).id]
    return StudyDraft(
        name=design.crowd.title or design.name,
        internal_name=publication.token,
        description=f"<p>{html.escape(words)}</p>",
        external_study_url=settings.PUBLIC_URL + entry_path(study, design),
        completion_codes=codes_there(study, design),
        places=publication.places,
        minutes=minutes,
        reward_cents=publication.reward_cents,
        maximum_minutes=max(least, design.crowd.lease_minutes * design.panel.hits),
        project=settings.PROLIFIC_PROJECT,
        blocked_groups=blocked,
        blocked_studies=list(earlier.values_list("external_id", flat=True)),
    )


def codes_there(study: Study, design: StudyDesign) -> list[CompletionCode]:
    """A code per outcome, and what Prolific does for it: finished work waits for us, the rest is asked to be returned,
    which frees the place and pays nothing (screening out with pay is for some workspaces only)."""
    review: dict[str, object] = {"action": "MANUALLY_REVIEW"}
    codes = [CompletionCode(code_for(study, design, "completed"), "COMPLETED", (review,))]
    for outcome, reason in NOT_PAID.items():
        back: dict[str, object] = {"action": "REQUEST_RETURN", "return_reason": reason}
        kind = outcome.replace("-", "_").upper()
        codes.append(CompletionCode(code_for(study, design, outcome), kind, (back,)))
    return codes


def _extend(client: ProlificClient, call: CrowdCall) -> dict[str, Any]:
    """The places are set to a total, so that asking again adds none; a study that was paused goes on."""
    publication = _publication(call)
    more, reopened = int(call.payload.get("places", 0)), int(call.payload.get("reopened", 0))
    total = publication.places + more
    there = client.get_study(publication.external_id)
    if not more and there.state is StudyState.COMPLETED:
        raise Refused(
            f"Study {there.id} is stopped at Prolific, where a stopped one opens again with more places only: add one."
        )
    if there.places < total:
        refuse_dearer(
            client, reward_cents=publication.reward_cents, places=more + reopened, kept=call.reserved_cents
        )
        client.increase_places(publication.external_id, total)
        there = client.get_study(publication.external_id)
    if there.state is StudyState.PAUSED:
        client.transition_study(publication.external_id, StudyAction.START)
    return {"places": total}


def _expire(client: ProlificClient, call: CrowdCall) -> dict[str, Any]:
    """Nobody new. Who is at work may finish, by the reference of pausing; where nobody is, the study is stopped, which
    gives back what Prolific holds for its empty places; not one that is only paused, as a stopped one opens again
    with more places only."""
    publication = _publication(call)
    there = client.get_study(publication.external_id)
    if there.state is StudyState.ACTIVE:
        client.transition_study(publication.external_id, StudyAction.PAUSE)
        there = client.get_study(publication.external_id)
    if there.state is StudyState.PAUSED and not call.payload.get("pause"):
        at_work = any(one.state in AT_WORK for one in client.submissions(publication.external_id))
        if not at_work:
            client.transition_study(publication.external_id, StudyAction.STOP)
            there = client.get_study(publication.external_id)
    return {"status": there.state.value}


def _seen(client: ProlificClient, study: PanelStudy, token: str) -> SeenPublication:
    states = [one.state for one in client.submissions(study.id)]
    closed = study.state in {StudyState.PAUSED, StudyState.AWAITING_REVIEW, StudyState.COMPLETED}
    return SeenPublication(
        external_id=study.id,
        token=token,
        over=closed and not any(state in AT_WORK for state in states),
        places=study.places,
        reward_cents=study.reward_cents,
        facts={"status": study.state.value, **Counter(state.value for state in states)},
    )


def _publication(call: CrowdCall) -> Publication:
    """As it stands now: its places may have grown since the call was written."""
    if call.publication is None:
        raise Refused(f"The call {call.key} names no publication.")
    return Publication.objects.select_related("study").get(pk=call.publication.pk)
