"""Who is erased is in no message, whatever became of it, and in no log by the pseudonym of messages."""

import pytest
from django.utils import timezone

from annotation.models import Worker
from annotation.privacy.erasing import erase_person
from contrib.webhooks.events import pseudonym_for_webhook
from contrib.webhooks.models import SUBMITTED, Webhook, WebhookDelivery
from judgments.access.study_log import note_event
from judgments.models import Study, StudyEvent
from tests.annotation.leasing import hand_in, take
from tests.studies import make_study, make_worker

pytestmark = pytest.mark.django_db
State = WebhookDelivery.State


@pytest.fixture
def study() -> Study:
    study = make_study("pairwise", judgments_per_unit=2)
    Webhook.objects.create(study=study, url="https://hook.example/", salt="s", submissions=True)
    return study


def told_of(study: Study, name: str) -> tuple[Worker, WebhookDelivery]:
    worker = make_worker(study, name)[0]
    before = set(WebhookDelivery.objects.values_list("pk", flat=True))
    hand_in(take(study, worker))
    return worker, WebhookDelivery.objects.exclude(pk__in=before).get()


def test_sent_messages_about_erased_people_go_and_others_stay(study: Study) -> None:
    ada, _sent = told_of(study, "Ada")
    _bob, other = told_of(study, "Bob")
    WebhookDelivery.objects.update(state=State.DELIVERED, delivered_at=timezone.now())
    erase_person(study=study, worker=ada)
    assert [delivery.pk for delivery in WebhookDelivery.objects.all()] == [other.pk]
    assert other.payload == WebhookDelivery.objects.get().payload


def test_a_message_that_waits_and_the_log_lose_the_pseudonym(study: Study) -> None:
    ada, _waits = told_of(study, "Ada")
    pseudonym = pseudonym_for_webhook(study, ada)
    note_event(study=study, what="noted", sentence=f"The receiver asked about {pseudonym}.")
    erase_person(study=study, worker=ada)
    delivery = WebhookDelivery.objects.get()
    assert (delivery.event, delivery.payload["worker"]) == (SUBMITTED, "…")
    assert StudyEvent.objects.get(what="noted").words == "The receiver asked about …."
