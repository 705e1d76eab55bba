"""The way back from pages of work to a draft, while nobody was let in."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core import serializers
from django.test import Client
from django.utils.html import escape

from annotation.crowds.opening import open_study
from annotation.models import ConsentVersion
from annotation.privacy.consent import change_consent
from annotation.work.claims import claim_assignment
from annotation.work.joining import create_invitations, join_study
from common.errors import WrongState
from evaluation.data.integrity import check_integrity
from judgments.access.roles import give_role
from judgments.jobs.queues import enqueue
from judgments.models import HIT, CandidatePair, HITUnit, Study, SystemPair, Unit
from judgments.studies.designs import design_of
from judgments.studies.discarding import discard_hits
from judgments.studies.generation.hand_changes import withdraw_control
from judgments.studies.generation.hits import generate_hits
from judgments.studies.studies import change_design
from tests.doors import DOORS, Call
from tests.installations import Installation
from tests.judgments.desk import do, page, words
from tests.marks import long_except
from tests.studies import make_study, make_worker

DISCARD = Call("discard-hits", "discard-hits", "discard_hits", {})


def generated(**values: Any) -> Study:
    study = make_study(opened=False, **values)
    generate_hits(study=study)
    return fresh(study)


def fresh(study: Study) -> Study:
    return Study.objects.get(pk=study.pk)


def drawn(study: Study) -> dict[str, Any]:
    """All that generation stores, with keys instead of row ids."""
    units = dict(Unit.objects.filter(study=study).values_list("pk", "key"))
    hits = dict(HIT.objects.filter(study=study).values_list("pk", "key"))
    pairs = dict(CandidatePair.objects.filter(study=study).values_list("pk", "key"))
    stored: dict[str, Any] = {"notes": study.notes}
    for model in (HIT, Unit, CandidatePair, SystemPair, HITUnit):
        field = "hit__study" if model is HITUnit else "study"
        rows = json.loads(serializers.serialize("json", model.objects.filter(**{field: study})))
        for row in rows:
            fields = row["fields"]
            for name, keys in (("hit", hits), ("unit", units), ("pair", pairs)):
                if fields.get(name) is not None:
                    fields[name] = keys[fields[name]]
            fields.pop("units", None) if model is HIT else None
        stored[model.__name__] = [row["fields"] for row in rows]
    return stored


@pytest.mark.django_db
class TestDiscarding:
    @pytest.mark.parametrize(
        "protocol",
        long_except(["triplet", "pairwise", "relevance", "graded", "slider"], "pairwise", "relevance"),
    )
    def test_the_same_design_gives_the_same_pages_again(self, protocol: str) -> None:
        study = generated(protocol=protocol)
        before = drawn(study)
        assert before["Unit"]
        discard_hits(study=study)
        assert (fresh(study).state, fresh(study).generated_at) == ("draft", None)
        assert drawn(fresh(study)) == {name: {} if name == "notes" else [] for name in before}
        assert check_integrity().problems == []
        generate_hits(study=fresh(study))
        assert drawn(fresh(study)) == before
        assert check_integrity().problems == []

    def test_what_was_done_to_the_pages_goes_with_them(self) -> None:
        study = generated(access={"join": "invited"})
        (invitation,) = create_invitations(study=study, count=1)
        control = study.units.filter(control=True)[0]
        withdraw_control(study=study, unit_key=control.key)
        change_consent(study=study, text="You may stop.", why="it was missing")
        discard_hits(study=fresh(study))
        changed = design_of(fresh(study)).model_copy(update={"consent": "You may stop at any time."})
        change_design(study=fresh(study), design=changed)
        generate_hits(study=fresh(study))
        assert not study.units.filter(withdrawn=True).exists()
        open_study(study=fresh(study))
        worker = join_study(study=fresh(study), name="ada", code=invitation.code, consent=True).worker
        assert claim_assignment(study=fresh(study), worker=worker) is not None
        texts = ConsentVersion.objects.filter(study=study).values_list("text", flat=True)
        assert [*texts] == ["You may stop at any time."]
        assert check_integrity().problems == []

    @pytest.mark.parametrize("door", [*DOORS])
    def test_every_door_does_it_and_the_log_says_who(self, door: str) -> None:
        lead = User.objects.create_superuser("lead")
        study = generated()
        hits, units = study.hits.count(), study.units.filter(control=False).count()
        answer = DOORS[door](study, DISCARD, lead)
        assert answer.done, answer.sentence
        assert fresh(study).state == "draft"
        entry = study.events.get(what="discarded")
        assert entry.by == (None if door == "command" else lead)
        assert (entry.details["hits"], entry.details["units"]) == (hits, units)
        again = DOORS[door](study, DISCARD, lead)
        assert not again.done
        assert "is a draft" in again.sentence

    def test_who_may_not_generate_may_not_discard(self) -> None:
        study = generated()
        reader = User.objects.create_user("reader", is_staff=True)
        give_role(study=study, user=reader, role="reviewer")
        for door in ("page", "http"):
            assert DOORS[door](study, DISCARD, reader).status == 403
        assert fresh(study).state == "generated"


def taken(study: Study) -> None:
    open_study(study=study)
    for name in ("ada", "bela"):
        assert claim_assignment(study=study, worker=make_worker(study, name)[0]) is not None


def joined(study: Study) -> None:
    open_study(study=study)
    make_worker(study)


def registered(study: Study) -> None:
    study.events.create(slug=study.slug, what="registered", words="Registered.")


def simulated(study: Study) -> None:
    Study.objects.filter(pk=study.pk).update(simulated=True)


OBSTACLES: dict[str, tuple[Callable[[Study], object], str]] = {
    "work": (taken, "taken"),
    "people": (joined, "joined"),
    "opened": (lambda study: open_study(study=study), "participants.*Duplicate"),
    "registered": (registered, "registered"),
    "rehearsed": (simulated, "rehearsal crowd"),
    "job": (
        lambda study: enqueue(kind="export", args={"study": study.slug, "format": "csv"}),
        "it has finished",
    ),
}


@pytest.mark.django_db
@pytest.mark.parametrize("case", long_except([*OBSTACLES], "work", "registered", "job"))
def test_what_stands_in_the_way_is_one_sentence_and_nothing_goes(case: str, designer: Client) -> None:
    happen, said = OBSTACLES[case]
    study = generated()
    before = drawn(study)
    happen(study)
    state = fresh(study).state
    with pytest.raises(WrongState, match=said) as refusal:
        discard_hits(study=fresh(study))
    assert fresh(study).state == state
    assert drawn(fresh(study))["Unit"] == before["Unit"]
    shown = words(designer.get(page(study, "discard")))
    assert str(refusal.value) in shown
    assert "This deletes" not in shown
    assert page(study, "discard") not in designer.get(page(study, "launch")).content.decode()


@pytest.mark.django_db
def test_the_pages_lead_back_and_say_what_goes(designer: Client) -> None:
    study = generated(controls={"per_hit": 1})
    for name in ("launch", "change", "hits"):
        assert f'href="{page(study, "discard")}"' in designer.get(page(study, name)).content.decode()
    asked = words(designer.get(page(study, "discard")))
    hits = study.hits.count()
    assert f"{hits} page" in asked
    assert "check question" in asked
    answer = designer.post(do(study, "discard-hits"), {"page": "discard"}, follow=True)
    assert answer.redirect_chain[-1][0] == page(study, "change")
    assert escape("discarded. The design is a draft again.") in answer.content.decode()
    assert 'id="design"' in answer.content.decode()  # the form


# One connection stops in the middle of its transaction; the other begins meanwhile.
RACE = """
import json, threading, traceback
from django.db import connection
from django.db.models.signals import post_save
from annotation.crowds.opening import open_study
from annotation.models import Assignment
from annotation.work.claims import (claim_assignment)
from common.errors import QuorumError
from evaluation.data.integrity import check_integrity
from judgments.models import Study, StudyEvent
from judgments.studies.discarding import discard_hits
from judgments.studies.generation.hits import generate_hits
from tests.studies import make_study, make_worker

def fresh(study): return Study.objects.get(pk=study.pk)

def enter(study):
    open_study(study=fresh(study))
    claim_assignment(study=fresh(study), worker=make_worker(fresh(study), "ada-" + study.slug)[0])

def race(name, first, second, stops_at):
    study = make_study("pairwise", slug=name, name=name, opened=False)
    generate_hits(study=study)
    inside, over, said = threading.Event(), threading.Event(), {}

    def stop(instance, **more):
        if instance.what == stops_at and threading.current_thread().name == "first":
            inside.set()
            over.wait(1)  # in vain, where the second waits for the first

    def act(what, which):
        try:
            if which == "second":
                assert inside.wait(60)
            what(study)
            said[which] = "done"
        except QuorumError as error:
            said[which] = str(error)
        except BaseException:
            said[which] = traceback.format_exc()[-1500:]
        finally:
            if which == "second":
                over.set()
            connection.close()

    post_save.connect(stop, sender=StudyEvent, weak=False)
    threads = [
        threading.Thread(target=act, args=(what, which), name=which)
        for what, which in ((first, "first"), (second, "second"))
    ]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    post_save.disconnect(stop, sender=StudyEvent)
    return said | {
        "state": fresh(study).state,
        "hits": study.hits.exists(),
        "taken": Assignment.objects.filter(study=study).count(),
    }

discard = lambda study: discard_hits(study=fresh(study))
found = {
    "discarded": race("discarded", discard, enter, "discarded"),
    "opened": race("opened", enter, discard, "opened"),
    "twice": race("twice", discard, discard, "discarded"),
}
print(json.dumps({"races": found, "broken": check_integrity().problems}))
"""


@pytest.mark.long
def test_discarding_and_letting_people_in_at_the_same_moment_follow_one_another(
    installation_on: Callable[[str], Installation], database: str
) -> None:
    found = json.loads(installation_on(database).python(RACE).splitlines()[-1])
    assert found["broken"] == []
    races = found["races"]
    assert races["discarded"]["first"] == "done"
    assert "work first" in races["discarded"]["second"]
    assert (races["discarded"]["state"], races["discarded"]["hits"], races["discarded"]["taken"]) == (
        "draft", False, 0,
    )  # fmt: skip
    assert races["opened"]["first"] == "done"
    assert "Duplicate the study instead" in races["opened"]["second"]
    assert (races["opened"]["state"], races["opened"]["hits"], races["opened"]["taken"]) == ("open", True, 1)
    assert (races["twice"]["first"], races["twice"]["state"]) == ("done", "draft")
    assert "is a draft, so it has no pages of work" in races["twice"]["second"]
