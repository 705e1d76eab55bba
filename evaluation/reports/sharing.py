"""A read-only link to a study's report, for co-authors and reviewers without an account.

The address contains the id of an entry in the study's log, which says who made the link, and that entry's signature.
The link works until a later entry makes another link or revokes it.
"""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.models import User
from django.core.signing import Signer
from django.urls import reverse
from django.utils.crypto import constant_time_compare
from django.utils.translation import gettext as _
from rest_framework import serializers

from common.errors import WrongState
from common.parameters import Parameters
from evaluation.models import Analysis
from judgments.access.rights import Right
from judgments.access.study_log import note_event
from judgments.models import Study, StudyEvent
from judgments.operations import CommandHelp, Outcome, operation

# Kinds of entries in the log (``StudyEvent.what``).
LINK_MADE, LINK_REVOKED = "report-link-made", "report-link-taken-back"
_SIGNER = Signer(salt="report-link")


def link_to_report(study: Study) -> str:
    """Return the address of the link that works at present, or "". It has no host if PUBLIC_URL is not set."""
    entry = _newest_entry(study)
    if entry is None or entry.what != LINK_MADE:
        return ""
    path = reverse("shared-report", args=[entry.pk, _SIGNER.signature(str(entry.pk))])
    return f"{settings.PUBLIC_URL}{path}"


def _newest_entry(study: Study) -> StudyEvent | None:
    return StudyEvent.objects.filter(study=study, what__in=(LINK_MADE, LINK_REVOKED)).first()


class LinkRequest(Parameters):
    """The choice whether to make a link or to revoke it."""

    take_back = serializers.BooleanField(
        default=False, help_text="Revoke the link instead, so that its address no longer shows the report."
    )


@operation(
    "share-report",
    "Make a read-only link to the report, or revoke it",
    parameters=LinkRequest,
    right=Right.OWN,
    command=CommandHelp("Make a read-only link to a study's report, or revoke it.", "triplets-50"),
)
def share_report(*, study: Study, by: User | None, take_back: bool) -> Outcome:
    """Make a link with which anybody sees the newest report and its files, without an account, and nothing else.

    A new link replaces the earlier one. With `take_back`, revoke the link.
    """
    if take_back:
        if not link_to_report(study):
            raise WrongState(_("Nothing was changed: there is no link to this report."))
        note_event(
            study=study, what=LINK_REVOKED, sentence="The link to the report shows nothing any more.", by=by
        )
        return Outcome(_("The link was revoked; its address no longer shows the report."), "")
    if not Analysis.objects.newest_first(study, Analysis.Kind.REPORT).exists():
        raise WrongState(_("Nothing was changed: make the report first."))
    note_event(
        study=study, what=LINK_MADE, sentence="A link shows the newest report without an account.", by=by
    )
    address = link_to_report(study)
    sentence = _("Anyone with this address sees the newest report and its files: %(address)s")
    return Outcome(sentence % {"address": address}, address)


def study_of_link(entry: int, signature: str) -> Study | None:
    """Return the study of a link that works, or None. ``signature`` is that of the entry."""
    if not constant_time_compare(signature, _SIGNER.signature(str(entry))):
        return None
    event = StudyEvent.objects.filter(pk=entry, what=LINK_MADE).select_related("study").first()
    study = None if event is None else event.study
    if study is None or event != _newest_entry(study):
        return None
    return study
