"""Change a running study: pause and resume it, add workers or time, end slots and leases, reopen units, invite.

The design of a running study cannot change, so additions are stored in the HITs and in the study's log. A HIT (page of
work) counts its slots, the places for workers, in four fields: ``required`` is the number of all slots, ``extra`` of
those that the design does not have, ``open_slots`` of those that are offered now, and ``spared`` of those that are not
offered because early stopping needs no answers of them, or because staff closed them. The other slots are taken.

The first half of the module has the changes, which other modules also call. In the second half, operations make them
available to people: they add parameters, a command, a sentence about the result, and the follow-up that asks the crowd.
Changes that can cost money are orders: ``commit_as_one_order`` rolls back a change that exceeds the budget or a limit;
``with_confirmation`` makes a change wait for a second person if it is too expensive for one.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta
from math import ceil
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from rest_framework import serializers

from annotation.crowds import Ability, backend_of
from annotation.crowds.opening import ASK_THE_CROWD
from annotation.crowds.outbox.messages import ask_to_take_down
from annotation.crowds.publishing import (
    MAX_HOURS,
    ask_to_expire,
    ask_to_extend,
    extend_publications,
    plan_publications,
    reopen_publications,
)
from annotation.models import Assignment, Publication
from annotation.models.assignments import LEASED_STATES
from annotation.money.limits import commit_as_one_order
from annotation.money.orders import with_confirmation
from annotation.work.joining import MAX_INVITATIONS, create_invitations
from annotation.work.seats import take_pause_lock
from annotation.work.slots.release import release_reserved, release_slots
from annotation.work.stopping import lock_for_settling, update_outcomes
from common.amounts import thousands, with_noun
from common.errors import ObjectNotFound, WrongState
from common.parameters import KeysField, Parameters, Reason
from common.rows.batches import KEYS_PER_QUERY, batched
from judgments.access.study_log import note_event
from judgments.models import HIT, Study
from judgments.operations import CommandHelp, Outcome, operation
from judgments.studies.designs import design_of, stops_early

MAX_WORKERS = 100  # workers added at a time
MAX_MINUTES = 7 * 24 * 60  # a week
MAX_WORKERS_PER_HIT = 32_000  # fits the column of HIT.required on every database
LIVE_PUBLICATION_STATES = (Publication.State.PUBLISHED, Publication.State.PLANNED)


@transaction.atomic
def pause_study(*, study: Study, why: str, by: User | None = None) -> None:
    """Stop claims, also at the crowd, and release reservations. Current leases continue.

    Pausing twice changes nothing. The caller must send the outbox messages (``carry_out_calls``).
    """
    take_pause_lock(study)
    _lock_and_reload(study)
    if study.paused_at is not None:
        return
    _require_open(study, _("only an open study can be paused"))
    study.paused_at = timezone.now()
    study.save(update_fields=["paused_at"])
    call_count = ask_to_expire(study=study, by=by, is_pause=True, why=why)
    release_reserved(study=study)
    sentence = "Paused: no more claims."
    if call_count:
        sentence += f" The crowd is asked to let nobody new in, for {with_noun(call_count, 'publication')}."
    note_event(study=study, what="paused", sentence=sentence, why=why, by=by)


@commit_as_one_order
def resume_study(*, study: Study, why: str, by: User | None = None) -> None:
    """Offer work again, also at the crowd. Resuming twice changes nothing.

    If slots were released meanwhile, and the budget cannot cover them now, the study stays paused.
    """
    _lock_and_reload(study)
    _require_open(study, _("only an open study can be resumed"))
    paused_at = study.paused_at
    if paused_at is None:
        return
    study.paused_at = None
    study.save(update_fields=["paused_at"])
    call_count = reopen_publications(study=study, since=paused_at, by=by, why=why) if study.platform else 0
    sentence = "Resumed."
    if call_count:
        sentence += f" The crowd is asked to offer {with_noun(call_count, 'publication')} again."
    note_event(study=study, what="resumed", sentence=sentence, why=why, by=by)


def _lock_and_reload(study: Study) -> None:
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    study.refresh_from_db()


def _require_open(study: Study, requirement: str) -> None:
    """Raise WrongState unless the study is open. The message ends with ``requirement``."""
    if study.state != Study.State.OPEN:
        raise WrongState(
            _("Nothing was changed: study %(slug)r is %(state)s; %(otherwise)s.")
            % {"slug": study.slug, "state": _(study.state), "otherwise": requirement}
        )


@commit_as_one_order
def extend_study(
    *,
    study: Study,
    workers: int,
    why: str,
    hits: Collection[str] | None = None,
    by: User | None = None,
    what: str = "extended",
) -> int:
    """Add slots to HITs if the budget suffices. Return the number of HITs.

    Args:
        workers: the number of slots to add to each HIT.
        hits: keys of HITs; None for all HITs of the study.
        what: the code of the log entry.
    """
    _lock_open_study(study)
    selected_hits = _hit_ids_of(study, hits)
    lock_for_settling(study=study, hits=selected_hits)  # locks candidate pairs, before the HITs
    rows = HIT.objects.filter(pk__in=selected_hits).order_by("pk").select_for_update(no_key=True)
    if any(row.required + workers > MAX_WORKERS_PER_HIT for row in rows):
        raise WrongState(
            _("Nothing was changed: the maximum number of participants for a page of work is %(most)s.")
            % {"most": thousands(MAX_WORKERS_PER_HIT)}
        )
    if stops_early(study):
        # the new slots are not offered at first; update_outcomes then offers as many as are needed
        HIT.objects.filter(pk__in=selected_hits).update(
            required=F("required") + workers, spared=F("spared") + workers, extra=F("extra") + workers
        )
        update_outcomes(study=study, hits=selected_hits)
    else:
        HIT.objects.filter(pk__in=selected_hits).update(
            required=F("required") + workers, open_slots=F("open_slots") + workers, extra=F("extra") + workers
        )
    _offer_slots(study, selected_hits, workers, why=why, by=by)
    if hits is None:
        scope = "every page of work"
    elif len(selected_hits) > 1:
        scope = f"{len(selected_hits):,} pages of work"
    else:
        scope = "one page of work"
    note_event(
        study=study,
        what=what,
        sentence=f"{with_noun(workers, 'more participant')} for {scope}, beyond what the design says.",
        why=why,
        by=by,
        workers=workers,
        hits="all" if hits is None else sorted(hits),
    )
    return len(selected_hits)


def _hit_ids_of(study: Study, keys: Collection[str] | None) -> list[int]:
    """Return the row ids of the HITs with these keys, or of all HITs if ``keys`` is None.

    Raises:
        ObjectNotFound: there is no HIT with one of the keys.
        WrongState: ``keys`` is empty.
    """
    if keys is None:
        return list(study.hits.order_by("pk").values_list("pk", flat=True))
    ids_by_key: dict[str, int] = {}
    for keys_of_query in batched(sorted(set(keys)), KEYS_PER_QUERY):
        ids_by_key.update(study.hits.filter(key__in=keys_of_query).values_list("key", "pk"))
    unknown_keys = sorted(set(keys) - ids_by_key.keys())
    if unknown_keys:
        raise ObjectNotFound(
            _("Nothing was changed: study %(slug)r has no page of work %(unknown)r.")
            % {"slug": study.slug, "unknown": unknown_keys[0]}
        )
    if not ids_by_key:
        raise WrongState(_("Nothing was changed: give the key of at least one page of work."))
    return sorted(ids_by_key.values())


def _offer_slots(study: Study, hits: list[int], workers: int, *, why: str, by: User | None) -> None:
    """Ask the crowd to offer the ``workers`` slots that were added to each of ``hits``, which are row ids.

    If the study is paused, resuming offers them.
    """
    backend = backend_of(study)
    if study.paused_at is not None or Ability.PUBLISH not in backend.can or not study.platform:
        return
    publications = Publication.objects.filter(
        study=study, platform=study.platform, state__in=LIVE_PUBLICATION_STATES
    ).select_related("study")
    study_publication = publications.filter(hit=None).last()
    if study_publication is not None:
        # a panel publishes the whole study, and one of its places is for several HITs
        session_count = ceil(workers * len(hits) / design_of(study).panel.hits)
        ask_to_extend(publication=study_publication, places=session_count, by=by, why=why)
        return
    slots_by_hit = dict(HIT.objects.filter(pk__in=hits, open_slots__gt=0).values_list("pk", "open_slots"))
    hit_publications = publications.filter(hit__in=slots_by_hit, state=Publication.State.PUBLISHED)
    for publication in hit_publications.order_by("pk"):
        if publication.hit_id in slots_by_hit:  # a HIT may have several publications; extend the first
            places = min(workers, slots_by_hit.pop(publication.hit_id))
            ask_to_extend(publication=publication, places=places, by=by, why=why)
    if slots_by_hit:  # HITs that are not published now
        plan_publications(study=study, by=by)


@transaction.atomic
def extend_leases(*, study: Study, minutes: int, why: str, by: User | None = None) -> int:
    """Give every assignment in progress more time. Return the number of assignments."""
    leases = Assignment.objects.with_lease(timezone.now()).filter(study=study)
    lease_count = leases.update(expires_at=F("expires_at") + timedelta(minutes=minutes))
    if not lease_count:
        raise WrongState(
            _("Nothing was changed: study %(slug)r has no page of work in progress.") % {"slug": study.slug}
        )
    note_event(
        study=study,
        what="leases-extended",
        sentence=f"{minutes} minutes more for {with_noun(lease_count, 'page')} of work in progress.",
        why=why,
        by=by,
        minutes=minutes,
    )
    return lease_count


@transaction.atomic
def expire_assignments(
    *, study: Study, why: str, assignments: Collection[UUID] | None = None, by: User | None = None
) -> int:
    """End leases: reopen the slots of assignments, and keep their drafts. Return the number of assignments.

    Args:
        assignments: ids of assignments in progress; None for all whose lease has run out.
    """
    leases = Assignment.objects.filter(study=study, state__in=LEASED_STATES)
    is_by_time = assignments is None
    leases = leases.overdue(timezone.now()) if assignments is None else leases.filter(pk__in=assignments)
    ended_count = release_slots(leases, Assignment.State.EXPIRED)
    if not ended_count and is_by_time:
        raise WrongState(_("Nothing was changed: no page of work in progress has exceeded its time."))
    if not ended_count:
        raise WrongState(_("Nothing was changed: this page of work is no longer in progress."))
    note_event(
        study=study,
        what="expired",
        sentence=f"Expired, so that others can take them again: {with_noun(ended_count, 'page')} of work.",
        why=why,
        by=by,
        overdue=is_by_time,
    )
    return ended_count


@transaction.atomic
def expire_slots(*, study: Study, hits: Collection[str], why: str, by: User | None = None) -> int:
    """Close the open slots of the HITs with these keys. Return the number of slots. Current leases continue."""
    if stops_early(study):
        raise WrongState(
            _(
                "Nothing was changed: study %(slug)r uses early stopping, which sets the number of places "
                "automatically."
            )
            % {"slug": study.slug}
        )
    selected_hits = _hit_ids_of(study, hits)
    rows: QuerySet[HIT] = HIT.objects.filter(pk__in=selected_hits, open_slots__gt=0).order_by("pk")
    slot_count = sum(row.open_slots for row in rows.select_for_update(no_key=True))
    if not slot_count:
        raise WrongState(_("Nothing was changed: none of these pages of work has an open place."))
    rows.update(spared=F("spared") + F("open_slots"), open_slots=0)
    if study.platform and Ability.EXPIRE in backend_of(study).can:
        publications = Publication.objects.filter(
            study=study, platform=study.platform, hit__in=selected_hits, state=Publication.State.PUBLISHED
        )
        for publication in publications.select_related("study").order_by("pk"):
            ask_to_take_down(publication=publication, by=by, why=why)
    note_event(
        study=study,
        what="slots-expired",
        sentence=f"No longer offered: {with_noun(slot_count, 'open place')} of "
        f"{with_noun(len(selected_hits), 'page')} of work.",
        why=why,
        by=by,
        hits=sorted(hits),
    )
    return slot_count


@transaction.atomic
def reopen_units(
    *, study: Study, units: Collection[str], votes: int, why: str, by: User | None = None
) -> int:
    """Ask for ``votes`` more judgments of the units with these keys. Return the number of HITs that get workers.

    For each unit, workers are added to one HIT that has it; they judge all units of this HIT. In an arena a unit may
    be in several HITs, and adding workers to all of them would ask for more judgments than ``votes``.
    """
    hit_key_by_unit: dict[str, str] = {}  # ``places`` of a unit are its rows of ``HITUnit``, one for each HIT
    for units_of_query in batched(sorted(set(units)), KEYS_PER_QUERY):
        judged_units = study.units.filter(key__in=units_of_query, control=False, places__isnull=False)
        hit_key_by_unit.update(judged_units.values_list("key", "places__hit__key"))
    unknown_keys = sorted(set(units) - hit_key_by_unit.keys())
    if unknown_keys:
        raise ObjectNotFound(
            _("Nothing was changed: study %(slug)r has no judged item %(unknown)r.")
            % {"slug": study.slug, "unknown": unknown_keys[0]}
        )
    if not hit_key_by_unit:
        raise WrongState(_("Nothing was changed: give the key of at least one item."))
    return extend_study(
        study=study, workers=votes, hits=set(hit_key_by_unit.values()), why=why, by=by, what="units-reopened"
    )


def _lock_open_study(study: Study) -> None:
    """Lock a study to which work is added, and read it again. Raise WrongState unless it is open."""
    _lock_and_reload(study)
    if study.state != Study.State.OPEN:
        raise WrongState(
            _(
                "Nothing was changed: study %(slug)r is %(state)s. Open it first; only an open study offers work."
            )
            % {"slug": study.slug, "state": _(study.state)}
        )


@operation(
    "pause",
    "Pause the study",
    parameters=Reason,
    follow_up=ASK_THE_CROWD,
    command=CommandHelp(
        "Stop claims of an open study; participants who hold a HIT may finish it.",
        "triplets-50 --why 'a caption is broken'",
    ),
)
def pause(*, study: Study, by: User | None, why: str) -> Outcome:
    """Stop claims. Workers who hold a HIT may finish it. Pausing twice changes nothing."""
    pause_study(study=study, why=why, by=by)
    return Outcome(_("The study is paused."))


@operation(
    "resume",
    "Resume the study",
    parameters=Reason,
    follow_up=ASK_THE_CROWD,
    is_order=True,
    command=CommandHelp(
        "Hand out work of a paused study again, here and at its crowd.",
        "triplets-50 --why 'the caption is mended'",
    ),
)
@with_confirmation("resume")
def resume(*, study: Study, by: User | None, why: str) -> Outcome:
    """Allow claims again, and offer the HITs at the crowd that pausing closed. Resuming twice changes nothing."""
    resume_study(study=study, why=why, by=by)
    return Outcome(_("The study is resumed."))


class ExtendRequest(Reason):
    """What to add: workers to all HITs or to those given, minutes to every lease, or hours at the crowd."""

    one_of = (("workers", "minutes", "hours"),)
    exclusive_pairs = (("hits", "minutes"), ("hits", "hours"))

    workers = serializers.IntegerField(
        min_value=1,
        max_value=MAX_WORKERS,
        required=False,
        initial=1,
        label="More participants per page",
        help_text="Participants to add to each page of work.",
    )
    minutes = serializers.IntegerField(
        min_value=1,
        max_value=MAX_MINUTES,
        required=False,
        initial=30,
        help_text="Number of minutes to add to every page of work in progress. No participants are added.",
    )
    hours = serializers.IntegerField(
        min_value=1,
        max_value=MAX_HOURS,
        required=False,
        help_text="The crowd offers the work for this number of hours from now. The number of "
        "participants does not change.",
    )
    hits = KeysField(
        required=False,
        label="Keys of pages of work",
        help_text="Default: participants are added to all pages of work.",
    )


@operation(
    "extend",
    "More participants, or more time",
    parameters=ExtendRequest,
    follow_up=ASK_THE_CROWD,
    is_order=True,
    command=CommandHelp(
        "Let more participants judge every HIT, or some, or give more time; the log says why.",
        "triplets-50 --workers 2 --why 'the pilot was too small'",
    ),
)
@with_confirmation("extend")
def extend(
    *,
    study: Study,
    by: User | None,
    why: str,
    workers: int = 0,
    minutes: int = 0,
    hours: int = 0,
    hits: Collection[str] | None = None,
) -> Outcome:
    """Add ``workers`` to HITs, or ``minutes`` to leases, or let the crowd offer the work for ``hours`` from now on.

    If the budget does not suffice, nothing changes.
    """
    if minutes:
        lease_count = extend_leases(study=study, minutes=minutes, why=why, by=by)
        return Outcome(
            ngettext(
                "One participant now has %(minutes)s more minutes.",
                "%(count)s participants now have %(minutes)s more minutes.",
                lease_count,
            )
            % {"count": thousands(lease_count), "minutes": minutes}
        )
    if hours:
        extend_publications(study=study, hours=hours, why=why, by=by)
        return Outcome(
            ngettext(
                "The crowd will be asked to offer the work for one hour from now on.",
                "The crowd will be asked to offer the work for %(hours)s hours from now on.",
                hours,
            )
            % {"hours": hours}
        )
    hit_count = extend_study(study=study, workers=workers, hits=hits, why=why, by=by)
    people = ngettext("one more participant", "%(n)s more participants", workers) % {"n": workers}
    sentence = ngettext(
        "One page of work is offered to %(people)s.",
        "%(n)s pages of work are offered to %(people)s.",
        hit_count,
    )
    return Outcome(sentence % {"n": thousands(hit_count), "people": people})


class ExpireRequest(Reason):
    """Assignments whose lease ends, or HITs whose open slots close. By default, all leases that ran out end."""

    exclusive_pairs = (("assignments", "hits"),)

    assignments = serializers.ListField(
        child=serializers.UUIDField(),
        required=False,
        label="Assignments",
        help_text="Ids of assignments to end (default: all that have exceeded their time).",
    )
    hits = KeysField(
        required=False,
        label="Keys of pages of work",
        help_text="Keys of the pages of work whose open places are closed.",
    )


@operation("expire", "Expire leases or slots", parameters=ExpireRequest, follow_up=ASK_THE_CROWD)
def expire(
    *,
    study: Study,
    by: User | None,
    why: str,
    assignments: Collection[UUID] | None = None,
    hits: Collection[str] | None = None,
) -> Outcome:
    """Close the open slots of ``hits`` or, if they are None, end leases. Saved answers are kept."""
    if hits is not None:
        slot_count = expire_slots(study=study, hits=hits, why=why, by=by)
        sentence = ngettext("One open place was closed.", "%(slots)s open places were closed.", slot_count)
        return Outcome(sentence % {"slots": thousands(slot_count)})
    ended_count = expire_assignments(study=study, assignments=assignments, why=why, by=by)
    sentence = ngettext(
        "One page of work is available to other participants again.",
        "%(n)s pages of work are available to other participants again.",
        ended_count,
    )
    return Outcome(sentence % {"n": thousands(ended_count)})


class InvitationRequest(Parameters):
    """The number of invitations, and a note about them."""

    count = serializers.IntegerField(min_value=1, max_value=MAX_INVITATIONS)
    note = serializers.CharField(
        required=False, allow_blank=True, max_length=200, help_text="Participants never see it."
    )


@operation("invite", "Create invitations", parameters=InvitationRequest, scope="workers")
def invite(*, study: Study, by: User | None, count: int, note: str = "") -> Outcome:
    """Create invitation codes for a study that only invited people may join."""
    invitations = create_invitations(study=study, count=count, note=note)
    sentence = ngettext("One invitation was made.", "%(n)s invitations were made.", len(invitations))
    return Outcome(sentence % {"n": len(invitations)}, invitations)
