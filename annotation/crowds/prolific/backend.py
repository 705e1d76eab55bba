"""Prolific by its API: slots, approvals, bonuses and groups; people come in by the panel's entry.

The API has no idempotency keys for creating a study or paying a bonus. So a draft carries our token as its internal
name and is searched for before one is made, the chosen draft is stored before it is published, slots are set to a
total, decisions are read before they are made, and after a lost answer a bonus is only looked for, never paid again.

Ids of a filter's answers are undocumented, so names are looked up in Prolific's list of filters; one that is missing
there is refused before anything is made.
"""

from __future__ import annotations

import difflib
import html
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.db.models import Count, Max
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from annotation.crowds.base import (
    Ability,
    CrowdProblem,
    OutOfFunds,
    Price,
    Refused,
    SeenPublication,
    SeenWork,
    TryLater,
    Unsure,
)
from annotation.crowds.panel.backend import ExternalBackend, code_for, entry_path
from annotation.crowds.people import ids_not_passed_on, installation_word, session_pseudonym
from annotation.crowds.prolific.client import (
    SCREEN_OUT,
    SHORTEST_REJECTION,
    ListedFilter,
    PanelStudy,
    ProlificClient,
    StudyAction,
    StudyState,
    Submission,
    SubmissionState,
    known_id,
    open_client,
)
from annotation.models import CrowdCall, CrowdSession, Publication, at_crowd
from common.errors import WrongState
from common.markup import plain_text
from common.rows import batched
from judgments.design.panels import session_parameter, worker_parameter
from judgments.design.requirements import COUNTRIES, Workers
from judgments.design.study_design import StudyDesign
from judgments.models import HIT, Study
from judgments.studies.studies import design_of

State = SubmissionState
BONUS_SHOWS_WITHIN = timedelta(hours=1)  # the reference says "in the following minutes"; this leaves room
LOOK_AGAIN_SECONDS = 60.0
COMES_BACK_SECONDS = 600.0

# Values of CrowdSession.Status.
STATUS = {
    State.RESERVED: CrowdSession.Status.WORKING,
    State.ACTIVE: CrowdSession.Status.WORKING,
    State.AWAITING_REVIEW: CrowdSession.Status.SUBMITTED,
    State.PROCESSING: CrowdSession.Status.SUBMITTED,
    State.APPROVED: CrowdSession.Status.APPROVED,
    State.PARTIALLY_APPROVED: CrowdSession.Status.APPROVED,
    State.REJECTED: CrowdSession.Status.REJECTED,
    State.RETURNED: CrowdSession.Status.RETURNED,
    State.TIMED_OUT: CrowdSession.Status.TIMED_OUT,
    State.SCREENED_OUT: CrowdSession.Status.SCREENED_OUT,
    State.UNKNOWN: CrowdSession.Status.UNKNOWN,
}


def store_facts(call: CrowdCall, **facts: object) -> None:
    if not call.remember(**facts):
        raise TryLater("Somebody else carries this call out by now.")


def refuse_dearer(client: ProlificClient, *, reward_cents: int, places: int, reserved: int) -> None:
    """Raise Refused if the cost with fee and tax exceeds the reservation."""
    cost = client.cost_cents(reward_cents=reward_cents, places=places)
    if cost > reserved:
        raise Refused(
            f"Nothing was bought: Prolific asks {cost} cents for {places} places at {reward_cents} cents, and "
            f"{reserved} are reserved; set PROLIFIC_FEE_PERCENT to this account's fee with its tax."
        )


def refuse_other_currency(client: ProlificClient, design: StudyDesign) -> None:
    """Raise Refused if the workspace pays in another currency than the study's."""
    if not settings.PROLIFIC_WORKSPACE:
        return
    there = client.currency(settings.PROLIFIC_WORKSPACE)
    if there and there != design.currency:
        raise Refused(
            f"Nothing was bought: the workspace at Prolific pays in {there}, and the study's amounts are in "
            f"{design.currency}; set crowd.currency to {there!r}."
        )


def _decide(client: ProlificClient, call: CrowdCall) -> dict[str, Any]:
    """Approve or reject, unless decided before; return the current decision."""
    submission = _submission(client, call)
    if submission.state in (State.RESERVED, State.ACTIVE, State.PROCESSING):
        raise TryLater(
            f"Submission {submission.id} is {submission.state.value} at Prolific; it can be decided once its author is "
            "back there.",
            after=COMES_BACK_SECONDS,
        )
    approve = call.kind == Ability.APPROVE
    undo = approve and submission.state is State.REJECTED
    if undo or submission.state in (State.RETURNED, State.TIMED_OUT, State.SCREENED_OUT, State.UNKNOWN):
        hint = "; undo the rejection on Prolific's page of the study" if undo else ""
        raise Refused(
            f"Submission {submission.id} is {submission.state.value} at Prolific and cannot be decided here{hint}."
        )
    if submission.state is State.AWAITING_REVIEW:
        if approve:
            client.approve(submission.id)
        else:
            client.reject(submission.id, message=rejection_words(call.why))
        return {"status": str(CrowdSession.Status.APPROVED if approve else CrowdSession.Status.REJECTED)}
    return {"status": str(STATUS[submission.state])}


def rejection_words(why: str) -> str:
    """Return the reason, lengthened to the hundred characters that Prolific requires."""
    message = f"{why.strip()}\n\n" + _(
        "If you think that this is a mistake, please answer this message: a person will look at your work again."
    )
    return message.ljust(SHORTEST_REJECTION, ".")


def _send_bonus(client: ProlificClient, call: CrowdCall) -> dict[str, Any]:
    """Pay a bonus once: set it up, which costs nothing, store the intent to pay, then pay.

    After a lost answer it is only looked for, as the service pays a set-up as often as it is asked.
    """
    submission = _submission(client, call)
    cents = int(call.payload["bonus_cents"])
    seen = list(submission.bonus_cents or ()).count(cents)
    if "paying" in call.answer:
        return _look_for_bonus(call, seen)
    earlier = CrowdCall.objects.filter(session=call.session, kind=Ability.BONUS).exclude(pk=call.pk)
    if any("paying" in other.answer for other in earlier.exclude(state=CrowdCall.State.DONE)):
        raise TryLater("Another bonus of this submission is being looked for.", after=LOOK_AGAIN_SECONDS)
    if "set_up" not in call.answer:
        set_up = client.set_up_bonus(_study_there(call), submission.id, cents)
        if set_up.total_cents > call.reserved_cents:
            raise Refused(
                f"Nothing was paid: Prolific asks {set_up.total_cents} cents for this bonus, and "
                f"{call.reserved_cents} are reserved; set PROLIFIC_FEE_PERCENT to this account's fee with its tax."
            )
        store_facts(call, set_up=set_up.id)
    # Paid, but perhaps not shown yet.
    done = sum(
        int(other.payload.get("bonus_cents", 0)) == cents
        for other in earlier.filter(state=CrowdCall.State.DONE)
    )
    set_up_id = str(call.answer["set_up"])
    store_facts(call, paying=timezone.now().isoformat(), before=max(seen, done))
    try:
        client.pay_bonus(set_up_id)
    except CrowdProblem as problem:
        if problem.undone:
            store_facts(call, paying=None, before=None)
        raise
    return {"bonus": set_up_id}


def _look_for_bonus(call: CrowdCall, seen: int) -> dict[str, Any]:
    if seen > int(call.answer["before"]):
        return {"bonus": call.answer["set_up"], "found": True}
    since = datetime.fromisoformat(call.answer["paying"])
    if timezone.now() - since < BONUS_SHOWS_WITHIN:
        raise TryLater(
            f"Whether bonus {call.answer['set_up']} was paid is not known; it is being looked for.",
            after=LOOK_AGAIN_SECONDS,
        )
    raise Unsure(
        f"Bonus {call.answer['set_up']} was asked for at {since:%Y-%m-%d %H:%M} UTC, the answer was lost, and no bonus "
        "shows at Prolific. Look at the submission there, then say here whether it was paid."
    )


def _send_message(client: ProlificClient, call: CrowdCall) -> dict[str, Any]:
    """Message a person at most once: nothing shows later whether it was sent."""
    if "sending" in call.answer:
        raise Unsure(
            "The message was about to be sent when the answer was lost. Look at the conversation at Prolific, then say "
            "here whether it was sent."
        )
    person = _person(call)
    text = "\n\n".join(str(part) for part in (call.payload.get("subject"), call.payload.get("text")) if part)
    if not text:
        raise Refused("The message is empty.")
    store_facts(call, sending=timezone.now().isoformat())
    try:
        client.send_message(participant=person, study=_study_there(call), text=text)
    except CrowdProblem as problem:
        if problem.undone:
            store_facts(call, sending=None)
        raise
    return {"sent": True}


def blocked_group_name() -> str:
    """Return the name of the group whose members see no study of this installation."""
    return f"quorum-blocked-{installation_word()}"


def change_group(client: ProlificClient, call: CrowdCall, *, name: str, add: bool) -> dict[str, Any]:
    """Add a person to a group or remove them; a repeated call changes nothing."""
    person, workspace = _person(call), _workspace()
    if not name:
        raise Refused(f"The call {call.key} names no group.")
    groups = [group for group in client.groups(workspace) if group.name == name]
    if add and not groups:
        groups = [client.create_group(workspace, name=name)]
    for group in groups:  # a lost answer may have left two of one name, and a study may use either
        if add:
            client.add_to_group(group.id, [person])
        else:
            client.remove_from_group(group.id, [person])
    return {"groups": [group.id for group in groups]}


def _workspace() -> str:
    workspace = str(settings.PROLIFIC_WORKSPACE)
    if not workspace:
        raise Refused("Groups belong to a workspace: set PROLIFIC_WORKSPACE, then try again.")
    return workspace


def _submission(client: ProlificClient, call: CrowdCall) -> Submission:
    """Return the call's submission. Its id came by the browser, so verify it with Prolific before a payment."""
    session = call.session_now()
    panel = design_of(session.study).panel
    raw = session.raw_ids.filter(name=session_parameter(panel)).first()
    if raw is None:
        raise Refused(
            f"The ids of session {session.external_id} were deleted here; decide it on Prolific's own pages."
        )
    submission = client.submission(raw.value)
    if submission.participant != _person(call) or submission.study != session.publication.external_id:
        raise Refused(
            f"Submission {submission.id} belongs to another person or study at Prolific than to session "
            f"{session.external_id}."
        )
    return submission


def _person(call: CrowdCall) -> str:
    worker = call.worker or call.session_now().worker
    panel = design_of(call.study).panel
    raw = worker.raw_ids.filter(session=None, name=worker_parameter(panel)).first()
    if raw is None:
        raise Refused(f"The id of {worker.name} was deleted here; Prolific's own pages know the person.")
    return raw.value


def _study_there(call: CrowdCall) -> str:
    session = call.session
    if session is None and call.worker is not None:
        took_part = call.worker.crowd_sessions.filter(study=call.study, platform=call.platform)
        session = took_part.select_related("publication").order_by("pk").last()
    publication = call.publication or (session.publication if session else None)
    if publication is None or not publication.external_id:
        raise Refused("The call names nothing that was published at Prolific.")
    return publication.external_id


COUNTRY, LANGUAGE, SEX, AGE = "current-country-of-residence", "fluent-languages", "sex", "age"
APPROVAL_RATE, APPROVED = "approval_rate", "approval_numbers"

# Prolific's names where the table of countries has others
OTHER_NAMES = {
    "CZ": ("Czechia",),
    "KR": ("South Korea", "Korea, Republic of", "Republic of Korea"),
    "RU": ("Russian Federation",),
    "TR": ("Türkiye",),
    "US": ("United States of America", "USA"),
    "VN": ("Viet Nam",),
}

Filter = dict[str, Any]


def needs_the_list(workers: Workers) -> bool:
    return bool(
        workers.countries
        or workers.languages
        or workers.approval_above
        or workers.approved_at_least
        or workers.quotas
    )


def _filters_of(client: ProlificClient, workers: Workers, *, workspace: str) -> list[Filter]:
    """Return the filters of the worker requirements, apart from groups.

    Raises:
        Refused: Prolific has no such filter or answer; nothing was changed.
    """
    if not needs_the_list(workers):
        return []
    return list(_filters(workers, {listed.id: listed for listed in client.filters(workspace=workspace)}))


def _filters(workers: Workers, listed: Mapping[str, ListedFilter]) -> Iterator[Filter]:
    countries = {quota.value: quota.share for quota in workers.quotas if quota.by == "country"}
    if countries:
        choices = _choices(listed, COUNTRY, "workers.quotas", countries, _country_names)
        yield _select(COUNTRY, choices, countries)
    elif workers.countries:
        values = workers.countries
        yield _select(COUNTRY, _choices(listed, COUNTRY, "workers.countries", values, _country_names))
    if workers.languages:
        values = workers.languages
        yield _select(LANGUAGE, _choices(listed, LANGUAGE, "workers.languages", values))
    if workers.approval_above:
        percent = math.floor(Fraction(str(workers.approval_above)) * 100) + 1
        upper = _find_filter(listed, APPROVAL_RATE, "workers.approval_above").most or 100
        if percent > upper:
            raise _not_available(f"workers.approval_above is {workers.approval_above:g}; nobody has more")
        yield {"filter_id": APPROVAL_RATE, "selected_range": {"lower": percent, "upper": upper}}
    if workers.approved_at_least:
        most = _find_filter(listed, APPROVED, "workers.approved_at_least").most
        if most is not None and workers.approved_at_least > most:
            raise _not_available(
                f"workers.approved_at_least is {workers.approved_at_least}; it knows {most} at most"
            )
        bound = {} if most is None else {"upper": most}
        yield {"filter_id": APPROVED, "selected_range": {"lower": workers.approved_at_least, **bound}}
    sexes = {quota.value: quota.share for quota in workers.quotas if quota.by == "sex"}
    if sexes:
        yield _select(SEX, _choices(listed, SEX, "workers.quotas", sexes), sexes)
    ages = sorted((quota.ages, quota.share) for quota in workers.quotas if quota.by == "age")
    if ages:
        yield _ages(_find_filter(listed, AGE, "workers.quotas"), ages)


def _select(name: str, choices: Mapping[str, str], shares: Mapping[str, int] | None = None) -> Filter:
    filter_json: Filter = {"filter_id": name, "selected_values": list(choices.values())}
    if shares:
        filter_json["weightings"] = {choices[value]: share for value, share in shares.items()}
    return filter_json


def _ages(known: ListedFilter, ages: list[tuple[tuple[int, int], int]]) -> Filter:
    bounds = [bound for bound, _share in ages]
    lower, upper = bounds[0][0], bounds[-1][1]
    if (known.least is not None and lower < known.least) or (known.most is not None and upper > known.most):
        raise _not_available(
            f"workers.quotas has ages from {lower} to {upper}; it knows {known.least} to {known.most}"
        )
    return {
        "filter_id": AGE,
        "selected_range": {"lower": lower, "upper": upper},
        "weightings": {
            str(number): {"selected_range": {"lower": first, "upper": last}, "weighting": share}
            for number, ((first, last), share) in enumerate(ages)
        },
    }


def _find_filter(listed: Mapping[str, ListedFilter], name: str, key: str) -> ListedFilter:
    listed_filter = listed.get(name)
    if listed_filter is None:
        raise _not_available(f"{key} needs its filter {name!r}, which is not in its list")
    return listed_filter


def _choices(
    listed: Mapping[str, ListedFilter],
    name: str,
    key: str,
    values: Iterable[str],
    names: Callable[[str], tuple[str, ...]] = lambda value: (value,),
) -> dict[str, str]:
    """Return value -> id of Prolific's answer."""
    ids = {text.casefold(): choice for choice, text in _find_filter(listed, name, key).choices.items()}
    choices: dict[str, str] = {}
    for value in values:
        called = [text.casefold() for text in names(value)]
        choice = next((ids[label] for label in called if label in ids), None)
        if choice is None:
            near = difflib.get_close_matches(called[0], ids, n=1)
            hint = f"; did you mean {listed[name].choices[ids[near[0]]]!r}?" if near else ""
            raise _not_available(f"{key} names {names(value)[0]!r}, which is not among its answers{hint}")
        choices[value] = choice
    return choices


def _country_names(code: str) -> tuple[str, ...]:
    return (COUNTRIES[code], *OTHER_NAMES.get(code, ()))


def _not_available(what: str) -> Refused:
    return Refused(f"Nothing was made at Prolific: {what}{'' if what.endswith('?') else '.'}")


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
                pgettext("staff", "Study %(slug)r was not opened: the setting PROLIFIC_TOKEN is empty.")
                % {"slug": study.slug}
            )
        if public.scheme != "https" and not trying:
            raise WrongState(
                pgettext(
                    "staff",
                    "Study %(slug)r was not opened: PUBLIC_URL is %(public_url)r; expected the https "
                    "address under which people at Prolific reach this server.",
                )
                % {"slug": study.slug, "public_url": settings.PUBLIC_URL}
            )
        workers = design.workers
        if not settings.PROLIFIC_WORKSPACE and (workers.requires or workers.forbids or workers.grants):
            raise WrongState(
                pgettext(
                    "staff",
                    "Study %(slug)r was not opened: qualifications are groups of a workspace at "
                    "Prolific; set PROLIFIC_WORKSPACE.",
                )
                % {"slug": study.slug}
            )
        if not design.crowd.reward_cents:
            raise WrongState(
                pgettext(
                    "staff",
                    "Study %(slug)r was not opened: crowd.reward_cents is 0; Prolific's people are paid.",
                )
                % {"slug": study.slug}
            )

    def check_at_crowd(self, design: StudyDesign) -> None:
        if not settings.PROLIFIC_TOKEN or not (settings.PROLIFIC_WORKSPACE or needs_the_list(design.workers)):
            return
        with open_client() as client:
            refuse_other_currency(client, design)
            _filters_of(client, design.workers, workspace=settings.PROLIFIC_WORKSPACE)

    def describe_entrance(self, study: Study) -> str:
        return pgettext("staff", "People come from Prolific, whose study leads to %(address)s.") % {
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
                    return _decide(client, call)
                case Ability.BONUS:
                    return _send_bonus(client, call)
                case Ability.BLOCK | Ability.UNBLOCK:
                    return change_group(
                        client, call, name=blocked_group_name(), add=call.kind == Ability.BLOCK
                    )
                case Ability.QUALIFY:
                    name, add = str(call.payload.get("qualification", "")), bool(call.payload.get("value", 1))
                    return change_group(client, call, name=name, add=add)
                case Ability.MESSAGE:
                    return _send_message(client, call)
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
    blocked, needed = _groups_of(client, design, platform=publication.platform)
    studies = list(earlier.values_list("external_id", flat=True))
    # nobody in a blocked group or study sees it, nor anybody outside all groups of a needed qualification
    filters = [
        *_id_filter("participant_group_blocklist", blocked, "participant group"),
        *_id_filter("previous_studies_blocklist", studies, "study"),
    ]
    for groups in needed:
        filters += _id_filter("participant_group_allowlist", groups, "participant group")
    filters += _filters_of(client, design.workers, workspace=settings.PROLIFIC_WORKSPACE)
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


def _groups_of(
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
