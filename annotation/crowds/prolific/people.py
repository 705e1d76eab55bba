"""Decisions, bonuses, messages and groups at Prolific, and a design's requirements as its filters.

Ids of a filter's answers are undocumented, so names are looked up in Prolific's list of filters; one that is missing
there is refused before anything is made.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.crowds.base import Ability, CrowdProblem, Refused, TryLater, Unsure
from annotation.crowds.people import installation_word
from annotation.crowds.prolific.client import (
    SHORTEST_REJECTION,
    ListedFilter,
    ProlificClient,
    Submission,
    SubmissionState,
)
from annotation.models import CrowdCall, CrowdSession
from judgments.countries import COUNTRIES
from judgments.design.panels import session_parameter, worker_parameter
from judgments.design.requirements import Workers
from judgments.design.study_design import StudyDesign
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


def decide(client: ProlificClient, call: CrowdCall) -> dict[str, Any]:
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


def send_bonus(client: ProlificClient, call: CrowdCall) -> dict[str, Any]:
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


def send_message(client: ProlificClient, call: CrowdCall) -> dict[str, Any]:
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


def filters_of(client: ProlificClient, workers: Workers, *, workspace: str) -> list[Filter]:
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
