"""Rehearsal from the page: a copy is answered, held against the truth, and can be deleted."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from annotation.models import Assignment, Worker
from common.amounts import percent
from common.errors import WrongState
from contrib.rehearsals.copies import copy_for_rehearsal, rehearsals_of
from contrib.rehearsals.mean_power import power_of_means
from contrib.rehearsals.operations import delete_rehearsal
from contrib.rehearsals.pair_power import needed_pairs
from contrib.rehearsals.results import compute_rehearsal
from contrib.rehearsals.simulation.crowd import RehearsalCrowd
from contrib.rehearsals.simulation.run import rehearse
from evaluation.models import Analysis
from evaluation.results.aggregation import aggregate_study
from evaluation.results.metrics.storage import evaluate_study
from judgments.jobs.claims import run_job
from judgments.models import Job, Output, Study, StudyEvent, StudyRole, System
from judgments.studies.designs import kind_of
from judgments.studies.study_page import PAGES
from quorum.statistics.power import Size, TwoSystems, VoterModel
from tests.annotation.casting import make_dataset, make_study
from tests.evaluation.test_one_interval import ENDS, figures
from tests.evaluation.test_scales import better_and_worse
from tests.judgments.desk import do, page, words
from tests.studies import make_study as make_drawn_study

pytestmark = pytest.mark.django_db
CROWD = {"workers": 6, "spammers": 0.0, "accuracy": 1.0, "drop_outs": 0.0, "speed": 1, "seed": 4}


def a_draft(protocol: str = "triplet") -> Study:
    return make_study(make_dataset(images=8), protocol, opened=False)


def rehearsed(client: Client, study: Study, **crowd: Any) -> Study:
    client.post(do(study, "rehearse"), CROWD | crowd)
    assert run_job(Job.objects.filter(kind="rehearse").latest("pk").pk)
    return rehearsals_of(study).latest("pk")


def test_a_careful_crowd_brings_the_truth_back_and_the_page_says_what_it_costs(designer: Client) -> None:
    study = make_study(
        make_dataset(images=8), "pairwise", opened=False, crowd={"reward_cents": 12}, units_per_hit=12
    )
    copy = rehearsed(designer, study)
    told = Analysis.objects.get(study=copy, what="rehearsal").result
    assert 0.85 < told["recovered"]["value"] <= 1.0  # people are right with .9 to 1
    assert told["recovered"]["n"] == told["report"]["units"] == copy.pairs.count()
    places = sum(hit.required for hit in copy.hits.all())
    assert told["cost"] == {
        "places": places,
        "reward_cents": 12 * places,
        "fee_cents": 0,
        "cents": 12 * places,
    }
    assert told["wage_cents"] == pytest.approx(12 * places / told["report"]["hours"], abs=1)
    assert told["longest_hours"] < told["report"]["hours"]
    assert [row["truth"]["n"] for row in told["metrics"]] == [copy.pairs.count()] * len(told["metrics"])
    best = [row["truth"]["value"] for row in told["metrics"]]
    assert best == sorted(best, reverse=True)
    of_metrics = [row for row in told["power"] if row["what"] == "metrics"]
    assert all(row["power"] + row["wrong"] <= 1 for row in of_metrics)
    shown = words(designer.get(page(copy, "rehearsal")))
    assert f"The rehearsal crowd answers this copy of {study.name}" in shown
    assert "Metrics: true and estimated accuracy" in shown
    assert "No detector is on" in shown
    assert f"Newest rehearsal: {copy.name}" in words(designer.get(page(study, "rehearsal")))
    study.refresh_from_db()
    assert not study.simulated
    assert not Assignment.objects.filter(study=study).exists()
    event = StudyEvent.objects.get(study=study, what="rehearsed")
    assert event.by is not None
    assert rehearsals_of(study).latest("pk").slug not in event.words
    done = StudyEvent.objects.get(study=copy, what="rehearsal-done")
    assert done.words == f"Rehearsed; {percent(told['recovered']['value'])} of the drawn truth came back."


@pytest.mark.long
def test_with_rules_it_is_told_who_was_stopped_rightly_and_who_wrongly(designer: Client) -> None:
    study = make_study(make_dataset(images=12), "pairwise", opened=False, judgments_per_unit=5)
    copy = rehearsed(designer, study, workers=10, spammers=0.5, sorts=["fast"], rules="on", accuracy=0.9)
    by_sort = {
        row["sort"]: row
        for row in Analysis.objects.get(study=copy, what="rehearsal").result["report"]["by_sort"]
    }
    assert set(by_sort) == {"careful", "fast"}
    shown = words(designer.get(page(copy, "rehearsal")))
    assert "A decision is wrong if it excludes or pauses a careful participant" in shown
    assert ("correct decision" in shown.split("Not flagged")[1]) == bool(by_sort["fast"]["stopped"])


def test_kinds_without_pairs_are_rehearsed_too(designer: Client) -> None:
    copy = rehearsed(designer, a_draft("graded"))
    told = Analysis.objects.get(study=copy, what="rehearsal").result
    assert told["metrics"] == told["systems"] == []
    assert "Right answers that the consensus found" in words(designer.get(page(copy, "rehearsal")))


@pytest.mark.long
def test_graded_systems_that_are_alike_in_truth_are_told_so(designer: Client) -> None:
    """By the true grades that both systems' captions have: half a grade apart, or one text from both."""
    apart, same = a_draft("graded"), make_dataset("same", images=8)
    for item in same.items.all():
        texts = list(item.outputs.order_by("system__name"))
        for output in texts[1:]:
            output.caption = texts[0].caption
            output.save()
    equal = make_study(same, "graded", slug="equal", opened=False)
    for study, alike in ((apart, False), (equal, True)):
        told = Analysis.objects.get(study=rehearsed(designer, study), what="rehearsal").result
        assert [row["alike"] for row in told["power"]] == [alike] * 2


def test_two_best_systems_that_are_alike_hide_no_worse_one(designer: Client) -> None:
    dataset = make_dataset(images=8)
    worse = System.objects.create(dataset=dataset, name="captioner-z")
    for item in dataset.items.all():
        first, second = item.outputs.order_by("system__name")
        Output.objects.create(system=worse, item=item, caption=second.caption)
        second.caption = first.caption
        second.save()
    copy = rehearsed(designer, make_study(dataset, "graded", opened=False))
    kind, true_answers = kind_of(copy), {}
    worse_captions = set(worse.outputs.values_list("caption", flat=True))
    for unit in copy.units.filter(control=False):
        true_answers[unit.pk] = 1 if unit.first_id in worse_captions else 4
    assert kind.relevance is not None
    rows = power_of_means(copy, kind.relevance, {}, true_answers)
    assert [row["alike"] for row in rows] == [False] * 2
    rows = power_of_means(copy, kind.relevance, {}, dict.fromkeys(true_answers, 4))
    assert [row["alike"] for row in rows] == [True] * 2


@pytest.mark.long
def test_pairs_have_power_about_their_systems_and_triplets_have_none(designer: Client) -> None:
    about_systems, dataset = {}, make_dataset(images=8)
    for protocol in ("pairwise", "triplet"):
        copy = rehearsed(designer, make_study(dataset, protocol, slug=protocol, opened=False))
        told = Analysis.objects.get(study=copy, what="rehearsal").result
        assert len(told["systems"]) > 1
        about_systems[protocol] = "systems" in [row["what"] for row in told["power"]]
    assert about_systems == {"pairwise": True, "triplet": False}


@pytest.mark.long
def test_a_copy_is_deleted_with_its_simulated_answers_and_nothing_else_is(designer: Client) -> None:
    study = a_draft()
    copy = rehearsed(designer, study, rules="on", spammers=0.5)
    designer.post(do(copy, "delete-rehearsal"))
    assert list(Study.objects.all()) == [study]
    assert not Worker.objects.filter(source=Worker.Source.REHEARSAL).exists()
    assert set(
        StudyEvent.objects.filter(what__in=["deleted", "rehearsal-deleted"]).values_list("slug", "what")
    ) == {(copy.slug, "deleted"), (study.slug, "rehearsal-deleted")}
    with pytest.raises(WrongState, match="not the copy of a rehearsal"):
        delete_rehearsal.run(study, {}, by=None)


def test_a_copy_is_neither_copied_again_nor_deleted_while_it_is_rehearsed(designer: Client) -> None:
    study = a_draft()
    designer.post(do(study, "rehearse"), CROWD)
    copy = rehearsals_of(study).get()
    assert (copy.slug, copy.simulated, copy.state) == (f"{study.slug}-rehearsal-1", True, "draft")
    with pytest.raises(WrongState, match="is the copy of a rehearsal"):
        copy_for_rehearsal(study=copy)
    refused = designer.post(do(copy, "delete-rehearsal"), {"page": "rehearsal"}, follow=True)
    assert "is being rehearsed" in words(refused)
    assert Study.objects.count() == 2


def test_strangers_get_nothing_and_viewers_change_nothing(client: Client) -> None:
    study = a_draft()
    copy = copy_for_rehearsal(study=study)
    assert client.get(page(study, "rehearsal")).status_code == 302
    person = User.objects.create_user("person", is_staff=True)
    client.force_login(person)
    for step in ("rehearse", "delete-rehearsal"):
        assert client.post(do(study, step), CROWD).status_code == 404
    assert client.get(page(study, "rehearsal")).status_code == 404
    StudyRole.objects.create(study=study, user=person, role="viewer")
    shown = client.get(page(study, "rehearsal"))
    assert shown.status_code == 200
    assert copy.name not in words(shown)  # a role on the study is none on its copies
    assert 'id="rehearse"' not in shown.content.decode()
    assert client.post(do(study, "rehearse"), CROWD).status_code == 403
    assert not Job.objects.exists()


@pytest.mark.long
def test_the_list_of_copies_asks_no_more_with_more_of_them(
    designer: Client, django_assert_max_num_queries: Any
) -> None:
    study = a_draft()
    rehearsed(designer, study)
    designer.get(page(study, "rehearsal"))
    with CaptureQueriesContext(connection) as one:
        designer.get(page(study, "rehearsal"))
    for _ in range(4):
        copy_for_rehearsal(study=study)
    with django_assert_max_num_queries(len(one)):
        designer.get(page(study, "rehearsal"))


# what is copied or recorded says it again: file names and signatures, a paper's methods, what happened
RECORDS = re.compile(
    r'<(code|pre|textarea|script|style)\b.*?</\1>|<div id="methods-text">.*?</div>'
    r'|<td class="q-why" lang="en">.*?</td>|<tr><td>[^<]*</td><td lang="en">.*?</tr>',
    re.S,
)


@pytest.mark.long
def test_no_page_of_a_copy_says_simulated_twice(designer: Client, settings: Settings, tmp_path: Path) -> None:
    settings.EXPORT_ROOT = tmp_path
    quiz = {"preset": "hodosh-2013-english"}
    study = make_study(
        make_dataset(images=8), "pairwise", opened=False, access={"join": "invited"}, quiz=quiz
    )
    copy = rehearsed(designer, study)
    aggregate_study(study=copy)
    evaluate_study(study=copy, metrics=["bleu-1", "rouge-l"])
    designer.post(do(copy, "make-report"), {"page": "report"})
    for job in Job.objects.filter(state="queued"):
        run_job(job.pk)
    said = {}
    for name, one in PAGES.items():
        if not one.label or not one.has_tab(copy):
            continue
        answer = designer.get(page(copy, name))
        if answer.status_code == 200:
            main = answer.content.decode().split('class="q-page"', 1)[1]
            said[name] = len(re.findall("simulated", re.sub(r"<[^>]+>", " ", RECORDS.sub(" ", main)), re.I))
    assert {"results", "report", "rehearsal", "workers", "quiz", "launch"} <= said.keys()
    assert {name: count for name, count in said.items() if count != 1} == {}


@pytest.mark.long
def test_pairs_are_doubled_until_a_study_decides_often_enough() -> None:
    people, question = VoterModel(right=1.0, pair_spread=0.0, pairs_each=1), TwoSystems(0.68)
    # a test at .05 of 68 % against 50 % has a power of about .7 with 48 comparisons, and .93 with 96
    assert needed_pairs(question, people, Size(12, 1, 1), 0.1, seed=1) == 96
    assert needed_pairs(question, people, Size(12, 1, 1), 0.9, seed=1) == 12
    assert needed_pairs(TwoSystems(0.5001), people, Size(12, 1, 1), 0.1, seed=1) is None


@pytest.mark.long
def test_a_rehearsal_shows_the_intervals_of_results() -> None:
    better_and_worse()
    study = make_drawn_study("pairwise", slug="rehearsed-once")
    crowd = RehearsalCrowd(workers=8, spammers=0.0, accuracy=0.8, seed=5, drop_outs=0.0)
    rehearsal = compute_rehearsal(study=study, crowd=crowd, report=rehearse(study=study, crowd=crowd))
    verdict = rehearsal.aggregation.result["systems_verdict"]
    found = [{"system": row["name"], **row["found"]} for row in rehearsal.result["systems"]]
    assert figures(found) == figures(verdict["systems"])
    assert rehearsal.evaluation is not None
    for row in rehearsal.result["metrics"]:
        accuracy = rehearsal.evaluation.result["metrics"][row["name"]]["accuracy"]["all"]
        assert row["found"] == {name: accuracy[name] for name in ENDS}
