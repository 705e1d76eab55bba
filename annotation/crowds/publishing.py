"""Open a study to its crowd, publish its HITs, add slots, and take them down; and the operations at a crowd."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from functools import partial
from typing import Literal, NamedTuple

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from rest_framework import serializers

from annotation.crowds import Ability, CrowdBackend, backend_for, backend_of, outbox
from annotation.crowds.base import CrowdProblem, Refused
from annotation.crowds.outbox import (
    DeliveryResult,
    apply_failure,
    ask_to_take_down,
    call_key,
    carry_out_calls,
    people_by_ids,
    write_message,
)
from annotation.crowds.sync import SYNC, SYNC_LATER, close_if_all_refused, sync_crowd, sync_if_calls_wait
from annotation.models import Budget, CrowdCall, CrowdSession, Publication, Worker, at_crowd
from annotation.money.ledger import as_one_order, budget_of, set_budget
from annotation.money.orders import confirmable
from annotation.quality.rules import copy_rules
from annotation.work.claims import expire_overdue, release_reserved
from annotation.work.joining import find_worker
from annotation.work.seats import take_pause_lock
from common.amounts import counted, spell_cents, thousands
from common.errors import WrongState
from common.parameters import KeysField, Parameters, Reason
from judgments.access.roles import Right, note_event
from judgments.design.requirements import LONGEST_QUALIFICATION, requirements_not_stated
from judgments.design.study_design import StudyDesign
from judgments.jobs import Progress
from judgments.models import Study
from judgments.operations import CommandHelp, FollowUp, Outcome, operation
from judgments.studies.studies import (
    design_of,
    lock_study,
    mark_closed,
    mark_open,
    refuse_absent_quiz,
    refuse_opening,
)

About = Literal["state", "requirements", "quiz", "crowd", "budget"]
LONGEST_HOURS = 8760  # a year, Mechanical Turk's longest lifetime
OPEN_THERE = (Publication.State.PLANNED, Publication.State.PUBLISHED)
PUBLISHED_THERE = (Publication.State.PUBLISHED, Publication.State.EXPIRED)


@as_one_order
def plan_publications(*, study: Study, by: User | None = None, besides: Collection[int | None] = ()) -> int:
    """Write publish messages and reserve their price; return the number of new external HITs.

    Args:
        besides: row ids of HITs to skip; None for the whole study.
    """
    backend = backend_of(study)
    if Ability.PUBLISH not in backend.can:
        return 0
    # a simultaneous opening waits here, and finds the plan
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    design = design_of(study)
    rows = at_crowd(Publication, study)
    up = {*rows.filter(state__in=OPEN_THERE).values_list("hit", flat=True), *besides}
    wanted = [plan for plan in backend.publication_plans(study) if plan.hit not in up and plan.places > 0]
    prices = [backend.price(design, places=plan.places) for plan in wanted]
    screen_out, screen_outs = backend.screen_out_price(design).cents, design.crowd.screen_outs
    sums = [
        plan.places * price.cents + screen_outs * screen_out
        for plan, price in zip(wanted, prices, strict=True)
    ]
    total = sum(sums)
    budget = budget_of(study, study.platform)
    _refuse_beyond(budget, total)
    until = timezone.now() + timedelta(hours=design.crowd.lifetime_hours)
    numbers: dict[int | None, int] = dict(rows.order_by("number").values_list("hit", "number"))
    for plan, price, cents in zip(wanted, prices, sums, strict=True):
        number = numbers.get(plan.hit, 0) + 1
        token = call_key(Ability.PUBLISH, study.platform, study.pk, study.slug, plan.hit, number)
        publication = Publication.objects.create(
            study=study,
            platform=study.platform,
            hit_id=plan.hit,
            number=number,
            token=token,
            places=plan.places,
            reward_cents=price.reward_cents,
            fee_cents=price.fee_cents,
            screen_outs=screen_outs,
            screen_out_cents=screen_out,
            expires_at=until,
        )
        write_message(
            study=study,
            kind=Ability.PUBLISH,
            key=token,
            publication=publication,
            cents=cents,
            by=by,
        )
    if wanted:
        note_event(
            study=study,
            what="publish",
            sentence=f"{'One publication is' if len(wanted) == 1 else f'{len(wanted)} publications are'} planned at "
            f"{study.platform}; {spell_cents(total, budget.currency)} are reserved.",
            by=by,
        )
    return len(wanted)


@transaction.atomic
def ask_to_extend(
    *,
    publication: Publication,
    places: int = 0,
    screen_outs: int = 0,
    until: datetime | None = None,
    by: User | None = None,
    why: str = "",
) -> None:
    if publication.state not in (*PUBLISHED_THERE, Publication.State.FINISHED):
        raise WrongState(
            _("Nothing was changed: publication %(publication)s is %(state)s.")
            % {"publication": publication, "state": publication.get_state_display()}
        )
    if publication.calls.filter(kind=Ability.DELETE).exists():
        raise WrongState(
            _(
                "Nothing was changed: publication %(publication)s is deleted at its crowd; open "
                "the study again to put up another one."
            )
            % {"publication": publication}
        )
    backend_of(publication.study).refuse_places(publication, places)
    reopened = _released_slots(publication) if until or screen_outs else 0
    again = _released_screen_outs(publication)
    number = publication.calls.filter(kind=Ability.EXTEND).count() + 1
    write_message(
        study=publication.study,
        kind=Ability.EXTEND,
        key=call_key(Ability.EXTEND, publication.token, number),
        publication=publication,
        payload={
            "places": places,
            "reopened": reopened,
            "screen_outs": screen_outs,
            "screen_outs_again": again,
            "expires_at": until.isoformat() if until else "",
        },
        cents=(places + reopened) * publication.price_cents
        + (screen_outs + again) * publication.screen_out_cents,
        by=by,
        why=why,
    )


@as_one_order
def offer_longer(*, study: Study, hours: int, by: User | None = None, why: str = "") -> int:
    """Keep all published external HITs open for ``hours`` from now; return their number."""
    if study.state != Study.State.OPEN:
        raise WrongState(
            _("Nothing was changed: study %(slug)r is %(state)s.")
            % {"slug": study.slug, "state": study.get_state_display()}
        )
    until = timezone.now() + timedelta(hours=hours)
    up = at_crowd(Publication, study).filter(state__in=PUBLISHED_THERE)
    publications = list(up.select_related("study"))
    if not publications:
        raise WrongState(
            _("Nothing was changed: nothing of study %(slug)r is up at its crowd.") % {"slug": study.slug}
        )
    for publication in publications:
        ask_to_extend(publication=publication, until=until, by=by, why=why)
    return len(publications)


def _released_slots(publication: Publication) -> int:
    """Return the number of released slots, which reopen with more time."""
    decided = publication.sessions.exclude(booked="").count()
    return max(0, publication.places - publication.held_slots - decided)


def _released_screen_outs(publication: Publication) -> int:
    """Return the number of paid screen-outs whose reservation was released."""
    paid = publication.entries.filter(what="screened-out").count()
    return max(0, publication.screen_outs - publication.screen_outs_held - paid)


@as_one_order
def pay_more_screen_outs(*, study: Study, count: int, by: User | None = None, why: str = "") -> None:
    """Ask to pay ``count`` more people who are screened out; a study that paused for want of them goes on."""
    rows = at_crowd(Publication, study).exclude(screen_out_cents=0)
    up = rows.filter(state__in=(*PUBLISHED_THERE, Publication.State.FINISHED))
    publication = up.select_related("study").last()
    if publication is None or study.state != Study.State.OPEN:
        raise WrongState(
            _(
                "Nothing was changed: study %(slug)r is not open at a crowd that pays people who "
                "are screened out."
            )
            % {"slug": study.slug}
        )
    ask_to_extend(publication=publication, screen_outs=count, by=by, why=why)


@transaction.atomic
def ask_to_expire(*, study: Study, by: User | None = None, for_a_while: bool = False, why: str = "") -> int:
    """Ask to close all external HITs to new workers, ``for_a_while`` until ``offer_again``. Return their number."""
    backend = backend_of(study)
    if Ability.EXPIRE not in backend.can:
        return 0
    _cancel_unsent(study)
    up = list(at_crowd(Publication, study).filter(state=Publication.State.PUBLISHED))
    for publication in up:
        ask_to_take_down(publication=publication, by=by, for_a_while=for_a_while, why=why)
    return len(up)


@as_one_order
def offer_again(*, study: Study, since: datetime, by: User | None = None, why: str = "") -> int:
    """Reopen what was taken down since then, and publish what was held back. Return the number."""
    backend = backend_of(study)
    if Ability.EXTEND not in backend.can:
        return plan_publications(study=study, by=by)
    until = timezone.now() + timedelta(hours=design_of(study).crowd.lifetime_hours)
    down = (
        at_crowd(Publication, study)
        .filter(
            state__in=PUBLISHED_THERE,
            calls__kind=Ability.EXPIRE,
            calls__payload__pause=True,
            calls__made_at__gte=since,
        )
        .distinct()
    )
    publications = list(down.select_related("study").order_by("pk"))
    for publication in publications:
        ask_to_extend(publication=publication, until=until, by=by, why=why)
    reopened = {publication.hit_id for publication in publications}
    return len(publications) + plan_publications(study=study, by=by, besides=reopened)


def _cancel_unsent(study: Study) -> None:
    """Cancel publish messages that were certainly not sent."""
    never = at_crowd(CrowdCall, study).filter(
        kind=Ability.PUBLISH,
        state=CrowdCall.State.WAITING,
        first_started_at=None,
    )
    for call in never.select_related("publication", "study").order_by("pk"):
        if never.filter(pk=call.pk).update(
            state=CrowdCall.State.DROPPED, problem="The study was closed before it was put up."
        ):
            apply_failure(call)


def open_study(*, study: Study, by: User | None = None, progress: Progress | None = None) -> str:
    """Open the study, send its outbox messages, and return where workers go."""
    look_ahead(study=study)
    entrance = begin_opening(study=study, by=by)
    return f"{entrance} {carry_out_opening(study=study, progress=progress)}".rstrip()


def carry_out_opening(*, study: Study, progress: Progress | None = None) -> str:
    """Send the messages of opening; return a sentence about what is left, or ""."""
    carried = carry_out_calls(study=study, progress=progress)
    if carried.stopped:
        raise WrongState(
            _("Study %(slug)r is open, but its crowd stopped at %(done)s publications: %(stopped)s")
            % {"slug": study.slug, "done": carried.done, "stopped": carried.stopped}
        )
    if refused := close_if_all_refused(study):
        raise WrongState(refused)
    return unfinished_calls(study, carried)


def unfinished_calls(study: Study, carried: DeliveryResult) -> str:
    refused = f"{carried.parked} calls were refused and wait to be looked at." if carried.parked else ""
    later = f"{carried.waiting} calls go on later." if carried.waiting else ""
    return f"{refused} {later}".strip()


def look_ahead(*, study: Study) -> None:
    """Ask the crowd whether it can state the design, before a transaction opens the study."""
    design = design_of(study)
    try:
        backend_for(design).check_at_crowd(design)
    except Refused as problem:
        raise WrongState(
            _("Study %(slug)r was not opened. %(problem)s") % {"slug": study.slug, "problem": problem}
        ) from problem
    except CrowdProblem:
        return  # the crowd is away: the message to publish asks again


@as_one_order
def begin_opening(*, study: Study, by: User | None = None) -> str:
    """Open the study here and write the messages for its crowd. Reopening publishes what is missing."""
    design = design_of(study)
    _refuse_unstated(study, design)
    backend = backend_for(design)
    _refuse_simulated(study)
    backend.refuse(study, design)
    lock_study(study)  # who pressed at the same moment may have opened it
    was = study.state
    mark_open(study=study)
    _bind_to_platform(study, backend)
    copy_rules(study=study)
    plan_publications(study=study, by=by)
    where = backend.describe_entrance(study)
    if was != Study.State.OPEN:
        suffix = "" if study.platform == "local" else f" at {study.platform}"
        note_event(study=study, what="opened", sentence=f"Opened{suffix}. {where}", by=by)
    return where


class Obstacle(NamedTuple):
    about: About
    sentence: str


def obstacles(study: Study, *, cents: int) -> list[Obstacle]:
    """Return why the study cannot be opened, in the sentences with which ``begin_opening`` refuses.

    The crowd itself is asked only on opening.

    Args:
        cents: its cost with fees.
    """
    design = design_of(study)
    backend = backend_for(design)
    checks: list[tuple[About, Callable[[], None]]] = [
        ("state", partial(refuse_opening, study=study)),
        ("crowd", partial(_refuse_simulated, study)),
        ("requirements", partial(_refuse_unstated, study, design)),
        ("quiz", partial(refuse_absent_quiz, study=study)),
    ]
    if study.state != Study.State.DRAFT:  # these look at the HITs
        checks += [
            ("crowd", partial(backend.refuse, study, design)),
            ("crowd", partial(_refuse_another_platform, study, backend.platform(design))),
        ]
        if Ability.PUBLISH in backend.can and not study.publications.exists():
            # the budget as opening would make it
            first = Budget(study=study, currency=design.currency, budget_cents=design.crowd.budget_cents)
            budget = at_crowd(Budget, study).first() if study.platform else None
            checks.append(("budget", partial(_refuse_beyond, budget or first, cents)))
    reasons = []
    for about, check in checks:
        try:
            check()
        except WrongState as problem:
            reasons.append(Obstacle(about, str(problem)))
    return reasons


def _refuse_unstated(study: Study, design: StudyDesign) -> None:
    unsaid = requirements_not_stated(design.workers, design.crowd_name)
    if unsaid:
        raise WrongState(
            _(
                "Study %(slug)r asks for workers with %(unsaid)s, which the crowd %(backend)r can "
                "neither state nor check; change its requirements or its crowd."
            )
            % {"slug": study.slug, "unsaid": unsaid[0], "backend": design.crowd.backend}
        )


def _refuse_simulated(study: Study) -> None:
    if study.simulated:
        raise WrongState(
            _("Study %(slug)r holds the rehearsal crowd's answers; duplicate it and open the copy to people.")
            % {"slug": study.slug}
        )


def _refuse_another_platform(study: Study, platform: str) -> None:
    if study.platform and study.platform != platform:
        raise WrongState(
            _(
                "Study %(slug)r belongs to %(place)s and cannot be opened at %(place_2)s; "
                "duplicate it for that."
            )
            % {"slug": study.slug, "place": study.platform, "place_2": platform}
        )


def _refuse_beyond(budget: Budget, cents: int) -> None:
    if cents > budget.left_cents:
        raise WrongState(
            _(
                "Nothing was published: study %(slug)r costs %(cents)s with fees, and of its "
                "budget (%(budget_cents)s) %(left_cents)s are left."
            )
            % {
                "slug": budget.study.slug,
                "cents": spell_cents(cents, budget.currency),
                "budget_cents": spell_cents(budget.budget_cents, budget.currency),
                "left_cents": spell_cents(budget.left_cents, budget.currency),
            }
        )


def _bind_to_platform(study: Study, backend: CrowdBackend) -> None:
    """Bind the study to its place for good: people and money of two places never mix."""
    design = design_of(study)
    platform = backend.platform(design)
    _refuse_another_platform(study, platform)
    if not study.platform:
        study.platform = platform
        study.save(update_fields=["platform"])
        if design.crowd.budget_cents and backend.sends_people:
            budget_of(study, platform)
            set_budget(study=study, platform=platform, cents=design.crowd.budget_cents)


def close_study(*, study: Study, by: User | None = None, progress: Progress | None = None) -> None:
    """Close the study here and at the crowd; who holds a lease may still submit."""
    begin_closing(study=study, by=by)
    carry_out_calls(study=study, progress=progress)


@transaction.atomic
def begin_closing(*, study: Study, by: User | None = None) -> None:
    """Close the study here and write the messages for its crowd."""
    take_pause_lock(study)
    lock_study(study)  # who pressed at the same moment may have closed it
    was = study.state
    mark_closed(study=study)
    ask_to_expire(study=study, by=by)
    expire_overdue(study=study)
    release_reserved(study=study)
    if was != Study.State.CLOSED:
        note_event(study=study, what="closed", sentence="Closed to new workers.", by=by)


def _ask_now(study: Study) -> str:
    carried = carry_out_calls(study=study)
    return f"{carried.stopped} {unfinished_calls(study, carried)}".strip()


ASK_THE_CROWD = FollowUp(now=_ask_now, later=sync_if_calls_wait)


Doubt = Callable[[Study, User | None], str]
DOUBTS: list[Doubt] = []


def add_doubt(doubt: Doubt) -> None:
    """Add what returns a sentence about why a study should not be opened, or ""; who insists opens it all the same."""
    DOUBTS.append(doubt)


class OpenRequest(Parameters):
    anyway = serializers.BooleanField(
        default=False, help_text="Open it though the checklist has a doubtful point."
    )


@operation(
    "open",
    "Let workers in",
    parameters=OpenRequest,
    orders=True,
    then=FollowUp(now=lambda study: carry_out_opening(study=study), later=sync_if_calls_wait),
    command=CommandHelp("Let workers into a study.", "triplets-50"),
)
def open_to_workers(*, study: Study, by: User | None, anyway: bool = False) -> Outcome:
    """Publish the study to its crowd; twice is harmless."""
    doubts = [] if anyway or study.state != Study.State.GENERATED else [doubt(study, by) for doubt in DOUBTS]
    if sentence := " ".join(filter(None, doubts)):
        raise WrongState(
            _("Study %(slug)r was not opened. %(problem)s Open it “anyway” if you mean it.")
            % {"slug": study.slug, "problem": sentence}
        )
    look_ahead(study=study)
    return _open(study=study, by=by)


@confirmable("open")
def _open(*, study: Study, by: User | None) -> Outcome:
    return Outcome(begin_opening(study=study, by=by))


@operation(
    "close",
    "Offer no more work",
    then=ASK_THE_CROWD,
    command=CommandHelp("Offer no more work of a study.", "triplets-50"),
)
def close(*, study: Study, by: User | None) -> Outcome:
    """Offer no more work. Workers who hold a HIT may still submit it; twice is harmless."""
    begin_closing(study=study, by=by)
    return Outcome(_("The study is closed; who holds a HIT may still submit it."))


@operation("sync-crowd", "Compare with the crowd", job=SYNC)
def sync(*, study: Study, by: User | None, thorough: bool = False) -> Outcome:
    """Send what waits for the crowd, take over submitted work, and report differences."""
    synced = sync_crowd(study=study, thorough=thorough)
    odd = len(synced.discrepancies)
    event = (
        f"Compared with the crowd: {counted(synced.hits, 'HIT')} there, "
        f"{counted(odd, 'thing')} {'does' if odd == 1 else 'do'} not fit."
    )
    note_event(study=study, what="sync-crowd", sentence=event, by=by)
    there = ngettext("one HIT", "%(n)s HITs", synced.hits) % {"n": thousands(synced.hits)}
    message = ngettext(
        "Compared with the crowd: %(there)s there, one thing does not fit.",
        "Compared with the crowd: %(there)s there, %(n)s things do not fit.",
        odd,
    )
    return Outcome(message % {"there": there, "n": thousands(odd)}, synced)


MOST_IDS = 1_000  # some seconds, in which nobody else writes to SQLite
WORKERS = {"list": "crowd-workers"}  # the id of the page's list of names


class BlockRequest(Parameters):
    worker = serializers.CharField(max_length=80, style=WORKERS)
    why = serializers.CharField(
        max_length=500,
        error_messages=dict.fromkeys(("required", "blank"), "A block needs a reason; the crowd may ask."),
    )


@operation(
    "block-worker",
    "Block a worker",
    parameters=BlockRequest,
    right=Right.REVIEW,
    scope="workers",
    then=SYNC_LATER,
)
def block(*, study: Study, by: User | None, worker: str, why: str) -> Outcome:
    """Ask the crowd to keep a worker away from all work of this account, now and later."""
    person = find_worker(study, worker)
    outbox.ask_to_block(study=study, worker=person, why=why, by=by)
    return Outcome(_("The crowd is asked to keep %(found)s away from all your work.") % {"found": person})


class UnblockRequest(Parameters):
    worker = serializers.CharField(max_length=80, style=WORKERS)
    why = serializers.CharField(max_length=500, required=False, allow_blank=True)


@operation(
    "unblock-worker",
    "Take a block back",
    parameters=UnblockRequest,
    right=Right.REVIEW,
    scope="workers",
    then=SYNC_LATER,
)
def unblock(*, study: Study, by: User | None, worker: str, why: str = "") -> Outcome:
    """Ask the crowd to let a blocked worker come again."""
    person = find_worker(study, worker)
    outbox.ask_to_unblock(study=study, worker=person, why=why, by=by)
    return Outcome(_("The crowd is asked to let %(found)s come again.") % {"found": person})


class QualifyRequest(Parameters):
    """People, and a qualification's name, which studies require or forbid (``workers.requires``, ``forbids``)."""

    one_of = (("worker", "ids"),)

    worker = serializers.CharField(max_length=80, required=False, style=WORKERS)
    ids = KeysField(
        max_length=MOST_IDS,
        required=False,
        label="Or ids at the crowd",
        help_text="One a line; also of people who never came.",
    )
    qualification = serializers.CharField(max_length=LONGEST_QUALIFICATION)
    value = serializers.IntegerField(
        min_value=0, max_value=999_999_999, initial=1, default=1, help_text="0 takes it away."
    )


@operation(
    "qualify-worker",
    "Give a qualification",
    parameters=QualifyRequest,
    scope="workers",
    then=SYNC_LATER,
)
def qualify(
    *,
    study: Study,
    by: User | None,
    qualification: str,
    value: int,
    worker: str = "",
    ids: Collection[str] = (),
) -> Outcome:
    """Give people a qualification, here and at their crowd. Studies require or forbid it by its name."""
    people = [find_worker(study, worker)] if worker else people_by_ids(study=study, ids=ids)
    outbox.give_qualification(study=study, workers=people, name=qualification, value=value, by=by)
    who = str(people[0]) if len(people) == 1 else _("%(n)s people") % {"n": len(people)}
    message = (
        _("%(who)s got the qualification %(name)s.")
        if value
        else _("%(who)s lost the qualification %(name)s.")
    )
    return Outcome(message % {"who": who, "name": qualification})


class ScreenOutsRequest(Reason):
    count = serializers.IntegerField(min_value=1, max_value=100_000, label="More paid screen-outs")


@operation(
    "more-screen-outs",
    "Pay more people who are screened out",
    parameters=ScreenOutsRequest,
    orders=True,
    then=SYNC_LATER,
)
@confirmable("more-screen-outs")
def more_screen_outs(*, study: Study, by: User | None, why: str, count: int) -> Outcome:
    pay_more_screen_outs(study=study, count=count, by=by, why=why)
    message = ngettext(
        "One more person who is screened out will be paid.",
        "%(n)s more people who are screened out will be paid.",
        count,
    )
    return Outcome(message % {"n": count})


class MessageRequest(Parameters):
    """A message to one worker, or to all whose work was decided on."""

    worker = serializers.CharField(max_length=80, required=False, allow_blank=True, style=WORKERS)
    subject = serializers.CharField(max_length=outbox.LONGEST_SUBJECT)
    text = serializers.CharField(max_length=outbox.LONGEST_MESSAGE, style={"base_template": "textarea.html"})


@operation(
    "write-workers",
    "Write to workers",
    parameters=MessageRequest,
    right=Right.REVIEW,
    scope="workers",
    then=SYNC_LATER,
)
def write(*, study: Study, by: User | None, subject: str, text: str, worker: str = "") -> Outcome:
    """Write to workers whose work was approved or rejected. A crowd lets nobody write to strangers."""
    if worker:
        people = [find_worker(study, worker)]
    else:
        decided = at_crowd(CrowdSession, study).filter(status__in=["approved", "rejected"])
        people = list(Worker.objects.filter(crowd_sessions__in=decided).distinct())
    if not people:
        raise WrongState(
            _("Nothing was sent: only workers whose work was approved or rejected can be written to.")
        )
    calls = outbox.ask_to_write(study=study, workers=people, subject=subject, text=text, by=by)
    message = ngettext("One message is on its way.", "%(n)s messages are on their way.", len(calls))
    return Outcome(message % {"n": len(calls)})
