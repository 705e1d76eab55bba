"""Prolific by its API: slots, approvals, bonuses and groups; people come in by the panel's entry.

The API has no idempotency keys for creating a study or paying a bonus. So a draft carries our token as its internal
name and is searched for before one is made, the chosen draft is stored before it is published, slots are set to a
total, decisions are read before they are made, and after a lost answer a bonus is only looked for, never paid again.
"""

from __future__ import annotations

import html
import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.db.models import Count, Max
from django.utils.translation import gettext as _

from annotation.crowds.base import Ability, OutOfFunds, Price, Refused, SeenPublication, SeenWork, TryLater
from annotation.crowds.panel.backend import ExternalBackend, code_for, entry_path
from annotation.crowds.people import ids_not_passed_on, session_pseudonym
from annotation.crowds.prolific.client import (
    SCREEN_OUT,
    PanelStudy,
    ProlificClient,
    StudyAction,
    StudyState,
    SubmissionState,
    known_id,
    open_client,
)
from annotation.crowds.prolific.people import (
    STATUS,
    blocked_group_name,
    change_group,
    decide,
    filters_of,
    needs_the_list,
    refuse_dearer,
    refuse_other_currency,
    send_bonus,
    send_message,
    store_facts,
)
from annotation.models import CrowdCall, CrowdSession, Publication, at_crowd
from common.errors import WrongState
from common.markup import plain_text
from common.rows import batched
from judgments.design.study_design import StudyDesign
from judgments.models import HIT, Study
from judgments.studies.studies import design_of

Status = CrowdSession.Status
DECIDED_THERE = (Status.APPROVED, Status.REJECTED)
FINISHED_HERE = (Status.SUBMITTED, *DECIDED_THERE)
MEMBERS_AT_ONCE = 500
VISITOR_SECONDS = 3.0  # for an answer while a visitor waits
NOT_PAID = {  # the return reasons of codes other than the completed one
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
    """A study at Prolific that this server manages."""

    name = "prolific"
    title = "Prolific"
    can = frozenset(Ability) - {Ability.DELETE}

    def serves(self, design: StudyDesign) -> bool:
        return design.crowd.backend == "external" and design.panel.api

    def refuse(self, study: Study, design: StudyDesign) -> None:
        super().refuse(study, design)
        public = urlsplit(settings.PUBLIC_URL)
        trying = urlsplit(settings.PROLIFIC_API_URL).hostname in ("localhost", "127.0.0.1")
        if not settings.PROLIFIC_TOKEN:
            raise WrongState(
                _("Study %(slug)r was not opened: the setting PROLIFIC_TOKEN is empty.")
                % {"slug": study.slug}
            )
        if public.scheme != "https" and not trying:
            raise WrongState(
                _(
                    "Study %(slug)r was not opened: PUBLIC_URL is %(public_url)r; expected the https "
                    "address under which people at Prolific reach this server."
                )
                % {"slug": study.slug, "public_url": settings.PUBLIC_URL}
            )
        workers = design.workers
        if not settings.PROLIFIC_WORKSPACE and (workers.requires or workers.forbids or workers.grants):
            raise WrongState(
                _(
                    "Study %(slug)r was not opened: qualifications are groups of a workspace at "
                    "Prolific; set PROLIFIC_WORKSPACE."
                )
                % {"slug": study.slug}
            )
        if not design.crowd.reward_cents:
            raise WrongState(
                _("Study %(slug)r was not opened: crowd.reward_cents is 0; Prolific's people are paid.")
                % {"slug": study.slug}
            )

    def check_at_crowd(self, design: StudyDesign) -> None:
        if not settings.PROLIFIC_TOKEN or not (settings.PROLIFIC_WORKSPACE or needs_the_list(design.workers)):
            return
        with open_client() as client:
            refuse_other_currency(client, design)
            filters_of(client, design.workers, workspace=settings.PROLIFIC_WORKSPACE)

    def describe_entrance(self, study: Study) -> str:
        return _("People come from Prolific, whose study leads to %(address)s.") % {
            "address": f"{settings.PUBLIC_URL}/s/{study.slug}/panel/"
        }

    def fee(self, design: StudyDesign, cents: int) -> int:
        """Return the account's fee, rounded up. Prolific's own total is checked before a purchase."""
        return self.bonus_fee(cents)

    def bonus_fee(self, cents: int) -> int:
        percent: Decimal = settings.PROLIFIC_FEE_PERCENT
        return math.ceil(Decimal(cents) * percent / 100)

    def screen_out_price(self, design: StudyDesign) -> Price:
        cents = design.crowd.screen_out_cents
        return Price(reward_cents=cents, fee_cents=self.fee(design, cents))

    def fetch_balance(self, platform: str) -> int | None:
        if not settings.PROLIFIC_WORKSPACE:
            return None
        try:
            with open_client() as client:
                return client.balance_cents(settings.PROLIFIC_WORKSPACE)
        except Refused as problem:  # for instance another account's workspace
            raise TryLater(f"{problem} Check PROLIFIC_WORKSPACE.", final=True) from problem

    def carry_out(self, call: CrowdCall) -> dict[str, Any]:
        with open_client() as client:
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
                    return send_bonus(client, call)
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

    def fetch_publications(self, study: Study, *, known: Iterable[Publication]) -> Iterator[SeenPublication]:
        ours = {
            publication.external_id: publication.token for publication in known if publication.external_id
        }
        lost = at_crowd(Publication, study).filter(external_id="")
        tokens = set(lost.values_list("token", flat=True))
        with open_client() as client:
            for external_id, token in ours.items():
                yield _read_publication(client, client.get_study(external_id), token)
            if tokens:
                for row in client.list_studies(project=settings.PROLIFIC_PROJECT):
                    if row.internal_name in tokens and row.state in UP:
                        yield _read_publication(client, row, row.internal_name)

    def session_id(self, platform: str, raw: str) -> str:
        return session_pseudonym(platform, raw)

    def knows_work(
        self, publication: Publication, *, worker: str, work: str, at_work: bool = True
    ) -> bool | None:
        try:
            with open_client(timeout=VISITOR_SECONDS) as client:
                submission = client.submission(work)
        except (TryLater, OutOfFunds):
            return None
        except Refused:
            return False
        mine = (submission.participant, submission.study) == (worker, publication.external_id)
        return mine and (submission.state in AT_WORK or not at_work)

    def fetch_work_ids(self, publication: Publication) -> frozenset[str] | None:
        try:
            with open_client(timeout=VISITOR_SECONDS) as client:
                there = client.submissions(publication.external_id)
        except (TryLater, OutOfFunds, Refused):
            return None
        return frozenset(self.session_id(publication.platform, submission.id) for submission in there)

    def fetch_work(self, publication: Publication) -> Iterator[SeenWork]:
        """Yield the work of everybody who came here, and of others who were paid or rejected there.

        At Prolific anybody who returns with a code waits for review, even with a copied code. So work finished here is
        finished, and other work is running.
        """
        here = dict(CrowdSession.objects.filter(publication=publication).values_list("external_id", "status"))
        with open_client() as client:
            for submission in client.submissions(publication.external_id):
                status = STATUS[submission.state]
                ours = here.get(self.session_id(publication.platform, submission.id))
                paid = status in DECIDED_THERE or (
                    status == Status.SCREENED_OUT and publication.screen_out_cents
                )
                if ours is None and not paid:
                    continue
                if status == Status.SUBMITTED and ours not in FINISHED_HERE:
                    status = Status.WORKING
                yield SeenWork(
                    external_id=submission.id,
                    worker=submission.participant,
                    status=str(status),
                    accepted_at=submission.started_at,
                    submitted_at=submission.completed_at,
                    receipt=submission.code,
                )


def _publish(client: ProlificClient, call: CrowdCall) -> dict[str, Any]:
    """Find or create the study of our token, store it, and publish it."""
    publication = call.publication_now()
    studies = client.find_studies(publication.token, project=settings.PROLIFIC_PROJECT)
    up = [study for study in studies if study.state in UP]
    if up:
        return {"external_id": up[0].id}
    chosen = call.answer.get("draft") or (studies[0].id if studies else "")
    if not chosen:
        reserved = call.reserved_cents - publication.screen_outs * publication.screen_out_cents
        refuse_dearer(
            client, reward_cents=publication.reward_cents, places=publication.places, reserved=reserved
        )
        design = design_of(publication.study)
        if publication.screen_outs:
            _refuse_dearer_screen_outs(client, publication, design, count=publication.screen_outs)
        refuse_other_currency(client, design)
        chosen = client.create_study(draft_of(client, publication)).id
    store_facts(call, draft=chosen)  # of two drafts after a lost answer, only this one is ever published
    try:
        client.transition_study(chosen, StudyAction.PUBLISH)
    except (Refused, OutOfFunds):
        if client.get_study(chosen).state not in UP:
            raise
    return {"external_id": chosen}


def _refuse_dearer_screen_outs(
    client: ProlificClient, publication: Publication, design: StudyDesign, *, count: int
) -> None:
    reserved = count * publication.screen_out_cents
    refuse_dearer(client, reward_cents=design.crowd.screen_out_cents, places=count, reserved=reserved)


def draft_of(client: ProlificClient, publication: Publication) -> dict[str, object]:
    """Return a new study as the API takes it; its reward is per submission, without Prolific's fee."""
    study = publication.study
    design = design_of(study)
    units = HIT.objects.filter(study=study).annotate(n=Count("units")).aggregate(most=Max("n"))["most"] or 1
    minutes = max(1, math.ceil(units * design.panel.hits * design.seconds_per_unit / 60))
    least = math.ceil(2 + 2 * minutes + 2 * math.sqrt(minutes))  # docs.prolific.com, maximum_allowed_time
    description = design.crowd.description or plain_text(design.question) or design.name
    earlier = at_crowd(Publication, study).exclude(external_id="").order_by("pk")
    blocked, needed = groups_of(client, design, platform=publication.platform)
    studies = list(earlier.values_list("external_id", flat=True))
    # nobody in a blocked group or study sees it, nor anybody outside all groups of a needed qualification
    filters = [
        *_id_filter("participant_group_blocklist", blocked, "participant group"),
        *_id_filter("previous_studies_blocklist", studies, "study"),
    ]
    for groups in needed:
        filters += _id_filter("participant_group_allowlist", groups, "participant group")
    filters += filters_of(client, design.workers, workspace=settings.PROLIFIC_WORKSPACE)
    project = settings.PROLIFIC_PROJECT
    return {
        "name": design.crowd.title or design.name,
        "internal_name": publication.token,
        "description": f"<p>{html.escape(description)}</p>",
        "external_study_url": settings.PUBLIC_URL + entry_path(study, design),
        "prolific_id_option": "url_parameters",
        "completion_codes": completion_codes(study, design, screen_outs=publication.screen_outs),
        "total_available_places": publication.places,
        "estimated_completion_time": minutes,
        "maximum_allowed_time": max(least, design.crowd.lease_minutes * design.panel.hits),
        "reward": publication.reward_cents,
        "device_compatibility": list(design.workers.devices),
        "peripheral_requirements": [],
        "submissions_config": {"max_submissions_per_participant": 1},
        "filters": filters,
        **({"project": known_id(project, "project")} if project else {}),
    }


def _id_filter(name: str, ids: Collection[str], what: str) -> list[dict[str, object]]:
    values = [known_id(value, what) for value in ids]
    return [{"filter_id": name, "selected_values": values}] if values else []


def groups_of(
    client: ProlificClient, design: StudyDesign, *, platform: str
) -> tuple[list[str], list[list[str]]]:
    """Return the groups whose members are kept out, and for each needed qualification the groups of its name.

    Add people who got a qualification before any study of theirs was open. Create a missing group that keeps people
    out, as people may get into it while the study runs.
    """
    workers, workspace = design.workers, str(settings.PROLIFIC_WORKSPACE)
    if not workspace:
        if workers.requires or workers.forbids:
            raise Refused(
                "Nothing was made at Prolific: qualifications are groups of a workspace there; set PROLIFIC_WORKSPACE."
            )
        return [], []
    by_name: dict[str, list[str]] = {}
    for group in client.groups(workspace):
        by_name.setdefault(group.name, []).append(group.id)
    for name in (blocked_group_name(), *workers.forbids, *workers.requires):
        people = ids_not_passed_on(platform, name)
        if name in workers.requires and name not in by_name and not people:
            raise Refused(
                f"Nothing was made at Prolific: workers.requires names {name!r}, and the workspace has no such group, "
                "so that nobody could take part; give the qualification to somebody first."
            )
        if name not in by_name:
            by_name[name] = [client.create_group(workspace, name=name).id]
        for some in batched(people, MEMBERS_AT_ONCE):
            for group_id in by_name[name]:
                client.add_to_group(group_id, some)
    blocked = [group_id for name in (blocked_group_name(), *workers.forbids) for group_id in by_name[name]]
    return blocked, [by_name[name] for name in workers.requires]


def completion_codes(study: Study, design: StudyDesign, *, screen_outs: int = 0) -> list[dict[str, object]]:
    """Return a code per outcome with Prolific's action.

    Finished work waits for us. Up to ``screen_outs`` people who are screened out get the design's pay. Other codes
    request a return, which frees the slot and pays nothing.
    """
    actions: dict[str, dict[str, object]] = {"completed": {"action": "MANUALLY_REVIEW"}}
    for outcome, reason in NOT_PAID.items():
        actions[outcome] = {"action": "REQUEST_RETURN", "return_reason": reason}
    if screen_outs:
        reward = design.crowd.screen_out_cents
        actions["screened-out"] = {
            "action": SCREEN_OUT, "fixed_screen_out_reward": reward, "slots": screen_outs,
        }  # fmt: skip
    return [
        {
            "code": code_for(study, design, outcome),
            "code_type": outcome.replace("-", "_").upper(),
            "actions": [action],
        }
        for outcome, action in actions.items()
    ]


def _extend(client: ProlificClient, call: CrowdCall) -> dict[str, Any]:
    """Set the total of slots, so that a repeated call adds none; resume a paused study."""
    publication = call.publication_now()
    more, reopened = int(call.payload.get("places", 0)), int(call.payload.get("reopened", 0))
    total = publication.places + more
    screen_outs, again = (
        int(call.payload.get("screen_outs", 0)),
        int(call.payload.get("screen_outs_again", 0)),
    )
    there = client.get_study(publication.external_id)
    if not more and there.state is StudyState.COMPLETED:
        raise Refused(
            f"Study {there.id} is stopped at Prolific, where a stopped one opens again with more places only: add one."
        )
    if screen_outs:
        design = design_of(publication.study)
        _refuse_dearer_screen_outs(client, publication, design, count=screen_outs)
        code = code_for(publication.study, design, "screened-out")
        client.set_screen_outs(
            publication.external_id, code=code, slots=publication.screen_outs + screen_outs
        )
    if there.places < total:
        refuse_dearer(
            client,
            reward_cents=publication.reward_cents,
            places=more + reopened,
            reserved=call.reserved_cents - (screen_outs + again) * publication.screen_out_cents,
        )
        client.increase_places(publication.external_id, total)
        there = client.get_study(publication.external_id)
    if there.state is StudyState.PAUSED:
        client.transition_study(publication.external_id, StudyAction.START)
    return {"places": total}


def _expire(client: ProlificClient, call: CrowdCall) -> dict[str, Any]:
    """Close the study to new people.

    Pause it, so that people at work may finish. Stop it once nobody is at work, which refunds its open slots, unless it
    is paused for a while: a stopped one reopens with more slots only.
    """
    publication = call.publication_now()
    there = client.get_study(publication.external_id)
    if there.state is StudyState.ACTIVE:
        client.transition_study(publication.external_id, StudyAction.PAUSE)
        there = client.get_study(publication.external_id)
    if there.state is StudyState.PAUSED and not call.payload.get("pause"):
        at_work = any(
            submission.state in AT_WORK for submission in client.submissions(publication.external_id)
        )
        if not at_work:
            client.transition_study(publication.external_id, StudyAction.STOP)
            there = client.get_study(publication.external_id)
    return {"status": there.state.value}


def _read_publication(client: ProlificClient, study: PanelStudy, token: str) -> SeenPublication:
    states = [submission.state for submission in client.submissions(study.id)]
    closed = study.state in {StudyState.PAUSED, StudyState.AWAITING_REVIEW, StudyState.COMPLETED}
    return SeenPublication(
        external_id=study.id,
        token=token,
        over=closed and not any(state in AT_WORK for state in states),
        places=study.places,
        reward_cents=study.reward_cents,
        facts={"status": study.state.value, **Counter(state.value for state in states)},
    )
