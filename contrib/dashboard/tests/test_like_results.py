"""The dashboard says of the same judgments what the page Results, its analyses and its commands say."""

from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from annotation.models import Worker
from annotation.quality.exclusions import exclude_worker
from common.amounts import NO_BREAK
from contrib.dashboard.snapshot import compute_snapshot, store_snapshot
from evaluation.results.aggregation import aggregate_study
from evaluation.results.metrics.storage import evaluate_study
from judgments.models import Study
from tests.annotation import casting
from tests.annotation.voting import joined, work
from tests.evaluation.reporting import graded, pairwise, words
from tests.evaluation.studies import StudyOf, make_dataset
from tests.evaluation.test_answers_in_words import of_scenes, put_together
from tests.evaluation.test_german_staff_pages import problems_at, votes
from tests.evaluation.test_outputs import GRADES, IMAGES, OF_GRADES, brought, rows_of
from tests.evaluation.test_scales import better_and_worse, rehearsed
from tests.evaluation.test_study_page import pairwise as pets
from tests.evaluation.test_verdict import METRICS, settled
from tests.judgments.desk import page

pytestmark = pytest.mark.django_db


def snapshot_of(study: Study) -> dict[str, Any]:
    result: dict[str, Any] = store_snapshot(compute_snapshot(study=study)).result
    return result


def shown_of(client: Client, study: Study) -> str:
    snapshot_of(study)
    return words(client.get(page(study, "board")))


@pytest.mark.parametrize(
    ("made", "metrics"),
    [
        (pairwise, METRICS),
        pytest.param(graded, METRICS, marks=pytest.mark.long),
        (settled, ["bleu-1", "rouge-l"]),
    ],
)
def test_who_is_ahead(made: Callable[[], StudyOf], metrics: list[str], designer: Client) -> None:
    study = made().study
    aggregate_study(study=study)
    said = evaluate_study(study=study, metrics=metrics)["verdict"]["all"]
    Study.objects.filter(pk=study.pk).update(state=Study.State.OPEN)
    shown = shown_of(designer, study).replace(NO_BREAK, " ")
    assert said["sentence"].replace(NO_BREAK, " ") in shown
    assert ("Not decided:" in shown) is not said["settled"]
    told = designer.get(f"/api/studies/{study.slug}/board/").json()["snapshot"]["evaluation"]
    assert told["kinds"]["all"]["verdict"] == said


def test_which_system_wins(module_db: None, admin_client: Client) -> None:
    better_and_worse()
    study = rehearsed("slider", "doors", accuracy=0.9, controls={"per_hit": 0})
    Study.objects.filter(pk=study.pk).update(simulated=False)
    sentence = aggregate_study(study=study)["systems_verdict"]["sentence"]
    snapshot_of(study)
    assert sentence in unescape(admin_client.get(page(study, "board")).content.decode())


def test_intervals_are_for_other_people_or_say_that_they_are_not(admin_client: Client) -> None:
    better_and_worse()
    study = rehearsed("graded", "graded", accuracy=0.6, judgments_per_unit=6, controls={"per_hit": 0})
    tau = evaluate_study(study=study, metrics=["bleu-1", "rouge-l"])["metrics"]["rouge-l"]["kendall_tau_b"]
    told = snapshot_of(study)["evaluation"]["kinds"]["all"]["metrics"]["rouge-l"]
    assert [told[name] for name in ("value", "low", "high")] == [
        tau[name] for name in ("value", "low", "high")
    ]
    Worker.objects.filter(assignments__study=study).update(anonymous=True, study=study)
    alone = "Intervals and tests generalise to other items, but not to other participants."
    assert alone in shown_of(admin_client, study)


def test_agreement_people_and_sides(module_db: None) -> None:
    study = casting.make_study(
        casting.make_dataset(pictures=False),
        "pairwise",
        judgments_per_unit=3,
        controls={"per_hit": 1, "threshold": 0.4},
    )
    for name in ("ada", "eva", "bela"):
        work(study, joined(study, name), votes)
    exclude_worker(study=study, worker=Worker.objects.get(name="bela"), why="careless")
    snapshot_of(study)
    board, told = snapshot_of(study), aggregate_study(study=study)  # with the scores of the one before
    assert board["growth"][-1]["value"] == told["agreement"]["alpha"]["value"]
    assert board["evaluation"]["people"] == told["agreement"]["one_against_rest"]
    assert board["side_bias"] == told["agreement"]["side_bias"]
    workers = {row["worker"]: row for row in board["workers"]}
    for row in told["workers"]:
        assert {name: workers[row["worker"]][name] for name in row} == row


def test_units_of_one_text_agree_apart(tmp_path: Path) -> None:
    make_dataset("shared", IMAGES)
    rows = [row | {"out": row["model"] if row["image"] == "B.jpg" else "same"} for row in rows_of(GRADES)]
    seconds = {"4": "3", "2": "1", "1": "2"}
    rows += [row | {"rater": "w2", "stars": seconds[row["stars"]]} for row in rows]
    study = brought(rows, "graded", OF_GRADES, tmp_path)
    alpha = aggregate_study(study=study)["agreement"]["alpha"]
    tau = evaluate_study(study=study, metrics=["bleu-1"])["metrics"]["bleu-1"]["kendall_tau_b"]
    board = snapshot_of(study)
    grown, told = board["growth"][-1], board["evaluation"]["kinds"]["all"]["metrics"]["bleu-1"]
    assert (grown["value"], grown["n"]) == (alpha["value"], alpha["n"])
    assert (told["value"], told["n"]) == (tau["value"], tau["n"])


def test_audited_captions_count_by_their_weights() -> None:
    images = {name: [f"{name} by people", "a dog on grass"] for name in ("a.jpg", "b.jpg")}
    made = StudyOf(make_dataset("pets", images), "relevance", filter={"bleu_pre": 0.25, "audit": 2})
    texts = ("a dog", "a dog on grass", "cars", "a cat sleeps", "a black cat on a chair")
    units = [
        made.unit(
            f"u{place}",
            "ab"[place > 2] + ".jpg",
            first=text,
            **({"audited": True} if place in (1, 2) else {}),
        )
        for place, text in enumerate(texts)
    ]
    hit = made.hit("h1", units)
    for name, values in (("w-1", [1, 0, 1, 1, 0]), ("w-2", [1, 0, 0, 1, 1]), ("w-3", [0, 1, 0, 1, 1])):
        made.answer(hit, name, values)
    notes = {"candidate_pairs": 18, "passed_filter": 3, "audited": 2}
    Study.objects.filter(pk=made.study.pk).update(notes=notes)
    made.study.refresh_from_db()
    aggregate_study(study=made.study)
    result = evaluate_study(study=made.study, metrics=["bleu-1", "rouge-l"])
    told = snapshot_of(made.study)["evaluation"]["kinds"]["all"]
    tau = result["metrics"]["rouge-l"]["kendall_tau_b"]["value"]
    assert told["metrics"]["rouge-l"]["value"] == pytest.approx(tau)
    assert told["verdict"]["leaders"] == result["verdict"]["all"]["leaders"]


def test_how_many_answers_are_not_used_and_who_gave_them(designer: Client) -> None:
    study = pets().study
    exclude_worker(study=study, worker=Worker.objects.get(name="w-2"), why="careless")
    said = (
        "Answers that are not used: 4 of 6 (67 %). The reason: 1 participant answered too few check "
        "questions right (2), and 1 participant was excluded (2)."
    )
    assert said in shown_of(designer, study)
    shown = designer.get(page(study, "board")).content.decode()
    for link in (f"{page(study, 'results')}#people", page(study, "review")):
        assert f'href="{link}"' in shown


def test_simulated_answers_are_called_that_once(designer: Client) -> None:
    study = pets().study
    Study.objects.filter(pk=study.pk).update(simulated=True)
    shown = shown_of(designer, study)
    assert "These answers come from the rehearsal crowd, not from people" in shown
    assert shown.lower().count("simulated") == 1


def test_it_is_in_german_for_a_german_reader() -> None:
    study = casting.make_study(casting.make_dataset(pictures=False), "pairwise", judgments_per_unit=2)
    for name in ("ada", "eva", "bela"):
        work(study, joined(study, name), votes, most=2)
    snapshot_of(study)
    exclude_worker(study=study, worker=Worker.objects.get(name="eva"), why="Rät nur.")
    reader = Client(headers={"accept-language": "de"})
    reader.force_login(User.objects.create_superuser("leserin"))
    address = page(study, "board")
    assert problems_at(reader, [address]) == {address: []}


def test_the_board_of_answers_in_words_claims_nothing_that_it_does_not_measure(designer: Client) -> None:
    shown = shown_of(designer, put_together(of_scenes("keywords"), ["dog"], ["dog"]))
    assert "see the agreement on the page “Results”" in shown
    assert "no two people judged the same unit" not in shown
    assert "Text metrics are not compared with these answers: keywords are not captions" in shown
    assert "Do participants prefer a side?" not in shown


def test_the_board_of_pairs_says_which_side_is_chosen(designer: Client) -> None:
    shown = shown_of(designer, pairwise().study)
    assert "Do participants prefer a side?" in shown
    assert "Agreement is measured on" not in shown
