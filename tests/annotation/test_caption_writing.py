"""People write captions: each of an image by somebody else, and what is noticed of copies."""

from collections import defaultdict
from typing import Any

import pytest
from django.test import Client

from annotation.errors import AnswerProblem
from annotation.models import Assignment, Judgment, Worker
from annotation.work.answers.revisions import revise_judgments
from annotation.work.claims import claim_assignment
from annotation.work.submissions import save_answers, submit_assignment
from contrib.rehearsals.answers.captions import CARELESS_CAPTIONS
from contrib.rehearsals.simulation.crowd import RehearsalCrowd
from contrib.rehearsals.simulation.run import rehearse
from judgments.models import Study
from tests.annotation.casting import joined, with_person
from tests.annotation.leasing import claimed
from tests.annotation.writing import caption_by, write_all, writing_study
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


def signals_of(worker: Worker) -> dict[str, dict[str, int]]:
    """Image -> what was noticed of the worker's caption."""
    rows = Judgment.objects.filter(assignment__worker=worker).select_related("unit__item")
    return {row.unit.item.name: row.signals for row in rows}


def submit_texts(study: Study, worker: Worker, texts: list[str]) -> Assignment:
    claim = claimed(study, worker)
    answers = [{"position": index, "answer": text} for index, text in enumerate(texts, start=1)]
    return submit_assignment(assignment=claim.assignment, answers=answers).assignment


def test_five_captions_of_an_image_are_by_five_people() -> None:
    study = writing_study(images=4, writers=5)
    for name in ("ada", "ben", "cleo", "dan", "eve", "fay"):
        write_all(study, name)
    writers = defaultdict(list)
    for row in Judgment.objects.of_study(study).select_related("unit__item", "assignment__worker"):
        writers[row.unit.item.name].append(row.assignment.worker.name)
    assert len(writers) == 4
    assert all(len(names) == len(set(names)) == 5 for names in writers.values())


def test_the_sixth_of_five_finds_no_work() -> None:
    study = writing_study(images=3, writers=2)
    write_all(study, "ada")
    write_all(study, "ben")
    assert claim_assignment(study=study, worker=joined(study, "cleo").worker) is None


def test_the_text_is_stored_as_typed() -> None:
    study = writing_study(images=3)
    ada = joined(study, "ada").worker
    submit_texts(
        study,
        ada,
        ["  A “red”  shape\non the LEFT ,  far away ", "Two shapes lie here .", "Three more shapes"],
    )
    texts = set(Judgment.objects.values_list("answer", flat=True))
    assert texts == {"A “red” shape on the LEFT , far away", "Two shapes lie here .", "Three more shapes"}


def test_a_caption_that_breaks_a_rule_is_refused_and_nothing_of_the_call_is_saved() -> None:
    study = writing_study(images=3)
    claim = claimed(study, joined(study, "ada").worker)
    answers = [
        {"position": 1, "answer": "A shape lies on a table."},
        {"position": 2, "answer": "A shape. It is red."},
    ]
    with refuses(AnswerProblem, "answer", position=2):
        save_answers(assignment=claim.assignment, answers=answers)
    claim.assignment.refresh_from_db()
    assert claim.assignment.answers == {}


def test_a_copy_of_another_writers_caption_is_noticed() -> None:
    study = writing_study(images=3, writers=3)
    ada = write_all(study, "ada")
    ben = joined(study, "ben").worker
    claim = claimed(study, ben)
    copied = {
        place.position: caption_by(ada, place.unit.item.name).upper().rstrip(".")
        for place in claim.page_units
    }
    answers: list[dict[str, Any]] = [
        {"position": 1, "answer": copied[1].capitalize()},
        {"position": 2, "answer": "Nobody has said this about it before."},
        {"position": 3, "answer": f"{copied[3].capitalize()} !"},
    ]
    submit_assignment(assignment=claim.assignment, answers=answers)
    found = signals_of(ben)
    by_position = [found[place.unit.item.name] for place in claim.page_units]
    assert by_position == [{"same_as_another": 1}, {}, {"same_as_another": 1}]
    assert all(one == {} for one in signals_of(ada).values())


def test_the_same_caption_under_several_images_is_noticed_across_pages_of_work() -> None:
    study = writing_study(images=6, writers=2)
    ada = joined(study, "ada").worker
    submit_texts(
        study, ada, ["Some shapes lie around here.", "some shapes lie around here", "One shape stands alone."]
    )
    submit_texts(
        study, ada, ["Some shapes lie around here!", "Another one is over there.", "A third thing is blue."]
    )
    counts = sorted(one.get("same_as_own", 0) for one in signals_of(ada).values())
    assert counts == [0, 0, 0, 1, 1, 2]


def test_an_example_from_the_instructions_is_noticed_as_one() -> None:
    study = writing_study(
        images=3, examples=[{"answer": "A cat sleeps on a sofa.", "why": "It names the main things."}]
    )
    ada = joined(study, "ada").worker
    submit_texts(
        study, ada, ["a cat sleeps on a sofa", "A man repairs a bicycle.", "A shape of many colours."]
    )
    assert sorted(one.get("from_instructions", 0) for one in signals_of(ada).values()) == [0, 1, 1]


def test_what_the_page_counted_stays_beside_what_is_noticed() -> None:
    study = writing_study(images=3)
    ada = joined(study, "ada").worker
    claim = claimed(study, ada)
    answers = [
        {"position": position, "answer": "Pasted is this sentence here.", "signals": {"pasted": 29}}
        for position in (1, 2, 3)
    ]
    submit_assignment(assignment=claim.assignment, answers=answers)
    assert all(one == {"pasted": 29, "same_as_own": 2} for one in signals_of(ada).values())


def test_a_revision_is_looked_at_anew() -> None:
    study = writing_study(images=3)
    ada = joined(study, "ada").worker
    done = submit_texts(study, ada, ["Some shapes lie around here."] * 3)
    assert all(one == {"same_as_own": 2} for one in signals_of(ada).values())
    answers = [{"position": 1, "answer": "One of them stands apart."}]
    assert revise_judgments(assignment=done, answers=answers) == [1]
    current = Judgment.objects.current().filter(assignment=done)
    assert {row.answer: row.signals for row in current}["One of them stands apart."] == {}
    assert Judgment.objects.filter(assignment=done).count() == 4


def test_noticing_costs_two_queries_however_many_captions(django_assert_max_num_queries: Any) -> None:
    study = writing_study(images=9, writers=3)
    write_all(study, "ada")
    claim = claimed(study, joined(study, "ben").worker)
    texts = [{"position": n, "answer": f"The shape here has number {n} on it."} for n in (1, 2, 3)]
    with django_assert_max_num_queries(10):
        submit_assignment(assignment=claim.assignment, answers=texts)


def test_a_rehearsal_goes_all_the_way_and_tells_the_careless() -> None:
    study = writing_study(images=6, writers=3)
    report = rehearse(study=study, crowd=RehearsalCrowd(workers=8, spammers=0.5, drop_outs=0.1, seed=2))
    assert (report.units, report.judgments, report.spammers) == (6, 18, 4)
    texts = Judgment.objects.of_study(study).values_list("answer", "signals")
    copied = [signals for text, signals in texts if text in CARELESS_CAPTIONS]
    assert copied
    assert any(one.get("same_as_own") or one.get("same_as_another") for one in copied)
    careful = writing_study(images=6, writers=3, dataset_name="more-shapes", name="More", slug="more")
    assert rehearse(study=careful, crowd=RehearsalCrowd(workers=8, spammers=0.0, seed=2)).recovered == 1.0


# the page, and what a form without scripts sends


def page_of(study: Study, name: str = "ada") -> tuple[Client, Assignment, str]:
    person = joined(study, name)
    html = person.client.get(f"/s/{study.slug}/work/").content.decode()
    return person.client, Assignment.objects.get(worker=person.worker), html


def test_the_page_shows_a_box_for_each_image_and_tells_nothing_that_others_wrote() -> None:
    study = writing_study(images=3)
    write_all(study, "zoe")
    _, _, html = page_of(study)
    assert html.count("data-caption=") == 3
    assert html.count("data-rules") == 1
    assert "zoe" not in html
    assert "says that shape" not in html  # the references of the dataset
    assert "Sentences that are refused" in html


def test_a_form_without_scripts_submits_captions() -> None:
    study = writing_study(images=3)
    client, assignment, _ = page_of(study)
    texts = {f"u{n}": f"The shape number {n} lies on a table." for n in (1, 2, 3)}
    reply = client.post(f"/s/{study.slug}/work/{assignment.pk}/submit/", texts)
    assert reply.status_code == 303
    assert set(Judgment.objects.values_list("answer", flat=True)) == set(texts.values())


def test_what_a_form_without_scripts_sends_and_a_rule_refuses_comes_back_in_its_box() -> None:
    study = writing_study(images=3)
    client, assignment, _ = page_of(study)
    texts = {"u1": "A shape lies on a table.", "u2": "A shape. <b>It</b> is red.", "u3": ""}
    reply = client.post(f"/s/{study.slug}/work/{assignment.pk}/submit/", texts)
    html = reply.content.decode()
    assert reply.status_code == 422
    assert "A shape. &lt;b&gt;It&lt;/b&gt; is red.</textarea>" in html
    assert "Write one sentence only." in html
    assert "expected another caption" not in html  # which programs read
    assert '<a href="#u2">2</a>, <a href="#u3">3</a>' in html
    again = client.get(f"/s/{study.slug}/work/").content.decode()
    assert "A shape lies on a table.</textarea>" in again
    assert "A shape. &lt;b&gt;It&lt;/b&gt; is red.</textarea>" in again
    mended = {"u2": "A shape lies on a chair.", "u3": "A shape hangs on a wall."}
    assert client.post(f"/s/{study.slug}/work/{assignment.pk}/submit/", mended).status_code == 303
    assert Judgment.objects.count() == 3


def test_saving_for_later_without_scripts_keeps_half_a_sentence() -> None:
    study = writing_study(images=3)
    client, assignment, _ = page_of(study)
    client.post(f"/s/{study.slug}/work/{assignment.pk}/save/", {"u1": "A shape"})
    html = client.get(f"/s/{study.slug}/work/").content.decode()
    assert ">A shape</textarea>" in html
    assert "at least three words" in html
    client.post(f"/s/{study.slug}/work/{assignment.pk}/save/", {"u1": "A shape in a box"})
    assignment.refresh_from_db()
    assert assignment.answers == {"1": {"answer": "A shape in a box"}}


def test_a_client_that_saves_later_never_sees_what_a_form_left_unfinished() -> None:
    study, person = with_person(writing_study(images=3), "ada")
    claim = claimed(study, person.worker)
    path = f"/s/{study.slug}/work/{claim.assignment.pk}/save/"
    person.client.post(path, {"u1": "A shape", "u2": "A shape lies on a table."})
    reply = Client().patch(
        f"/api/assignments/{claim.assignment.pk}/",
        {"answers": [{"position": 3, "answer": "A shape hangs on a wall."}]},
        content_type="application/json",
        headers={"Authorization": f"Token {person.token}"},
    )
    assert reply.json()["answers"] == [
        {"position": 2, "answer": "A shape lies on a table."},
        {"position": 3, "answer": "A shape hangs on a wall."},
    ]


def test_another_persons_page_of_captions_is_not_there() -> None:
    study = writing_study(images=3)
    _, assignment, _ = page_of(study)
    stranger = joined(study, "eve").client
    for action in ("save", "submit"):
        reply = stranger.post(
            f"/s/{study.slug}/work/{assignment.pk}/{action}/", {"u1": "A shape lies on a table."}
        )
        assert reply.status_code == 404
    assignment.refresh_from_db()
    assert assignment.answers == {}
