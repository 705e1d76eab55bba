"""What workers wrote becomes part of the dataset, and no worker is shown a caption of their own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from annotation.models import Worker, WrittenCaption
from annotation.rehearsal.people import Crowd
from annotation.rehearsal.rehearsal import rehearse
from annotation.work.claims import claim_assignment
from annotation.work.joining import join_study
from annotation.work.submissions import submit_assignment
from common.errors import DataConflict, WrongState
from evaluation.errors import EvaluationError, ExportError
from evaluation.export.exporting import export_judgments
from evaluation.follow_up.adoption import adopt_captions
from evaluation.integrity import check_integrity
from judgments.datasets.importing import import_dataset
from judgments.models import Caption, Dataset, Output, Study, System
from tests.annotation.casting import joined, make_study
from tests.annotation.writing import caption_by, write_all, writing_study, written_study

pytestmark = pytest.mark.django_db


def known(study: Study, worker: Worker) -> Worker:
    """Somebody who works here already joins another study."""
    return join_study(study=study, name=worker.name, known=worker).worker


def texts_seen(study: Study, worker: Worker) -> set[str]:
    """Every sentence that the worker is shown until nothing is left for them; they judge all of it."""
    seen: set[str] = set()
    while claim := claim_assignment(study=study, worker=worker):
        answers = []
        for place in claim.places:
            unit = place.unit
            seen |= {caption.text for caption in (unit.first, unit.second, unit.reference) if caption}
            seen |= {option["text"] for option in unit.content.get("options", [])}
            opened = {"answer": {"best": 1, "worst": 2}} if unit.content else {"value": 1}
            answers.append({"position": place.position, **opened})
        submit_assignment(assignment=claim.assignment, answers=answers)
    return seen


def test_used_captions_become_references_behind_those_that_are_there() -> None:
    study = written_study("ada", "ben", images=3)
    made = adopt_captions(study=study)
    assert (made.added, made.there, made.writers, made.system) == (6, 0, 2, "")
    item = study.dataset.items.get(position=0)
    references = list(item.references.order_by("position").values_list("position", "text"))
    assert [position for position, _ in references] == [0, 1, 2, 3, 4, 5, 6]
    ada, ben = (Worker.objects.get(name=name) for name in ("ada", "ben"))
    assert [text for _, text in references[5:]] == [caption_by(ada, item.name), caption_by(ben, item.name)]
    writers = {one.caption.text: (one.worker.name, one.judgment) for one in WrittenCaption.objects.all()}
    name, judgment = writers[caption_by(ada, item.name)]
    assert name == "ada"
    assert judgment is not None
    assert (judgment.answer, judgment.unit.item) == (caption_by(ada, item.name), item)
    dataset = Dataset.objects.get(pk=study.dataset_id)
    assert [(one["study"], one["captions"]) for one in dataset.notes["adopted"]] == [(study.slug, 6)]
    assert check_integrity().problems == []


def test_a_caption_under_a_wrong_name_is_found() -> None:
    study = written_study("ada", images=3)
    adopt_captions(study=study)
    row = WrittenCaption.objects.select_related("caption")[0]
    WrittenCaption.objects.filter(pk=row.pk).update(
        worker=joined(writing_study(dataset_name="b", slug="b"), "eve").worker
    )
    assert check_integrity().problems == [
        f"Caption {row.caption.key}: worker eve did not write it in a study of its dataset."
    ]


def test_adopting_twice_changes_nothing() -> None:
    study = written_study("ada", "ben", images=3)
    adopt_captions(study=study)
    before = list(Caption.objects.order_by("pk").values())
    again = adopt_captions(study=study)
    assert (again.added, again.there) == (0, 6)
    assert list(Caption.objects.order_by("pk").values()) == before
    assert WrittenCaption.objects.count() == 6
    assert len(Dataset.objects.get(pk=study.dataset_id).notes["adopted"]) == 1


def test_keys_come_from_what_was_written_and_not_from_row_ids() -> None:
    first = written_study("ada", images=3)
    adopt_captions(study=first)
    keys = set(Caption.objects.filter(key__startswith="w-").values_list("key", flat=True))
    Caption.objects.filter(key__startswith="w-").delete()
    adopt_captions(study=first)
    assert set(Caption.objects.filter(key__startswith="w-").values_list("key", flat=True)) == keys


def test_as_a_systems_outputs_they_are_candidates_and_no_references() -> None:
    study = written_study("ada", "ben", images=3)
    references = Caption.objects.filter(role="reference").count()
    made = adopt_captions(study=study, system="crowd")
    assert (made.added, made.system) == (6, "crowd")
    assert Caption.objects.filter(role="reference").count() == references
    outputs = Output.objects.filter(system__name="crowd").order_by("item__position", "rank")
    assert [(one.item.position, one.rank) for one in outputs] == [
        (n, rank) for n in range(3) for rank in (0, 1)
    ]
    assert adopt_captions(study=study, system="crowd").added == 0
    graded = make_study(study.dataset, "graded", name="Grades", slug="grades", controls={"per_hit": 0})
    texts = set(graded.units.values_list("first__text", flat=True))
    assert {one.caption.text for one in outputs} <= texts


def test_a_candidate_that_two_people_wrote_has_two_writers_and_is_shown_to_neither() -> None:
    study = writing_study(images=3, writers=2, dataset_name="twins")
    workers = []
    for name in ("ada", "ben"):
        worker = joined(study, name).worker
        claim = claim_assignment(study=study, worker=worker)
        assert claim is not None
        answers = [
            {"position": place.position, "answer": f"Shape {place.unit.item.position} is seen here."}
            for place in claim.places
        ]
        submit_assignment(assignment=claim.assignment, answers=answers)
        workers.append(worker)
    study.state = Study.State.CLOSED
    study.save()
    adopt_captions(study=study, system="crowd")
    caption = Caption.objects.get(text="Shape 0 is seen here.")
    assert {one.worker.name for one in caption.written.all()} == {"ada", "ben"}
    graded = make_study(
        study.dataset, "graded", name="Grades", slug="grades", controls={"per_hit": 0}, units_per_hit=1
    )
    for worker in workers:
        assert not {text for text in texts_seen(graded, known(graded, worker)) if "is seen here" in text}


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"state": "open"}, WrongState, "is open; close it first"),
        ({"simulated": True}, WrongState, "are simulated"),
        (
            {"protocol": "graded"},
            EvaluationError,
            "captions are written in studies of protocol caption alone",
        ),
    ],
)
def test_what_cannot_be_adopted_is_refused_in_one_sentence(
    change: dict[str, Any], error: type, words: str
) -> None:
    study = written_study("ada", images=3)
    Study.objects.filter(pk=study.pk).update(**change)
    study.refresh_from_db()
    with pytest.raises(error, match=words):
        adopt_captions(study=study)
    assert not WrittenCaption.objects.exists()


def test_a_closed_study_without_captions_has_nothing_to_adopt() -> None:
    study = writing_study(images=3)
    Study.objects.filter(pk=study.pk).update(state="closed")
    study.refresh_from_db()
    with pytest.raises(WrongState, match="holds no caption that is used"):
        adopt_captions(study=study)


def test_a_system_with_other_captions_is_left_alone() -> None:
    study = written_study("ada", images=3)
    with pytest.raises(DataConflict, match="captions from elsewhere"):
        adopt_captions(study=study, system="captioner-x")
    assert System.objects.get(name="captioner-x").outputs.count() == 5


def test_the_command_says_what_became_of_the_captions(capsys: pytest.CaptureFixture[str]) -> None:
    study = written_study("ada", "ben", images=3)
    call_command("adopt_captions", study.slug)
    said = capsys.readouterr().out
    assert "6 captions by 2 writers became references of dataset 'shapes'; 0 had been adopted before." in said


# nobody judges a caption of their own


@pytest.mark.parametrize(
    ("protocol", "values"),
    [
        ("graded", {"units_per_hit": 2}),
        ("relevance", {"images_per_hit": 1, "captions_per_image": 3}),
        ("slider", {"units_per_hit": 2}),
        (
            "best-worst",
            {"units_per_hit": 1, "sampling": {"options": 3, "appearances": 1}},
        ),
    ],
)
def test_nobody_is_shown_a_caption_they_wrote_and_others_are(protocol: str, values: dict[str, Any]) -> None:
    written = written_study("ada", "ben", images=4)
    adopt_captions(study=written, system="crowd")
    ada, ben = (Worker.objects.get(name=name) for name in ("ada", "ben"))
    common: dict[str, Any] = {"name": "Later", "slug": "later", "controls": {"per_hit": 0}}
    study = make_study(written.dataset, protocol, **(common | {"judgments_per_unit": 3} | values))
    of_ada, of_ben = texts_seen(study, known(study, ada)), texts_seen(study, known(study, ben))
    of_cleo = texts_seen(study, joined(study, "cleo").worker)
    assert not {text for text in of_ada if "by ada" in text}
    assert not {text for text in of_ben if "by ben" in text}
    assert len({text for text in of_cleo if "by ada" in text or "by ben" in text}) == 8


def test_as_references_too_they_are_kept_from_their_writer() -> None:
    written = written_study("ada", "ben", images=4)
    adopt_captions(study=written)
    ada = Worker.objects.get(name="ada")
    study = make_study(
        written.dataset,
        "triplet",
        name="Later",
        slug="later",
        controls={"per_hit": 0},
        units_per_hit=2,
        sampling={"pairs": {"HM": 4, "HC": 4}, "references": 4},
    )
    seen = texts_seen(study, known(study, ada))
    assert seen
    assert not {text for text in seen if "by ada" in text}
    assert {text for text in texts_seen(study, joined(study, "cleo").worker) if "by ada" in text}


def test_a_writer_for_whom_only_own_captions_are_left_is_told_that_nothing_is_left() -> None:
    written = written_study("ada", images=2)
    adopt_captions(study=written, system="crowd")
    Output.objects.exclude(system__name="crowd").delete()
    study = make_study(
        written.dataset, "graded", name="Later", slug="later", controls={"per_hit": 0}, units_per_hit=9
    )
    ada = Worker.objects.get(name="ada")
    assert claim_assignment(study=study, worker=known(study, ada)) is None
    person = joined(study, "cleo")
    assert claim_assignment(study=study, worker=person.worker) is not None


def test_who_wrote_nothing_pays_no_query_for_it(django_assert_num_queries: Any) -> None:
    written = written_study("ada", images=3)
    study = make_study(written.dataset, "graded", name="Later", slug="later", controls={"per_hit": 0})
    cleo = joined(study, "cleo").worker
    with django_assert_num_queries(10) as before:
        claim_assignment(study=study, worker=cleo)
    adopt_captions(study=written, system="crowd")
    dan = joined(study, "dan").worker
    with django_assert_num_queries(len(before.captured_queries)):
        claim_assignment(study=study, worker=dan)


# files


def test_the_caption_file_is_a_dataset_that_comes_back(tmp_path: Path) -> None:
    study = written_study("ada", "ben", images=3)
    path = tmp_path / "captions.jsonl"
    made = export_judgments(study=study, format="captions", output=path)
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert made.manifest["counts"] == {"captions": 6, "writers": 2}
    assert {row["worker"] for row in rows} == {"writer-0001", "writer-0002"}
    assert not any("name" in row for row in rows)
    import_dataset(format="jsonl", path=path, name="again")
    back = Caption.objects.filter(dataset__name="again").order_by("item__position", "position")
    assert [(one.item.name, one.text, one.key) for one in back if one.item] == [
        (row["image"], row["caption"], row["caption_id"]) for row in rows
    ]
    assert set(Dataset.objects.get(name="again").items.values_list("split", flat=True)) == {"test"}
    adopt_captions(study=study)
    adopted = Caption.objects.filter(dataset=study.dataset, key__startswith="w-")
    assert {row["caption_id"] for row in rows} == set(adopted.values_list("key", flat=True))


def test_a_study_that_writes_no_captions_has_no_caption_file(tmp_path: Path) -> None:
    study = written_study("ada", images=3)
    graded = make_study(study.dataset, "graded", name="Grades", slug="grades", controls={"per_hit": 0})
    with pytest.raises(ExportError, match="it holds captions that workers wrote"):
        export_judgments(study=graded, format="captions", output=tmp_path / "captions.jsonl")


def test_judgments_of_captions_are_exported_with_their_texts(tmp_path: Path) -> None:
    study = written_study("ada", images=3)
    for name in ("jsonl", "csv", "parquet"):
        export_judgments(study=study, format=name, output=tmp_path / f"judgments.{name}")
    rows = [json.loads(line) for line in (tmp_path / "judgments.jsonl").read_text().splitlines()]
    ada = Worker.objects.get(name="ada")
    assert {row["answer"] for row in rows} == {caption_by(ada, row["image"]) for row in rows}
    assert all(row["value"] is None for row in rows)


# the admin


def test_staff_adopt_captions_with_a_button_and_strangers_cannot(
    client: Client, admin_client: Client
) -> None:
    study = written_study("ada", images=3)
    path = f"/admin/judgments/study/{study.pk}/do/adopt/"
    assert client.post(path).status_code == 302
    assert not WrittenCaption.objects.exists()
    page = admin_client.get(f"/admin/judgments/study/{study.pk}/results/").content.decode()
    assert "Adopt captions" in page
    reply = admin_client.post(path, {"page": "results"}, follow=True)
    assert "3 captions by 1 writer became references of dataset" in reply.content.decode()
    assert WrittenCaption.objects.count() == 3


def test_rehearsed_captions_are_never_offered_for_adoption(admin_client: Client) -> None:
    study = writing_study(images=3)
    rehearse(study=study, crowd=Crowd(workers=4, seed=1))
    page = admin_client.get(f"/admin/judgments/study/{study.pk}/results/").content.decode()
    assert "Adopt captions" not in page


def test_everybody_wrote_what_the_helpers_say() -> None:
    study = writing_study(images=3)
    assert write_all(study, "ada").assignments.count() == 1
