"""Prepared queries give what the query itself would, for each call's own values."""

from datetime import timedelta

import pytest
from django.db.models import CharField, DateTimeField, Exists, F, JSONField, OuterRef, UUIDField
from django.utils import timezone

from annotation.models import Assignment, Participation, Worker
from annotation.work.claims import claim_assignment
from common.rows.prepared import PreparedQuery, PreparedUpdate, query_parameter
from judgments.models import HIT
from tests.studies import make_study, make_worker

pytestmark = pytest.mark.django_db


def test_rows_come_with_their_types_annotations_and_related_rows() -> None:
    study = make_study()
    held = [claim_assignment(study=study, worker=make_worker(study, name)[0]) for name in ("ada", "bob")]
    of_worker = PreparedQuery(
        lambda: (
            Assignment.objects.filter(worker__name=query_parameter("name", CharField()))
            .select_related("hit", "study")
            .annotate(joined=Exists(Participation.objects.filter(worker=OuterRef("worker"))))
        )
    )
    for name, claim in zip(("ada", "bob", "ada"), [*held, held[0]], strict=True):
        assert claim is not None
        (found,) = of_worker.all_rows(name=name)
        stored = Assignment.objects.get(pk=claim.assignment.pk)
        assert vars(found).keys() >= vars(stored).keys()
        for field in Assignment._meta.concrete_fields:
            assert getattr(found, field.attname) == getattr(stored, field.attname), field.name
        assert found.hit == stored.hit
        assert found.study.design == study.design
        assert vars(found)["joined"] is True
    assert of_worker.first(name="nobody") is None
    names = PreparedQuery(
        lambda: Worker.objects.filter(pk=query_parameter("worker")).values_list("name", flat=True)
    )
    bob = held[1]
    assert bob is not None
    assert [*names.all_rows(worker=bob.assignment.worker_id)] == ["bob"]


def test_an_update_changes_what_its_guard_lets_through() -> None:
    study = make_study()
    claim = claim_assignment(study=study, worker=make_worker(study)[0])
    assert claim is not None
    now, key = timezone.now(), claim.assignment.pk
    store = PreparedUpdate(
        lambda: Assignment.objects.with_lease(query_parameter("now", DateTimeField())).filter(
            pk=query_parameter("assignment", UUIDField())
        ),
        answers=query_parameter("answers", JSONField()),
        extended=F("extended") + 1,
    )
    assert store(now=now + timedelta(days=9), assignment=key, answers={}) == 0
    assert store(now=now, assignment=key, answers={"1": {"value": 2}}) == 1
    claim.assignment.refresh_from_db()
    assert (claim.assignment.answers, claim.assignment.extended) == ({"1": {"value": 2}}, 1)
    empty = PreparedUpdate(lambda: HIT.objects.filter(key=query_parameter("key", CharField())), open_slots=0)
    assert empty(key="no such HIT") == 0
