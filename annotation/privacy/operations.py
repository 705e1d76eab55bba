"""The operations on personal data: erase a person, decline a request, and change the consent text."""

from __future__ import annotations

from collections.abc import Mapping

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import pgettext
from rest_framework import serializers

from annotation.models import Case, Erasure, ErasureRequest, QualityRule
from annotation.privacy.consent import change_consent
from annotation.privacy.erasing import ErasureResult, erase_person
from annotation.privacy.erasure_requests import erasure_request_of
from annotation.privacy.people import erasure_of, find_person
from annotation.quality.exclusions import unpause_worker
from annotation.work.joining import find_worker
from common.errors import WrongState
from common.parameters import Parameters, Reason
from judgments.access.rights import Right
from judgments.access.study_log import note_event
from judgments.models import Study
from judgments.operations import Outcome, operation

MAX_NAME_LENGTH = 200
WORKER_HELP = "Name or pseudonym, or the crowd’s own id."


class EraseRequest(Parameters):
    """The person to erase, and what is erased with them."""

    worker = serializers.CharField(max_length=MAX_NAME_LENGTH, label="Participant", help_text=WORKER_HELP)
    way = serializers.ChoiceField(
        choices=Erasure.Extent.choices,
        required=False,
        initial=Erasure.Extent.IDENTITY.value,
        label="What is erased",
        help_text="Identity and written texts (identity, the default), or all answers as well (all).",
    )
    withdraw = serializers.BooleanField(
        default=False,
        label="Remove the files of releases from this server",
        help_text="Also remove the files of releases from this server; their versions and hashes stay.",
    )
    confirm = serializers.CharField(
        max_length=MAX_NAME_LENGTH,
        label="Type the name again",
        help_text="The same text as for the participant, since an erasure cannot be undone.",
    )


@operation("erase-person", "Erase a person", parameters=EraseRequest, right=Right.OWN, scope="workers")
def erase(
    *,
    study: Study,
    by: User | None,
    worker: str,
    confirm: str,
    way: str = Erasure.Extent.IDENTITY,
    withdraw: bool = False,
) -> Outcome:
    """Remove a person's identity from a study permanently.

    Their judgments stay without a name, or are erased as well.
    """
    if confirm.strip() != worker.strip():
        raise WrongState(pgettext("staff", "Nothing was erased: the two names that you typed are different."))
    person = find_person(study, worker)
    if person is None:  # erased before
        erasure = erasure_of(study, worker)
        assert erasure is not None  # else ``find_person`` would have raised ObjectNotFound
        message = pgettext("staff", "Nothing was changed: the participant was already erased, on %(day)s.")
        return Outcome(
            message % {"day": date_format(timezone.localtime(erasure.at))},
            ErasureResult(erasure, was_erased_before=True),
        )
    request = erasure_request_of(study, person)
    result = erase_person(
        study=study,
        worker=person,
        way=way,
        withdraw=withdraw,
        by=by,
        asked_at=request.asked_at if request else None,
    )
    message = pgettext(
        "staff",
        "The participant is erased. Receipt, shown only once: %(receipt)s. Give the receipt to the participant. "
        "It proves which rows of published releases came from this participant.",
    )
    return Outcome(message % {"receipt": result.receipt}, result)


class DeclineRequest(Reason):
    """The participant whose request is declined, and the reason."""

    worker = serializers.CharField(max_length=MAX_NAME_LENGTH, help_text=WORKER_HELP)


@operation(
    "decline-erasure",
    "Decline a request to be erased",
    parameters=DeclineRequest,
    right=Right.OWN,
    scope="workers",
)
@transaction.atomic
def decline_request(*, study: Study, by: User | None, worker: str, why: str) -> Outcome:
    """Decline a participant's request to be erased. The participant reads the reason on their own page."""
    person = find_worker(study, worker)
    requests = ErasureRequest.objects.filter(study=study, worker=person, state=ErasureRequest.State.WAITING)
    if not requests.update(state=ErasureRequest.State.DECLINED, answer=why, decided_at=timezone.now()):
        raise WrongState(
            pgettext("staff", "Nothing was changed: no erasure request of %(name)s is waiting.")
            % {"name": person.name}
        )
    # the request had paused the participant; a pause that a detector ordered is kept
    flags = Case.objects.filter(study=study, worker=person, state=Case.State.OPEN)
    if not flags.filter(action=QualityRule.Action.PAUSE).exists():
        unpause_worker(study=study, worker=person)
    note_event(
        study=study, what="erasure-declined", sentence="A request to be erased was declined.", why=why, by=by
    )
    return Outcome(pgettext("staff", "The request is declined; the participant sees the reason."))


class ConsentRequest(Reason):
    """The complete new consent text, and its translations into other languages of the participants' pages."""

    consent = serializers.CharField(
        max_length=20_000,
        trim_whitespace=False,
        style={"base_template": "textarea.html"},
        label="Consent",
        help_text="The new text; it may use Markdown.",
    )
    translations = serializers.DictField(
        child=serializers.CharField(max_length=20_000, allow_blank=True, trim_whitespace=False),
        required=False,
        help_text="Text by language. Participants with another language read the text above.",
    )


@operation("change-consent", "Change the consent text", parameters=ConsentRequest)
def change_consent_text(
    *, study: Study, by: User | None, consent: str, why: str, translations: Mapping[str, str] | None = None
) -> Outcome:
    """Make a new version of the consent text. Participants must agree to it before they begin another page of work."""
    version = change_consent(study=study, text=consent, translations=translations, why=why, by=by)
    if version is None:
        return Outcome(pgettext("staff", "Nothing was changed: the new text is the same as the current one."))
    message = pgettext(
        "staff", "The consent text is now version %(n)s. Returning participants are asked to agree again."
    )
    return Outcome(message % {"n": version.number}, version)
