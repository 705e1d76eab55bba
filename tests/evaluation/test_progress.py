"""How far a study is."""

import pytest

from annotation.models import Assignment
from annotation.work.answers.revisions import revise_judgments
from evaluation.data.progress import study_progress
from tests.studies import hand_in, make_study

pytestmark = pytest.mark.django_db


def test_a_hit_is_done_once_every_seat_handed_it_in() -> None:
    study = make_study(judgments_per_unit=2)
    hits = study.hits.count()
    assert hits > 1
    nothing = study_progress(study)
    assert (nothing["hits"], nothing["hits_done"], nothing["judgments"]) == (hits, 0, 0)
    assert nothing["timeline"] == []
    first = hand_in(study, "w-1")
    assert study_progress(study)["hits_done"] == 0
    hand_in(study, "w-2")
    progress = study_progress(study)
    done = Assignment.objects.filter(hit=first.hit, state="submitted").count() == 2
    assert progress["hits_done"] == int(done)
    assert progress["assignments"] == {"submitted": 2}
    assert progress["wanted"] == 2 * sum(hit.places.count() for hit in study.hits.all())


def test_a_revision_is_no_further_judgment_and_its_time_is_told() -> None:
    study = make_study()
    done = hand_in(study, "w-1")
    before = study_progress(study)
    assert before["revised_at"] is None
    revise_judgments(assignment=done, answers=[{"position": 1, "value": 2}])
    after = study_progress(study)
    assert after["judgments"] == before["judgments"] == done.hit.places.count()  # type: ignore[union-attr]
    last = done.judgments.exclude(replaces=None).get()
    assert after["revised_at"] == last.made_at
