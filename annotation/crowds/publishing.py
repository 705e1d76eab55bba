"""Publish the HITs of a study at its crowd, add places, extend their time, and close them.

An external HIT is an offer of work at the crowd: one HIT at Mechanical Turk, or the whole study at a panel. A
screen-out is a payment to somebody who is screened out. All functions only write outbox messages and reserve their
cost; ``outbox.delivery`` sends the messages. What a function under ``commit_as_one_order`` reserves is compared with
the spending limits as one sum.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import NamedTuple

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.crowds import Ability, backend_of
from annotation.crowds.base import HITPlan, Price
from annotation.crowds.outbox.effects import apply_failure
from annotation.crowds.outbox.messages import ask_to_take_down, call_key, write_message
from annotation.models import Budget, CrowdCall, Publication, at_crowd
from annotation.money.ledger import budget_of
from annotation.money.limits import commit_as_one_order
from common.amounts import spell_cents
from common.errors import WrongState
from judgments.access.study_log import note_event
from judgments.models import Study
from judgments.studies.designs import design_of

MAX_HOURS = 8760  # a year, the longest lifetime of a HIT at Mechanical Turk
# states of external HITs that new workers can accept, now or once they are published
OPEN_STATES = (Publication.State.PLANNED, Publication.State.PUBLISHED)
# states of external HITs that exist at the crowd, with places that may be filled
PUBLISHED_STATES = (Publication.State.PUBLISHED, Publication.State.EXPIRED)


class _PricedPlan(NamedTuple):
    """An external HIT to publish, the price of one of its places, and the cost of the whole publication."""

    plan: HITPlan
    price: Price
    cents: int


@commit_as_one_order
def plan_publications(*, study: Study, by: User | None = None, skip_hits: Collection[int | None] = ()) -> int:
    """Write a publish message for each external HIT that is not open yet, and reserve its price.

    Return the number of new external HITs.

    Args:
        skip_hits: row ids of HITs to leave out, in addition to those that are open. None stands for the
            whole study, which a panel gets as one external HIT.
    """
    backend = backend_of(study)
    if Ability.PUBLISH not in backend.can:
        return 0
    # a simultaneous opening waits for this lock, and then finds the messages
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    design = design_of(study)
    publications = at_crowd(Publication, study)
    open_hits = publications.filter(state__in=OPEN_STATES).values_list("hit", flat=True)
    skipped_hits = {*open_hits, *skip_hits}
    screen_out_cents, screen_outs = backend.screen_out_price(design).cents, design.crowd.screen_outs
    priced_plans = []
    for plan in backend.publication_plans(study):
        if plan.hit not in skipped_hits and plan.places > 0:
            price = backend.price(design, places=plan.places)
            cents = plan.places * price.cents + screen_outs * screen_out_cents
            priced_plans.append(_PricedPlan(plan, price, cents))
    total_cents = sum(priced_plan.cents for priced_plan in priced_plans)
    budget = budget_of(study, study.platform)
    refuse_beyond_budget(budget, total_cents)
    expires_at = timezone.now() + timedelta(hours=design.crowd.lifetime_hours)
    # the number of the last publication of each HIT, since later rows of a HIT replace earlier ones in the dict
    last_numbers: dict[int | None, int] = dict(publications.order_by("number").values_list("hit", "number"))
    for plan, price, cents in priced_plans:
        number = last_numbers.get(plan.hit, 0) + 1
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
            screen_out_cents=screen_out_cents,
            expires_at=expires_at,
        )
        write_message(
            study=study, kind=Ability.PUBLISH, key=token, publication=publication, cents=cents, by=by
        )
    count = len(priced_plans)
    if count:
        publications_are = "One publication is" if count == 1 else f"{count} publications are"
        amount = spell_cents(total_cents, budget.currency)
        message = f"{publications_are} planned at {study.platform}; {amount} is reserved."
        note_event(study=study, what="publish", sentence=message, by=by)
    return count


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
    """Write a message that adds places, screen-outs or time to an external HIT, and reserve their cost.

    Places and screen-outs whose money was released are opened again, and reserved again.
    """
    if publication.state not in (*PUBLISHED_STATES, Publication.State.FINISHED):
        raise WrongState(
            _("Nothing was changed: publication %(publication)s is %(state)s.")
            % {"publication": publication, "state": publication.get_state_display()}
        )
    if publication.calls.filter(kind=Ability.DELETE).exists():
        raise WrongState(
            _(
                "Nothing was changed: publication %(publication)s was deleted at its crowd. To publish another "
                "one, open the study again."
            )
            % {"publication": publication}
        )
    backend_of(publication.study).refuse_places(publication, places)
    # More time, or the end of a pause for lack of screen-outs, lets people take released places again. People can be
    # screened out again after every extension.
    reopened_places = _count_released_places(publication) if until or screen_outs else 0
    reopened_screen_outs = _count_released_screen_outs(publication)
    number = publication.calls.filter(kind=Ability.EXTEND).count() + 1
    places_cents = (places + reopened_places) * publication.price_cents
    screen_out_cents = (screen_outs + reopened_screen_outs) * publication.screen_out_cents
    write_message(
        study=publication.study,
        kind=Ability.EXTEND,
        key=call_key(Ability.EXTEND, publication.token, number),
        publication=publication,
        payload={
            "places": places,
            "reopened": reopened_places,
            "screen_outs": screen_outs,
            "screen_outs_again": reopened_screen_outs,
            "expires_at": until.isoformat() if until else "",
        },
        cents=places_cents + screen_out_cents,
        by=by,
        why=why,
    )


@commit_as_one_order
def extend_publications(*, study: Study, hours: int, by: User | None = None, why: str = "") -> int:
    """Keep all published external HITs open until ``hours`` from now; return their number."""
    if study.state != Study.State.OPEN:
        raise WrongState(
            _("Nothing was changed: study %(slug)r is %(state)s.")
            % {"slug": study.slug, "state": study.get_state_display()}
        )
    expires_at = timezone.now() + timedelta(hours=hours)
    published_rows = at_crowd(Publication, study).filter(state__in=PUBLISHED_STATES)
    publications = list(published_rows.select_related("study"))
    if not publications:
        raise WrongState(
            _("Nothing was changed: study %(slug)r has no published work at its crowd.")
            % {"slug": study.slug}
        )
    for publication in publications:
        ask_to_extend(publication=publication, until=expires_at, by=by, why=why)
    return len(publications)


def _count_released_places(publication: Publication) -> int:
    """Return the number of places whose reservation was released before a session was paid or rejected.

    An extension opens these places again.
    """
    decided_count = publication.sessions.exclude(booked="").count()
    return max(0, publication.places - publication.held_slots - decided_count)


def _count_released_screen_outs(publication: Publication) -> int:
    """Return the number of screen-outs whose reservation was released although none was paid."""
    paid_count = publication.entries.filter(what="screened-out").count()
    return max(0, publication.screen_outs - publication.screen_outs_held - paid_count)


@commit_as_one_order
def pay_more_screen_outs(*, study: Study, count: int, by: User | None = None, why: str = "") -> None:
    """Write a message to pay for ``count`` more screen-outs. If the study paused for lack of them, it resumes."""
    publications = at_crowd(Publication, study).exclude(screen_out_cents=0)
    publications = publications.filter(state__in=(*PUBLISHED_STATES, Publication.State.FINISHED))
    publication = publications.select_related("study").last()
    if publication is None or study.state != Study.State.OPEN:
        raise WrongState(
            _(
                "Nothing was changed: study %(slug)r is not open at a crowd that pays screened-out "
                "participants."
            )
            % {"slug": study.slug}
        )
    ask_to_extend(publication=publication, screen_outs=count, by=by, why=why)


@transaction.atomic
def ask_to_expire(*, study: Study, by: User | None = None, is_pause: bool = False, why: str = "") -> int:
    """Write messages that close all external HITs to new workers; return their number.

    If ``is_pause``, ``reopen_publications`` can reopen them.
    """
    backend = backend_of(study)
    if Ability.EXPIRE not in backend.can:
        return 0
    _cancel_unsent(study)
    publications = list(at_crowd(Publication, study).filter(state=Publication.State.PUBLISHED))
    for publication in publications:
        ask_to_take_down(publication=publication, by=by, is_pause=is_pause, why=why)
    return len(publications)


@commit_as_one_order
def reopen_publications(*, study: Study, since: datetime, by: User | None = None, why: str = "") -> int:
    """Reopen external HITs that were paused at or after ``since``, and publish those that are not open.

    Return their number.
    """
    backend = backend_of(study)
    if Ability.EXTEND not in backend.can:
        return plan_publications(study=study, by=by)
    expires_at = timezone.now() + timedelta(hours=design_of(study).crowd.lifetime_hours)
    paused_rows = (
        at_crowd(Publication, study)
        .filter(
            state__in=PUBLISHED_STATES,
            calls__kind=Ability.EXPIRE,
            calls__payload__pause=True,
            calls__made_at__gte=since,
        )
        .distinct()
    )
    publications = list(paused_rows.select_related("study").order_by("pk"))
    for publication in publications:
        ask_to_extend(publication=publication, until=expires_at, by=by, why=why)
    reopened_hits = {publication.hit_id for publication in publications}
    return len(publications) + plan_publications(study=study, by=by, skip_hits=reopened_hits)


def _cancel_unsent(study: Study) -> None:
    """Cancel publish messages that were certainly never sent, and release their reservations."""
    unsent_calls = at_crowd(CrowdCall, study).filter(
        kind=Ability.PUBLISH, state=CrowdCall.State.WAITING, first_started_at=None
    )
    for call in unsent_calls.select_related("publication", "study").order_by("pk"):
        # a guarded update: it changes nothing if a runner has just started the call
        is_cancelled = unsent_calls.filter(pk=call.pk).update(
            state=CrowdCall.State.DROPPED, problem="The study was closed before it was published."
        )
        if is_cancelled:
            apply_failure(call)


def refuse_beyond_budget(budget: Budget, cents: int) -> None:
    """Raise WrongState if publishing costs more than is left of the budget."""
    if cents > budget.left_cents:
        raise WrongState(
            _(
                "Nothing was published: study %(slug)r costs %(cents)s with fees, but only %(left_cents)s of its "
                "budget of %(budget_cents)s is left."
            )
            % {
                "slug": budget.study.slug,
                "cents": spell_cents(cents, budget.currency),
                "budget_cents": spell_cents(budget.budget_cents, budget.currency),
                "left_cents": spell_cents(budget.left_cents, budget.currency),
            }
        )
