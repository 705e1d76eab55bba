"""Agreement and imported scores take tables as people have them, by a mapping of their columns."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from evaluation.models import ImportedMetric
from tests.refusals import refuses

pytestmark = pytest.mark.django_db
WIDE = "item,cap,r1,r2,r3\nt1,cap one,3,4,2\nt2,cap two,1,2,3\n"


def agreement(path: Path, *options: str) -> tuple[dict[str, Any], str]:
    said, aside = StringIO(), StringIO()
    call_command("agreement", str(path), "--resamples", "20", *options, stdout=said, stderr=aside)
    return json.loads(said.getvalue()), aside.getvalue()


def written(tmp_path: Path, content: str, name: str = "table.csv") -> Path:
    path = tmp_path / name
    path.write_text(content)
    return path


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(("--map", "unit=item,value=r{n},worker={n}"), id="numbered"),
        pytest.param(("--map", "unit=item", "--people", "r1,r2,r3"), id="named"),
    ],
)
def test_agreement_reads_a_column_for_each_person(tmp_path: Path, options: tuple[str, ...]) -> None:
    figures, _ = agreement(written(tmp_path, WIDE), "--level", "interval", *options)
    # squared differences: 2 on average within each item, 2 * 5.5 / 5 between all six grades
    assert figures["alpha"]["value"] == pytest.approx(1 - 2 / 2.2)
    assert (figures["units"], figures["workers"], figures["judgments"]) == (2, 3, 6)


def test_agreement_reads_a_workbook_s_or_a_list_s_columns_and_a_part_of_rows(tmp_path: Path) -> None:
    rows = [
        {"seg": seg, "by": by, "said": said, "about": about}
        for about in ("fluency", "adequacy")
        for seg, by, said in (("a", "x", "good"), ("a", "y", "n/a"), ("b", "x", "bad"), ("b", "y", "bad"))
    ]
    figures, _ = agreement(
        written(tmp_path, json.dumps(rows), "list.json"), "--map", "unit=seg,worker=by,value=said",
        "--where", "about=fluency", "--missing", "n/a",
    )  # fmt: skip
    assert figures["judgments"] == 3


def test_numbers_and_texts_of_numbers_are_one_label_and_told(tmp_path: Path) -> None:
    rows = [
        {"unit": f"u{n}", "worker": worker, "value": value}
        for n in range(4)
        for worker, value in (("w1", n % 2 + 1), ("w2", str(n % 2 + 1)))
    ]
    path = written(tmp_path, "".join(json.dumps(row) + "\n" for row in rows), "mixed.jsonl")
    figures, aside = agreement(path, "--level", "nominal")
    assert figures["alpha"]["value"] == 1.0
    assert '"1" is a text in some rows and a number in others, and counts as the number' in aside


def test_labels_that_differ_in_case_alone_are_two_and_told(tmp_path: Path) -> None:
    path = written(tmp_path, "unit,worker,value\na,x,Yes\na,y,yes\nb,x,no\nb,y,no\n")
    figures, aside = agreement(path)
    assert figures["alpha"]["value"] < 0.5
    assert "differ in case or blanks alone, and count as two" in aside


def test_labels_that_differ_in_case_alone_are_told_in_the_order_of_the_file(tmp_path: Path) -> None:
    labels = [case(f"label {n}") for n in range(10) for case in (str.upper, str.lower)]
    rows = "".join(f"u{number},w,{label}\n" for number, label in enumerate(labels))
    _, aside = agreement(written(tmp_path, f"unit,worker,value\n{rows}"))
    assert [line.split('"')[1] for line in aside.splitlines() if "in case" in line] == labels[::2]


def test_a_missing_option_of_two_sources_is_checked(tmp_path: Path) -> None:
    path = str(written(tmp_path, "unit,worker,value\na,x,1\na,y,1\n"))
    with refuses(CommandError, "--missing", "NA", "leave-out"):
        agreement(Path(path), "--with", path, "--missing", "NA")


def test_columns_of_two_sources_are_those_of_both(tmp_path: Path) -> None:
    table = "image,cap,rater,stars,lang\n" + "".join(
        f"{n}.jpg,one,{rater},{1 + n % 4},en\n{n}.jpg,one,{rater},9,de\n" for n in range(8) for rater in "xy"
    )
    first, second = (written(tmp_path, table, name) for name in ("first.csv", "second.csv"))
    options = ["--first-protocol", "graded", "--second-protocol", "graded", "--resamples", "20"]
    options += ["--map", "image=image,first_text=cap,worker=rater,value=stars", "--where", "lang=en"]
    figures, _ = agreement(first, "--with", str(second), *options, "--missing", "no")
    assert figures["units"]["shared"] == 8
    assert figures["correlation"]["pearson"]["value"] == pytest.approx(1)
    second.write_text(table.replace("stars", "grade"))
    with refuses(CommandError, "second.csv", "--map", "stars"):
        agreement(first, "--with", str(second), *options)
    with pytest.raises(CommandError, match="a judgments file"):
        agreement(Path("study:a"), "--with", "study:b", "--map", "worker=rater")


SCORES = "Scores of May,,\nfilename,comet,lang\nA.jpg,0.5,en\nB.jpg,NA,en\nA.jpg,0.9,de\n"
HOW = {
    "metric": "comet",
    "map": "image=filename,score=comet,system=lang",
    "header_row": "2",
    "where": "lang=en",
    "missing": "NA",
}


@pytest.fixture
def items(tmp_path: Path) -> None:
    table = "image,caption,system\nA.jpg,a person,\nB.jpg,a person,\nA.jpg,one,en\nB.jpg,two,en\n"
    path = str(written(tmp_path, table, "items.csv"))
    call_command("import_dataset", "csv", path, "--name", "items", stdout=StringIO())


@pytest.mark.usefixtures("items")
def test_scores_are_imported_from_other_columns(tmp_path: Path) -> None:
    path = written(tmp_path, SCORES)
    with pytest.raises(CommandError):
        call_command("import_scores", str(path), "--dataset", "items", "--metric", "comet")
    options = [part for name, value in HOW.items() for part in (f"--{name.replace('_', '-')}", value)]
    call_command("import_scores", str(path), "--dataset", "items", *options, stdout=StringIO())
    metric = ImportedMetric.objects.get()
    assert (metric.name, metric.known) == ("comet", 1)


@pytest.mark.usefixtures("items")
def test_scores_of_a_call_have_other_columns_too(designer: Client) -> None:
    rows = [
        {"filename": "A.jpg", "comet": 0.5, "lang": "en"},
        {"filename": "B.jpg", "comet": "NA", "lang": "en"},
    ]
    how = {name: value for name, value in HOW.items() if name != "header_row"} | {"metric": ["comet"]}
    sent = designer.post(
        reverse("api:dataset-scores", args=["items"]), {"rows": rows} | how, content_type="application/json"
    )
    assert sent.status_code == 201, sent.content
    assert ImportedMetric.objects.get().known == 1
