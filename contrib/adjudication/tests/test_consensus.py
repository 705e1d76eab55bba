"""What an adjudicator decides, in the consensus, in exports, and on the designer's page."""

from pathlib import Path

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from annotation.models import Adjudication, Judgment
from contrib.adjudication.decisions import decide_adjudication, send_to_adjudicator, withdraw_adjudication
from evaluation.data.export.exporting import export_judgments
from evaluation.data.integrity import check_integrity
from evaluation.models import Consensus
from evaluation.results.aggregation import aggregate_study
from evaluation.results.metrics.storage import evaluate_study
from judgments.models import Caption, Study, Unit
from tests.evaluation.reporting import words
from tests.evaluation.studies import StudyOf, make_dataset
from tests.judgments.desk import do, page

pytestmark = pytest.mark.django_db

IMAGES = {"a.jpg": ["a dog runs", "a brown dog"], "b.jpg": ["a cat sleeps", "a cat"]}


def person(name: str = "rita") -> User:
    user = User.objects.create_user(name, is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="change_adjudication"))
    return user


def triplets() -> StudyOf:
    """One pair with two triplets and two workers: the first is 1, the second tied, so the pair is 1."""
    made = StudyOf(make_dataset("toy", IMAGES), "triplet", judgments_per_unit=2)
    pair = made.pair("p1", "a.jpg", "a dog", "a cat")
    references = Caption.objects.filter(item=pair.item)
    units = [made.unit(f"u{place}", pair=pair, reference=row) for place, row in enumerate(references)]
    hit = made.hit("h1", units, required=2)
    made.answer(hit, "alma", [1, 1], presented=["first-left"] * 2)
    made.answer(hit, "bela", [1, 2], presented=["first-left"] * 2)
    return made


def decided(study: Study, key: str, value: int, reason: str = "") -> Adjudication:
    rita = User.objects.filter(username="rita").first() or person()
    unit = Unit.objects.get(study=study, key=key)
    (one,) = send_to_adjudicator(study=study, units=[unit.pk], adjudicator=rita)
    Adjudication.objects.filter(pk=one.pk).update(side=None)
    one.refresh_from_db()
    return decide_adjudication(adjudication=one, answer=value, reason=reason)


def test_a_decision_takes_the_place_of_a_tie_and_says_where_it_comes_from() -> None:
    study = triplets().study
    before = aggregate_study(study=study)
    one = decided(study, "u1", 2, "B has no dog")
    found = aggregate_study(study=study)
    crowd, tied = found["units"]
    assert crowd == before["units"][0]
    assert "source" not in crowd
    assert (tied["value"], tied["tie"], tied["n"], tied["share"]) == (2, False, 2, 0.5)
    assert tied["source"] == "adjudicated"
    assert one.decided_at is not None
    assert tied["adjudicated"] == {
        "by": "rita", "at": one.decided_at.isoformat(), "reason": "B has no dog", "votes": {"1": 1, "2": 1},
    }  # fmt: skip
    (pair,) = found["pairs"]
    assert (pair["value"], pair["wins"], pair["losses"], pair["tie"]) == (None, 1, 1, True)
    assert pair["source"] == "adjudicated"
    assert dict(Consensus.objects.values_list("unit__key", "source")) == {
        "u0": "judgments", "u1": "adjudicated", None: "adjudicated",
    }  # fmt: skip


def test_agreement_and_judgments_do_not_know_of_it_and_withdrawing_gives_the_crowds_outcome_back() -> None:
    study = triplets().study
    before, rows = aggregate_study(study=study), list(Judgment.objects.values())
    one = decided(study, "u1", 2)
    assert aggregate_study(study=study)["agreement"] == before["agreement"]
    assert list(Judgment.objects.values()) == rows
    assert check_integrity().problems == []
    withdraw_adjudication(adjudication=one)
    assert aggregate_study(study=study) == before
    assert set(Consensus.objects.values_list("source", flat=True)) == {"judgments"}


def test_a_unit_that_nobody_judged_can_be_decided() -> None:
    made = triplets()
    made.unit("u9", "b.jpg", first="a dog", second=Caption.objects.filter(role="candidate").first())
    decided(made.study, "u9", 1)
    found = {unit["unit"]: unit for unit in aggregate_study(study=made.study)["units"]}
    assert (found["u9"]["value"], found["u9"]["n"], found["u9"]["share"]) == (1, 0, None)


@pytest.fixture
def relevance() -> Study:
    """Two image-caption pairs, one of them relevant by two votes of three."""
    made = StudyOf(make_dataset("toy", IMAGES), "relevance")
    units = [made.unit("u1", "a.jpg", first="a dog"), made.unit("u2", "b.jpg", first="a dog")]
    hit = made.hit("h1", units)
    for name, values in (("alma", [1, 0]), ("bela", [1, 0]), ("cili", [0, 1])):
        made.answer(hit, name, values)
    return made.study


def test_qrels_and_metrics_take_the_decision(relevance: Study, tmp_path: Path) -> None:
    decided(relevance, "u1", 0)
    made = export_judgments(study=relevance, format="qrels", output=tmp_path / "out.qrels")
    assert [line.split()[3] for line in made.path.read_text().splitlines()] == ["0", "0"]
    assert made.manifest["counts"] == {"lines": 2, "left_out": 0, "adjudicated": 1}
    evaluate_study(study=relevance, metrics=["bleu-1"])
    crowd = export_judgments(study=relevance, format="flickr8k", output=tmp_path / "out.txt")
    assert crowd.path.read_text().splitlines()[0].endswith("\t2\t1")  # votes are votes


def test_the_page_lists_what_is_disputed_and_sends_it(designer: Client) -> None:
    study = triplets().study
    assert "The consensus must be computed first" in words(designer.get(page(study, "disputes")))
    aggregate_study(study=study)
    person()
    tied = Unit.objects.get(key="u1")
    shown = designer.get(page(study, "disputes"))
    assert "1 for “1”, 1 for “2”" in words(shown)
    assert "2 for “1”" not in words(shown)
    assert "2 for “1”" in words(designer.get(page(study, "disputes"), {"show": "all"}))
    empty = words(designer.get(page(study, "disputes"), {"show": "ties", "unit": "zz"}))
    assert "There are no items of this kind" in empty
    sent = designer.post(do(study, "adjudicate"), {"units": [tied.key], "adjudicator": "rita"}, follow=True)
    assert "1 item sent to rita" in words(sent)
    again = designer.post(do(study, "adjudicate"), {"units": [tied.key], "adjudicator": "rita"}, follow=True)
    assert "0 items sent to rita. Items that were already sent: 1." in words(again)
    (one,) = Adjudication.objects.all()
    decide_adjudication(adjudication=one, answer=1, reason="C is a cat")
    shown_again = words(designer.get(page(study, "disputes")))
    assert "C is a cat" in shown_again
    taken = designer.post(do(study, "withdraw"), {"adjudication": one.pk}, follow=True)
    assert "the participants' answers decide this item" in words(taken)


def test_sending_without_a_person_or_a_unit_is_refused(designer: Client) -> None:
    study = triplets().study
    person()
    for sent in ({"units": ["u1"], "adjudicator": ""}, {"adjudicator": "rita"}):
        designer.post(do(study, "adjudicate"), sent)
    assert designer.post(do(study, "withdraw"), {"adjudication": "x"}, follow=True).status_code == 200
    assert not Adjudication.objects.exists()


def test_results_say_that_a_decision_came_after_them(designer: Client) -> None:
    study = triplets().study
    aggregate_study(study=study)
    assert "out of date" not in words(designer.get(page(study, "results")))
    decided(study, "u1", 2)
    assert "out of date" in words(designer.get(page(study, "results")))
    aggregate_study(study=study)
    shown = words(designer.get(page(study, "results")))
    assert "out of date" not in shown
    assert "1 decided by an adjudicator" in shown
