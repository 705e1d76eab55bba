"""Open and close a study at its crowd, and list the obstacles to opening.

Each happens in two steps. ``begin_opening`` or ``begin_closing`` changes rows and writes outbox messages in one
transaction. Then ``carry_out_opening`` or ``carry_out_calls`` sends the messages to the crowd.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal, NamedTuple

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _

from annotation.crowds import Ability, CrowdBackend, backend_for
from annotation.crowds.base import CrowdProblem, CrowdRefusal
from annotation.crowds.outbox.delivery import DeliveryResult, carry_out_calls
from annotation.crowds.publishing import ask_to_expire, plan_publications, refuse_beyond_budget
from annotation.crowds.sync.endings import close_if_all_refused
from annotation.crowds.sync.schedule import queue_sync_if_calls_wait
from annotation.models import Budget, at_crowd
from annotation.money.ledger import set_budget
from annotation.money.limits import commit_as_one_order
from annotation.quality.rules import copy_rules
from annotation.work.seats import take_pause_lock
from annotation.work.slots.release import expire_overdue, release_reserved
from common.errors import WrongState
from judgments.access.study_log import note_event
from judgments.design.requirements import unsupported_requirements
from judgments.design.study_design import StudyDesign
from judgments.jobs.runs import Progress
from judgments.models import Study
from judgments.operations import FollowUp
from judgments.studies.designs import design_of
from judgments.studies.studies import lock_study, mark_closed, mark_open, refuse_absent_quiz, refuse_opening

ObstacleTopic = Literal["state", "requirements", "quiz", "crowd", "budget"]

# returns why the study should not be opened by the account yet, or ""
OpeningCheck = Callable[[Study, User | None], str]
OPENING_CHECKS: list[OpeningCheck] = []  # filled by features, with ``add_opening_warning``


def open_study(*, study: Study, by: User | None = None, progress: Progress | None = None) -> str:
    """Open the study, send its outbox messages, and return a sentence about where workers enter."""
    check_design_at_crowd(study=study)
    entrance = begin_opening(study=study, by=by)
    return f"{entrance} {carry_out_opening(study=study, progress=progress)}".rstrip()


def carry_out_opening(*, study: Study, progress: Progress | None = None) -> str:
    """Send the outbox messages of opening. Return a sentence about calls that are not finished, or "".

    Raises:
        WrongState: the crowd stopped, or refused all publications.
    """
    delivery = carry_out_calls(study=study, progress=progress)
    if delivery.stop_reason:
        raise WrongState(
            _(
                "Study %(slug)r is open, but not all of its work is published. Publishing stopped. Requests that "
                "the crowd had carried out by then: %(done)s. %(stopped)s"
            )
            % {"slug": study.slug, "done": delivery.done_count, "stopped": delivery.stop_reason}
        )
    if refusal := close_if_all_refused(study):
        raise WrongState(refusal)
    return describe_unfinished_calls(delivery)


def describe_unfinished_calls(delivery: DeliveryResult) -> str:
    """Return a sentence about failed calls and a sentence about calls that are sent later; "" if there are none."""
    failed_sentence = (
        f"{delivery.failed_count} calls were refused and wait to be looked at."
        if delivery.failed_count
        else ""
    )
    unsent_sentence = f"{delivery.unsent_count} calls go on later." if delivery.unsent_count else ""
    return f"{failed_sentence} {unsent_sentence}".strip()


def check_design_at_crowd(*, study: Study) -> None:
    """Raise WrongState if the crowd does not support the design.

    The crowd is asked, so call this function outside the transaction that opens the study.
    """
    design = design_of(study)
    try:
        backend_for(design).check_at_crowd(design)
    except CrowdRefusal as problem:
        raise WrongState(
            _("Study %(slug)r was not opened. %(problem)s") % {"slug": study.slug, "problem": problem}
        ) from problem
    except CrowdProblem:
        return  # the crowd does not respond: publishing asks again


@commit_as_one_order
def begin_opening(*, study: Study, by: User | None = None) -> str:
    """Open the study and write the messages for its crowd; return the sentence about where workers enter.

    If the study was opened before, HITs that are not open at the crowd are published. All that is reserved counts as
    one order when it is compared with the spending limits.
    """
    design = design_of(study)
    _refuse_unsupported_requirements(study, design)
    backend = backend_for(design)
    _refuse_simulated(study)
    backend.refuse(study, design)
    lock_study(study)  # another person may have just opened it
    previous_state = study.state
    mark_open(study=study)
    _bind_to_platform(study, backend)
    copy_rules(study=study)  # the design's detectors
    plan_publications(study=study, by=by)
    entrance = backend.describe_entrance(study)
    if previous_state != Study.State.OPEN:
        suffix = "" if study.platform == "local" else f" at {study.platform}"
        note_event(study=study, what="opened", sentence=f"Opened{suffix}. {entrance}", by=by)
    return entrance


class Obstacle(NamedTuple):
    """A reason why a study cannot be opened, and what it is about."""

    topic: ObstacleTopic
    sentence: str


def obstacles(study: Study, *, cents: int) -> list[Obstacle]:
    """Return the obstacles to opening, with the sentences of the errors that ``begin_opening`` raises.

    The crowd itself is asked only when the study is opened.

    Args:
        cents: the cost of the study, with fees.
    """
    design = design_of(study)
    backend = backend_for(design)
    # functions that raise WrongState if there is an obstacle, each with the obstacle's topic
    checks: list[tuple[ObstacleTopic, Callable[[], None]]] = [
        ("state", partial(refuse_opening, study=study)),
        ("crowd", partial(_refuse_simulated, study)),
        ("requirements", partial(_refuse_unsupported_requirements, study, design)),
        ("quiz", partial(refuse_absent_quiz, study=study)),
    ]
    if study.state != Study.State.DRAFT:  # a draft has no HITs to check or to pay for, and no platform
        checks += [
            ("crowd", partial(backend.refuse, study, design)),
            ("crowd", partial(_refuse_another_platform, study, backend.platform(design))),
        ]
        # after the first publication, the budget has reserved a part of the cost already
        if Ability.PUBLISH in backend.can and not study.publications.exists():
            stored_budget = at_crowd(Budget, study).first() if study.platform else None
            # if no budget is stored, opening will create this one
            new_budget = Budget(study=study, currency=design.currency, budget_cents=design.crowd.budget_cents)
            checks.append(("budget", partial(refuse_beyond_budget, stored_budget or new_budget, cents)))
    topics: dict[str, ObstacleTopic] = {}  # by sentence, since two checks may give the same reason
    for topic, check in checks:
        try:
            check()
        except WrongState as problem:
            topics.setdefault(str(problem), topic)
    return [Obstacle(topic, sentence) for sentence, topic in topics.items()]


def _refuse_unsupported_requirements(study: Study, design: StudyDesign) -> None:
    requirements = unsupported_requirements(design.workers, design.crowd_name)
    if requirements:
        raise WrongState(
            _(
                "Study %(slug)r requires participants with %(unsaid)s. The crowd %(backend)r does not support "
                "this requirement. Change the requirements of the study, or its crowd."
            )
            % {"slug": study.slug, "unsaid": requirements[0], "backend": design.crowd.backend}
        )


def _refuse_simulated(study: Study) -> None:
    if study.simulated:
        raise WrongState(
            _(
                "Study %(slug)r contains answers of the rehearsal crowd. Duplicate it, and open the copy to people."
            )
            % {"slug": study.slug}
        )


def _refuse_another_platform(study: Study, platform: str) -> None:
    if study.platform and study.platform != platform:
        raise WrongState(
            _(
                "Study %(slug)r was first opened at %(place)s, so it cannot be opened at "
                "%(place_2)s. Duplicate the study, and open the copy there."
            )
            % {"slug": study.slug, "place": study.platform, "place_2": platform}
        )


def _bind_to_platform(study: Study, backend: CrowdBackend) -> None:
    """Bind the study to its platform permanently, so that people and money of two platforms are never mixed."""
    design = design_of(study)
    platform = backend.platform(design)
    _refuse_another_platform(study, platform)
    if not study.platform:
        study.platform = platform
        study.save(update_fields=["platform"])
        if design.crowd.budget_cents and backend.sends_people:
            set_budget(study=study, platform=platform, cents=design.crowd.budget_cents)


def close_study(*, study: Study, by: User | None = None, progress: Progress | None = None) -> None:
    """Close the study here and at its crowd. Workers who hold a lease may still submit."""
    begin_closing(study=study, by=by)
    carry_out_calls(study=study, progress=progress)


@transaction.atomic
def begin_closing(*, study: Study, by: User | None = None) -> None:
    """Close the study and write the messages for its crowd."""
    take_pause_lock(study)  # first, to wait until no transaction is giving out work
    lock_study(study)  # another person may have just closed it
    previous_state = study.state
    mark_closed(study=study)
    ask_to_expire(study=study, by=by)
    expire_overdue(study=study)
    release_reserved(study=study)  # HITs that participants' pages loaded in advance; no money is released
    if previous_state != Study.State.CLOSED:
        note_event(study=study, what="closed", sentence="Closed to new participants.", by=by)


def _carry_out_now(study: Study) -> str:
    """Send the study's outbox messages. Return sentences about what is not finished, or ""."""
    delivery = carry_out_calls(study=study)
    return f"{delivery.stop_reason} {describe_unfinished_calls(delivery)}".strip()


# what follows an operation that writes outbox messages: a command sends them at once, other callers start a job
ASK_THE_CROWD = FollowUp(carry_out=_carry_out_now, enqueue=queue_sync_if_calls_wait)


def add_opening_warning(check: OpeningCheck) -> None:
    """Register a check that returns why a study should not be opened yet, or "". A person can override it.

    ``contrib.rehearsals`` warns if a rehearsal found that the study has little power.
    """
    OPENING_CHECKS.append(check)
