"""Operations on a study at its crowd, for pages, API and commands: open, close, compare, and pay more screen-outs."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from rest_framework import serializers

from annotation.crowds.opening import (
    ASK_THE_CROWD,
    OPENING_CHECKS,
    begin_closing,
    begin_opening,
    carry_out_opening,
    check_design_at_crowd,
)
from annotation.crowds.publishing import pay_more_screen_outs
from annotation.crowds.sync.run import sync_with_crowd
from annotation.crowds.sync.schedule import SYNC, SYNC_LATER, queue_sync_if_calls_wait
from annotation.money.orders import with_confirmation
from common.amounts import thousands, with_noun
from common.errors import WrongState
from common.parameters import Parameters, Reason
from judgments.access.study_log import note_event
from judgments.models import Study
from judgments.operations import CommandHelp, FollowUp, Outcome, operation


class OpenRequest(Parameters):
    """The choice to open a study in spite of doubtful points."""

    anyway = serializers.BooleanField(default=False, help_text="Open in spite of doubtful points.")


def _publish_now(study: Study) -> str:
    return carry_out_opening(study=study)


@operation(
    "open",
    "Let participants in",
    parameters=OpenRequest,
    is_order=True,
    follow_up=FollowUp(carry_out=_publish_now, enqueue=queue_sync_if_calls_wait),  # pages enqueue it
    command=CommandHelp("Let participants into a study.", "triplets-50"),
)
def open_to_workers(*, study: Study, by: User | None, anyway: bool = False) -> Outcome:
    """Publish the study to its crowd. Repeating changes nothing."""
    is_first_opening = study.state == Study.State.GENERATED
    checks = OPENING_CHECKS if is_first_opening and not anyway else []
    warnings = [warning for check in checks if (warning := check(study, by))]
    if warnings:
        raise WrongState(
            _(
                "Study %(slug)r was not opened. %(problem)s To open the study nevertheless, choose "
                "“Open nevertheless” (in the API: “anyway”)."
            )
            % {"slug": study.slug, "problem": " ".join(warnings)}
        )
    check_design_at_crowd(study=study)
    return _open_study(study=study, by=by)


@with_confirmation("open")
def _open_study(*, study: Study, by: User | None) -> Outcome:
    return Outcome(begin_opening(study=study, by=by))


@operation(
    "close",
    "Offer no more work",
    follow_up=ASK_THE_CROWD,
    command=CommandHelp("Offer no more work of a study.", "triplets-50"),
)
def close(*, study: Study, by: User | None) -> Outcome:
    """Offer no more work. Workers who hold a HIT may still submit it. Repeating changes nothing."""
    begin_closing(study=study, by=by)
    return Outcome(_("The study is closed. Participants can still submit pages of work in progress."))


@operation("sync-crowd", "Compare with the crowd", job=SYNC)
def sync(*, study: Study, by: User | None, thorough: bool = False) -> Outcome:
    """Send waiting messages to the crowd, import submitted work, and report differences."""
    # `thorough` reads the work on external HITs that seem unchanged, too
    report = sync_with_crowd(study=study, thorough=thorough)
    count = len(report.discrepancies)
    event = (
        f"Compared with the crowd: {with_noun(report.hit_count, 'HIT')} there, "
        f"{with_noun(count, 'thing')} {'does' if count == 1 else 'do'} not fit."
    )
    note_event(study=study, what="sync-crowd", sentence=event, by=by)
    pages_phrase = ngettext("one page of work", "%(n)s pages of work", report.hit_count) % {
        "n": thousands(report.hit_count)
    }
    message = ngettext(
        "The study was compared with its crowd. The crowd has %(there)s. One difference was found.",
        "The study was compared with its crowd. The crowd has %(there)s. %(n)s differences were found.",
        count,
    )
    return Outcome(message % {"there": pages_phrase, "n": thousands(count)}, report)


class ScreenOutsRequest(Reason):
    """The number of additional screen-outs to pay, and the reason."""

    count = serializers.IntegerField(min_value=1, max_value=100_000, label="Additional paid screen-outs")


@operation(
    "more-screen-outs",
    "Pay more people who are screened out",
    parameters=ScreenOutsRequest,
    is_order=True,
    follow_up=SYNC_LATER,
)
@with_confirmation("more-screen-outs")
def more_screen_outs(*, study: Study, by: User | None, why: str, count: int) -> Outcome:
    pay_more_screen_outs(study=study, count=count, by=by, why=why)
    message = ngettext(
        "One more screened-out participant will be paid.",
        "%(n)s more screened-out participants will be paid.",
        count,
    )
    return Outcome(message % {"n": count})
