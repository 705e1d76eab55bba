"""What workers wrote becomes part of the dataset, and no worker is shown a caption of their own."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from annotation.models import Worker, WrittenCaption
from annotation.work.claims import claim_assignment
from annotation.work.joining import join_study
from annotation.work.submissions import submit_assignment
from common.errors import DataConflict, WrongState
from contrib.adoption.adopting import adopt_captions
from contrib.rehearsals.simulation.crowd import RehearsalCrowd
from contrib.rehearsals.simulation.run import rehearse
from evaluation.data.export.exporting import export_judgments
from evaluation.data.integrity import check_integrity
from evaluation.errors import EvaluationError
from judgments.access.dataset_roles import give_dataset_role
from judgments.access.roles import give_role
from judgments.models import Caption, Dataset, Output, Study, System
from judgments.studies.studies import mark_closed
from tests.annotation.casting import joined, make_study
from tests.annotation.writing import caption_by, writing_study, written_study
from tests.judgments.desk import do, page
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def written(module_db: None) -> Study:
    """Ada and Ben wrote a caption of each of three images."""
    return written_study("ada", "ben", images=3)


def known(study: Study, worker: Worker) -> Worker:
    """Somebody who works here already joins another study."""
    return join_study(study=study, name=worker.name, known_worker=worker).worker


def texts_seen(study: Study, worker: Worker) -> set[str]:
    """Every sentence that the worker is shown until nothing is left for them; they judge all of it."""
    seen: set[str] = set()
    while claim := claim_assignment(study=study, worker=worker):
        answers = []
        for place in claim.page_units:
            unit = place.unit
            seen |= {caption.text for caption in (unit.first, unit.second, unit.reference) if caption}
            seen |= {option["text"] for option in unit.content.get("options", [])}
            opened = {"answer": {"best": 1, "worst": 2}} if unit.content else {"value": 1}
            answers.append({"position": place.position, **opened})
        submit_assignment(assignment=claim.assignment, answers=answers)
    return seen


def test_used_captions_become_references_behind_those_that_are_there(written: Study) -> None:
    made = adopt_captions(study=written)
    assert (made.added_count, made.existing_count, made.writer_count, made.system) == (6, 0, 2, "")
    item = written.dataset.items.get(position=0)
    references = list(item.references.order_by("position").values_list("position", "text"))
    assert [position for position, _ in references] == [0, 1, 2, 3, 4, 5, 6]
    ada, ben = (Worker.objects.get(name=name) for name in ("ada", "ben"))
    assert [text for _, text in references[5:]] == [caption_by(ada, item.name), caption_by(ben, item.name)]
    writers = {one.caption.text: (one.worker.name, one.judgment) for one in WrittenCaption.objects.all()}
    name, judgment = writers[caption_by(ada, item.name)]
    assert name == "ada"
    assert judgment is not None
    assert (judgment.answer, judgment.unit.item) == (caption_by(ada, item.name), item)
    dataset = Dataset.objects.get(pk=written.dataset_id)
    assert [(one["study"], one["captions"]) for one in dataset.notes["adopted"]] == [(written.slug, 6)]
    assert check_integrity().problems == []


def test_a_caption_under_a_wrong_name_is_found(written: Study) -> None:
    adopt_captions(study=written)
    row = WrittenCaption.objects.select_related("caption")[0]
    WrittenCaption.objects.filter(pk=row.pk).update(
        worker=joined(writing_study(dataset_name="b", slug="b"), "eve").worker
    )
    assert check_integrity().problems == [
        f"Caption {row.caption.key}: worker eve did not write it in a study of its dataset."
    ]


def test_adopting_twice_changes_nothing_and_keys_do_not_come_from_row_ids(written: Study) -> None:
    adopt_captions(study=written)
    before = list(Caption.objects.order_by("pk").values())
    again = adopt_captions(study=written)
    assert (again.added_count, again.existing_count) == (0, 6)
    assert list(Caption.objects.order_by("pk").values()) == before
    assert WrittenCaption.objects.count() == 6
    assert len(Dataset.objects.get(pk=written.dataset_id).notes["adopted"]) == 1
    adopted = Caption.objects.filter(key__startswith="w-")
    keys = set(adopted.values_list("key", flat=True))
    adopted.delete()
    adopt_captions(study=written)
    assert set(adopted.values_list("key", flat=True)) == keys


def test_as_a_systems_outputs_they_are_candidates_and_no_references(written: Study) -> None:
    references = Caption.objects.filter(role="reference").count()
    made = adopt_captions(study=written, system="crowd")
    assert (made.added_count, made.system) == (6, "crowd")
    assert Caption.objects.filter(role="reference").count() == references
    outputs = Output.objects.filter(system__name="crowd").order_by("item__position", "rank")
    assert [(one.item.position, one.rank) for one in outputs] == [
        (n, rank) for n in range(3) for rank in (1, 2)
    ]
    assert adopt_captions(study=written, system="crowd").added_count == 0
    graded = make_study(written.dataset, "graded", name="Grades", slug="grades", controls={"per_hit": 0})
    texts = set(graded.units.values_list("first__text", flat=True))
    assert {one.caption.text for one in outputs} <= texts


def test_a_candidate_that_two_people_wrote_has_two_writers_and_is_shown_to_neither() -> None:
    study = writing_study(images=3, writers=2, dataset_name="twins", slug="twins")
    workers = []
    for name in ("cleo", "dan"):
        worker = joined(study, name).worker
        claim = claim_assignment(study=study, worker=worker)
        assert claim is not None
        answers = [
            {"position": place.position, "answer": f"Shape {place.unit.item.position} is seen here."}
            for place in claim.page_units
        ]
        submit_assignment(assignment=claim.assignment, answers=answers)
        workers.append(worker)
    adopt_captions(study=mark_closed(study=study), system="crowd")
    caption = Caption.objects.get(text="Shape 0 is seen here.")
    assert {one.worker.name for one in caption.written.all()} == {"cleo", "dan"}
    graded = make_study(
        study.dataset, "graded", name="Grades", slug="grades", controls={"per_hit": 0}, units_per_hit=1
    )
    for worker in workers:
        assert not {text for text in texts_seen(graded, known(graded, worker)) if "is seen here" in text}


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"state": "open"}, WrongState, "open"),
        ({"simulated": True}, WrongState, "are simulated"),
        (
            {"protocol": "graded"},
            EvaluationError,
            "written",
        ),
    ],
)
def test_what_cannot_be_adopted_is_refused_in_one_sentence(
    change: dict[str, Any], error: type, words: str, written: Study
) -> None:
    Study.objects.filter(pk=written.pk).update(**change)
    with pytest.raises(error, match=words):
        adopt_captions(study=Study.objects.get(pk=written.pk))
    assert not WrittenCaption.objects.exists()


def test_a_closed_study_without_captions_has_nothing_to_adopt() -> None:
    study = mark_closed(study=writing_study(images=3, dataset_name="unwritten", slug="unwritten"))
    with pytest.raises(WrongState, match="results use"):
        adopt_captions(study=study)


def test_a_system_with_other_captions_is_left_alone(written: Study) -> None:
    with pytest.raises(DataConflict, match="captions from elsewhere"):
        adopt_captions(study=written, system="captioner-x")
    assert System.objects.get(name="captioner-x").outputs.count() == 5


def test_the_command_says_what_became_of_the_captions(
    written: Study, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("adopt_captions", written.slug)
    said = capsys.readouterr().out
    assert "Captions that were added to dataset 'shapes' as references: 6, by 2 writers." in said


@pytest.mark.parametrize(
    ("protocol", "values"),
    [
        ("graded", {"units_per_hit": 2}),
        pytest.param("relevance", {"images_per_hit": 1, "captions_per_image": 3}, marks=pytest.mark.long),
        pytest.param("slider", {"units_per_hit": 2}, marks=pytest.mark.long),
        ("best-worst", {"units_per_hit": 1, "sampling": {"options": 3, "appearances": 1}}),
    ],
)
def test_nobody_is_shown_a_caption_they_wrote_and_others_are(
    protocol: str, values: dict[str, Any], written: Study
) -> None:
    adopt_captions(study=written, system="crowd")
    ada, ben = (Worker.objects.get(name=name) for name in ("ada", "ben"))
    common: dict[str, Any] = {"name": "Later", "slug": "later", "controls": {"per_hit": 0}}
    study = make_study(written.dataset, protocol, **(common | {"judgments_per_unit": 3} | values))
    of_ada, of_ben = texts_seen(study, known(study, ada)), texts_seen(study, known(study, ben))
    of_cleo = texts_seen(study, joined(study, "cleo").worker)
    assert not {text for text in of_ada if "by ada" in text}
    assert not {text for text in of_ben if "by ben" in text}
    assert len({text for text in of_cleo if "by ada" in text or "by ben" in text}) == 6


def test_as_references_too_they_are_kept_from_their_writer(written: Study) -> None:
    adopt_captions(study=written)
    ada = Worker.objects.get(name="ada")
    study = make_study(
        written.dataset,
        "triplet",
        name="Later",
        slug="later",
        controls={"per_hit": 0},
        units_per_hit=2,
        sampling={"pairs": {"HM": 3, "HC": 3}, "references": 4},
    )
    seen = texts_seen(study, known(study, ada))
    assert seen
    assert not {text for text in seen if "by ada" in text}
    assert {text for text in texts_seen(study, joined(study, "cleo").worker) if "by ada" in text}


def test_a_writer_for_whom_only_own_captions_are_left_is_told_that_nothing_is_left() -> None:
    written = written_study("eve", images=2, dataset_name="own", slug="own")
    adopt_captions(study=written, system="crowd")
    Output.objects.exclude(system__name="crowd").delete()
    study = make_study(
        written.dataset, "graded", name="Later", slug="later", controls={"per_hit": 0}, units_per_hit=9
    )
    eve = Worker.objects.get(name="eve")
    assert claim_assignment(study=study, worker=known(study, eve)) is None
    person = joined(study, "cleo")
    assert claim_assignment(study=study, worker=person.worker) is not None


def test_who_wrote_nothing_pays_no_query_for_it(
    written: Study, django_assert_num_queries: Any, django_assert_max_num_queries: Any
) -> None:
    study = make_study(written.dataset, "graded", name="Later", slug="later", controls={"per_hit": 0})
    cleo = joined(study, "cleo").worker
    with django_assert_num_queries(9) as before:
        claim_assignment(study=study, worker=cleo)
    adopt_captions(study=written, system="crowd")
    dan = joined(study, "dan").worker
    with django_assert_max_num_queries(len(before.captured_queries)):
        claim_assignment(study=study, worker=dan)


def test_adopted_captions_have_the_keys_of_the_caption_file(written: Study, tmp_path: Path) -> None:
    path = tmp_path / "captions.jsonl"
    export_judgments(study=written, format="captions", output=path)
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    adopt_captions(study=written)
    adopted = Caption.objects.filter(dataset=written.dataset, key__startswith="w-")
    assert {row["caption_id"] for row in rows} == set(adopted.values_list("key", flat=True))


def test_staff_adopt_captions_with_a_button_and_strangers_cannot(
    written: Study, client: Client, admin_client: Client
) -> None:
    path = do(written, "adopt")
    assert client.post(path).status_code == 302
    assert not WrittenCaption.objects.exists()
    shown = admin_client.get(page(written, "results")).content.decode()
    assert "Adopt captions" in shown
    reply = admin_client.post(path, {"page": "results"}, follow=True)
    assert "Captions that were added to dataset" in reply.content.decode()
    assert WrittenCaption.objects.count() == 6


def test_who_is_no_editor_of_the_dataset_adds_no_captions_to_it(written: Study) -> None:
    ada = User.objects.create_user("designer", is_staff=True)
    give_role(study=written, user=ada, role="designer")
    with refuses(WrongState, "designer"):
        adopt_captions(study=written, by=ada)
    give_dataset_role(dataset=written.dataset, user=ada, role="editor")
    adopt_captions(study=written, system="crowd", by=ada)
    assert System.objects.get(name="crowd").owner == ada


def test_rehearsed_captions_are_never_offered_for_adoption(admin_client: Client) -> None:
    study = writing_study(images=3, dataset_name="rehearsed", slug="rehearsed")
    rehearse(study=study, crowd=RehearsalCrowd(workers=4, seed=1))
    shown = admin_client.get(page(study, "results")).content.decode()
    assert "Adopt captions" not in shown
