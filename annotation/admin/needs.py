"""Declare what waits for a decision by staff, such as failed messages or open flags.

The pages of a study and the list of studies show each ``Need`` with its count, the number of the study's rows in the
queryset that ``rows`` returns, and a link to the page where somebody can decide.
"""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from annotation.models import (
    Assignment,
    Case,
    CrowdCall,
    ErasureRequest,
    Publication,
    SpendingRequest,
    StudyAlarm,
)
from judgments.access.rights import Right
from judgments.models import Study
from judgments.studies.home_page import Need, add_needs

EXPIRY_NOTICE = timedelta(days=1)  # how long before the end of a publication the need is shown

add_needs(
    Need(
        name="failed_messages",
        page="crowd",
        labels=("one message to the crowd failed", "messages to the crowd failed"),
        rows=lambda: CrowdCall.objects.filter(state=CrowdCall.State.FAILED),
        button="View the failed messages",
        right=Right.CHANGE,
    ),
    Need(
        name="spending_requests",
        page="crowd",
        labels=(
            "one spending request is waiting for a second person",
            "spending requests are waiting for a second person",
        ),
        rows=lambda: SpendingRequest.objects.filter(state=SpendingRequest.State.WAITING),
        button="View the request",
        right=Right.CHANGE,
    ),
    Need(
        name="erasure_requests",
        page="privacy",
        labels=(
            "one participant asks to have their data erased",
            "participants ask to have their data erased",
        ),
        rows=lambda: ErasureRequest.objects.filter(state=ErasureRequest.State.WAITING),
        button="See the request",
        right=Right.OWN,
    ),
    Need(
        name="flags",
        page="review",
        labels=("one flag to review", "flags to review"),
        rows=lambda: Case.objects.filter(state=Case.State.OPEN),
        button="Review flags",
        right=Right.REVIEW,
    ),
    Need(
        name="payments",
        page="work",
        labels=("one page of work to approve and pay", "pages of work to approve and pay"),
        rows=lambda: Assignment.objects.filter(
            state=Assignment.State.SUBMITTED, study__design__crowd__reward_cents__gt=0
        ),
        button="Approve work",
        right=Right.REVIEW,
    ),
    Need(
        name="controls_used_up",
        page="controls",
        labels=("one participant has seen all check questions", "participants have seen all check questions"),
        rows=lambda: StudyAlarm.objects.filter(
            what=StudyAlarm.Kind.CONTROLS_USED_UP, study__state=Study.State.OPEN
        ),
        button="See check questions",
        right=Right.CHANGE,
    ),
    Need(
        name="expiring",
        page="crowd",
        labels=("one offer at the crowd will end within a day", "offers at the crowd will end within a day"),
        rows=lambda: Publication.objects.filter(
            state=Publication.State.PUBLISHED,
            study__state=Study.State.OPEN,
            expires_at__lt=timezone.now() + EXPIRY_NOTICE,
            held_slots__gt=0,  # places whose money is reserved: not taken, or without a decision
        ),
        button="Extend the offer",
        right=Right.CHANGE,
    ),
)
