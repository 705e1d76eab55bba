"""Old result files of Mechanical Turk as studies of their own."""

import io
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from annotation.models import Assignment, Judgment, Worker
from judgments.models import CandidatePair, Study, Unit
from tests.annotation.casting import make_dataset
from tests.judgments.results.result_files import csv_file, row_with
from tests.refusals import refuses

pytestmark = pytest.mark.django_db
COLUMNS = "image=Input.image,first_text=Input.a,second_text=Input.b,pair=Input.pair,value=Answer.choice"


def results(folder: Path) -> Path:
    """Two people on two HITs; the second one's work on the second HIT was rejected."""
    make_dataset(pictures=False)
    rows = [
        row_with(
            HITId=f"3HIT{hit}",
            AssignmentId=f"3A{hit}{worker}",
            WorkerId=f"AWORKER{worker}",
            AssignmentStatus="Rejected" if (hit, worker) == (2, 2) else "Approved",
            Input__image=f"https://pictures.example/secret-file-0{hit}.jpg",
            Input__pair=f"pair-{hit}",
            Answer__choice="left" if worker == 1 else "right",
        )
        for hit in (1, 2)
        for worker in (1, 2)
    ]
    return csv_file(folder, *rows)


def run(path: Path, **options: str) -> str:
    said = io.StringIO()
    wanted = {"columns": COLUMNS, "values": "left=1,right=2", "protocol": "pairwise"} | options
    call_command(
        "import_judgments", "mturk", str(path), dataset="shapes", study="old-batch", stdout=said, **wanted
    )
    return said.getvalue()


def test_a_result_file_becomes_a_study(tmp_path: Path) -> None:
    said = run(results(tmp_path))
    assert "Study old-batch: imported." in said
    assert "Answers of rejected assignments, which are stored but not used: 1." in said
    study = Study.objects.get(slug="old-batch")
    assert (study.protocol, study.state, study.source) == ("pairwise", "closed", "imported")
    assert study.hits.count() == 2
    assert CandidatePair.objects.filter(study=study).count() == 2
    assert Unit.objects.filter(study=study).count() == 2
    assert Worker.objects.filter(study=study).count() == 2
    assert Assignment.objects.filter(study=study).count() == 4
    rows = Judgment.objects.of_study(study).values_list("assignment__external_id", "value", "set_aside")
    assert sorted(rows) == [
        ("3A11", 1, False),
        ("3A12", 2, False),
        ("3A21", 1, False),
        ("3A22", 2, True),
    ]


def test_the_same_file_again_changes_nothing(tmp_path: Path) -> None:
    path = results(tmp_path)
    run(path)
    assert "was there already with the same rows; nothing changed" in run(path)
    assert Judgment.objects.count() == 4


def test_amazon_s_ids_of_workers_stay_outside(tmp_path: Path) -> None:
    make_dataset(pictures=False)
    cells = {"Input.image": "secret-file-01.jpg", "Input.pair": "pair-1"}
    rows = [
        row_with(WorkerId=worker, AssignmentId=f"3A{number}") | cells
        for number, worker in enumerate(("A2RAWIDOFAMAZON", "worker-7"))
    ]
    run(csv_file(tmp_path, *rows))
    names = sorted(Worker.objects.values_list("name", flat=True))
    assert names[1] == "worker-7"
    assert names[0].startswith("p-")


@pytest.mark.parametrize(
    ("options", "values"),
    [
        ({"values": "left=1"}, ["line 3, Answer.choice", '"right"', "one of left"]),
        ({"columns": "value=Answer.choice"}, ["--map", "nothing that was judged"]),
        ({"columns": "unit=HITId,value=Answer.choice"}, ["no image"]),
        ({"columns": "value"}, ["--map", '"value"', "image=filename"]),
        ({"zone": "Mars/Olympus"}, ["--zone", '"Mars/Olympus"', "America/Los_Angeles"]),
    ],
)
def test_what_does_not_fit_leaves_nothing_behind(
    tmp_path: Path, options: dict[str, str], values: list[str]
) -> None:
    path = results(tmp_path)
    with refuses(CommandError, *values):
        run(path, **options)
    assert not Study.objects.exists()
    assert not Worker.objects.exists()
