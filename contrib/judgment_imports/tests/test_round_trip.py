"""What goes out comes back: every kind, in every format that is written and read."""

import csv
import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from contrib.rehearsals.simulation.crowd import RehearsalCrowd
from contrib.rehearsals.simulation.run import rehearse
from evaluation.data.export.exporting import export_judgments
from evaluation.results.aggregation import compute_aggregation
from judgments.jobs.claims import run_job
from judgments.kinds import KINDS
from judgments.models import Dataset, Job, Study
from tests.evaluation.studies import StudyOf, make_dataset
from tests.evaluation.test_credits import without_systems
from tests.evaluation.test_kinds_of_releases import drafted
from tests.judgments.desk import words
from tests.judgments.results.test_layouts import workbook
from tests.marks import long_except

pytestmark = pytest.mark.django_db
TEXTS = (
    "=SUM(A1)", "'=x", "'x", "NaN", "1.10", "007", 'say "hi", then\nleave', "x\ty", "null", "[1] list", '"quoted"',
    "un café", "un cafe\u0301 noir", "true", "- dash", " blanks ", "one\r\nline", "😀", "e" * 2_000, "",
)  # fmt: skip
PEOPLE = ("=w", "'=w", "007", "1.10", "null")
IMAGES = {"a.jpg": ["a dog"], "007": ["a cat"], "1.10": ["a car"]}


def as_it_is(path: Path) -> None:
    pass


def cells(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def as_tsv(path: Path) -> None:
    rows = cells(path)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter="\t").writerows(rows)


def as_json(path: Path) -> None:
    path.write_text(json.dumps(records(path)), "utf-8")


def as_workbook(path: Path) -> None:
    """What a spreadsheet program makes of the CSV: numbers and flags in cells of their types."""
    header, *rows = cells(path)
    workbook(path, [header, *([_cell(*cell) for cell in zip(header, row, strict=True)] for row in rows)])


def typed(column: str, text: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    return json.loads(text) if column in ("value", "seconds", "wall_seconds", "revision") and text else text


def _cell(column: str, text: str) -> Any:
    value = typed(column, text)
    return escape(value, {"\r": "&#13;"}) if isinstance(value, str) else value


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]


# format -> what is exported, and how it becomes a file of the format
FORMATS: dict[str, tuple[str, Callable[[Path], None]]] = {
    "jsonl": ("jsonl", as_it_is),
    "csv": ("csv", as_it_is),
    "parquet": ("parquet", as_it_is),
    "tsv": ("csv", as_tsv),
    "json": ("jsonl", as_json),
    "xlsx": ("csv", as_workbook),
}


def figures(study: Study) -> dict[str, Any]:
    """Consensus, agreement, systems and people, as `aggregate --output` has them."""
    found = compute_aggregation(study=study).as_json()
    sides = {"first", "second"}  # ids of captions, which are those of texts wherever no file gave others
    pairs = [{name: pair[name] for name in pair.keys() - sides} for pair in found["pairs"]]
    return {
        "units": {row["unit"]: row for row in found["units"]},
        "pairs": {pair["pair"]: pair for pair in pairs},
        "workers": {row["worker"]: row["used_judgments"] for row in found["workers"]},
        **{name: found.get(name) for name in ("agreement", "systems", "systems_verdict")},
    }


def same(first: Any, second: Any) -> bool:
    """Whether figures are equal, but for the order in which floats were added."""
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(same(first[name], second[name]) for name in first)
    if isinstance(first, list):
        return len(first) == len(second) and all(map(same, first, second))
    return first == (pytest.approx(second, abs=1e-9) if isinstance(second, float) else second)


def written(study: Study, form: str, folder: Path) -> Path:
    exported, change = FORMATS[form]
    path = folder / f"out.{form}"
    export_judgments(study=study, format=exported, output=path)
    change(path)
    return path


def empty_dataset(study: Study, form: str) -> Dataset:
    """The images and references of a study's dataset, without systems and candidates."""
    made = without_systems(study.dataset)
    made.name = f"empty-{form}"
    made.save()
    return made


def brought_back(study: Study, path: Path, form: str, design: Path | None = None) -> Study:
    call_command(
        "import_judgments", form, str(path), dataset=empty_dataset(study, form).name, study=f"again-{form}",
        protocol=study.protocol, design=design, stdout=StringIO(),
    )  # fmt: skip
    return Study.objects.get(slug=f"again-{form}")


@pytest.mark.long
@pytest.mark.parametrize("protocol", [*KINDS])
def test_figures_come_back_from_each_format(protocol: str, tmp_path: Path) -> None:
    study = drafted(protocol, tmp_path)
    rehearse(study=study, crowd=RehearsalCrowd(workers=5, spammers=0.2, seed=5, drop_outs=0.0))
    study.refresh_from_db()
    design = tmp_path / "design.toml"
    call_command("export_study", study.slug, output=design, stdout=StringIO())
    wanted = figures(study)
    assert wanted["units"]
    alpha = wanted["agreement"]["alpha"]
    for form in FORMATS:
        path = written(study, form, tmp_path)
        assert same(figures(brought_back(study, path, form, design)), wanted), form
        file = tmp_path / "agreement.json"
        of_file = {} if not KINDS[protocol].is_open else {"design": design}
        call_command("agreement", str(path), output=file, stdout=StringIO(), stderr=StringIO(), **of_file)
        measured = json.loads(file.read_text())
        assert measured["alpha"]["value"] == pytest.approx(alpha["value"]), form
        assert {name: measured[name] for name in ("level", "units", "workers", "judgments")} == {
            name: alpha[name] for name in ("level", "units", "workers", "judgments")
        }, form


@pytest.mark.parametrize("protocol", long_except(["graded", "pairwise", "spans"], "spans"))
def test_a_table_that_a_program_saved_as_json_comes_back(protocol: str, tmp_path: Path) -> None:
    study = drafted(protocol, tmp_path)
    rehearse(study=study, crowd=RehearsalCrowd(workers=5, spammers=0.2, seed=5, drop_outs=0.0))
    study.refresh_from_db()
    header, *rows = cells(written(study, "csv", tmp_path))
    path = tmp_path / "out.json"
    values = [
        {name: typed(name, text) if text else None for name, text in zip(header, row, strict=True)}
        for row in rows
    ]
    path.write_text(json.dumps(values), "utf-8")
    design = tmp_path / "design.toml"
    call_command("export_study", study.slug, output=design, stdout=StringIO())
    assert same(figures(brought_back(study, path, "json", design)), figures(study))


@pytest.mark.parametrize(
    ("protocol", "form"),
    [
        *(("graded", form) for form in FORMATS),
        *(
            pytest.param(protocol, form, marks=pytest.mark.long)
            for protocol in ("spans", "keywords")
            for form in FORMATS
        ),
    ],
)
def test_each_letter_comes_back(protocol: str, form: str, tmp_path: Path) -> None:
    """Names and texts that look like formulas, numbers, JSON or nothing, and cells of several lines."""
    made = StudyOf(make_dataset("toy", IMAGES), protocol)
    shown: list[dict[str, Any]] = [{"first": text} for text in TEXTS]
    answers: list[Any] = [1 + number % 4 for number in range(len(TEXTS))]
    if protocol == "spans":
        answers = [
            {"spans": [{"start": 0, "end": len(text), "severity": "minor"}] if text else []} for text in TEXTS
        ]
    elif protocol == "keywords":
        shown = [{"content": {"text": f"{text} dog 1.10", "collocations": []}} for text in TEXTS]
        answers = [["dog", "1.10"]] * len(TEXTS)
    units = [made.unit(f"u{n}", [*IMAGES][n % 3], **what) for n, what in enumerate(shown)]
    made.hit("h1", units, required=len(PEOPLE))
    for name in PEOPLE:
        made.answer(made.study.hits.get(), name, answers)
    again = brought_back(made.study, written(made.study, form, tmp_path), form)
    assert same(figures(again), figures(made.study))
    rows = [records(written(study, "jsonl", tmp_path)) for study in (made.study, again)]
    changed = {"study": "", "first": ""}
    assert [row | changed for row in rows[1]] == [row | changed for row in rows[0]]


def test_answers_to_a_template_need_its_study_file(tmp_path: Path) -> None:
    study = drafted("template", tmp_path)
    rehearse(study=study, crowd=RehearsalCrowd(workers=3, spammers=0.0, seed=5, drop_outs=0.0))
    path = str(written(study, "jsonl", tmp_path))
    wanted = "template.*study's.*--design"
    with pytest.raises(CommandError, match=wanted):
        call_command("import_judgments", "jsonl", path, dataset="tone", study="again", stdout=StringIO())
    with pytest.raises(CommandError, match=wanted):
        call_command("agreement", path, stdout=StringIO())
    assert not Study.objects.filter(slug="again").exists()


@pytest.mark.parametrize(
    "when", long_except(["at once", "before the columns", "after a refusal"], "after a refusal")
)
def test_a_template_comes_back_through_the_page(designer: Client, when: str, tmp_path: Path) -> None:
    study = drafted("template", tmp_path)
    rehearse(study=study, crowd=RehearsalCrowd(workers=5, spammers=0.2, seed=5, drop_outs=0.0))
    study.refresh_from_db()
    path = written(study, "csv", tmp_path)
    if when == "before the columns":
        path.write_text(path.read_text().replace("worker,", "Who,", 1))
    call_command("export_study", study.slug, output=tmp_path / "design.toml", stdout=StringIO())
    design = SimpleUploadedFile("design.toml", (tmp_path / "design.toml").read_bytes())
    dataset = empty_dataset(study, when.replace(" ", "-"))
    answers = SimpleUploadedFile("answers.csv", path.read_bytes())
    form = {"files": answers, "format": "csv", "study": "again"}
    address = reverse("admin:judgments_dataset_judgments", args=[dataset.pk])
    if when != "after a refusal":
        no_file = form | {"design": SimpleUploadedFile("no.toml", b"=")}
        assert "Study file: no.toml is not TOML" in words(designer.post(address, no_file))
        answers.seek(0)
        form["design"] = design
    address = designer.post(address, form).headers["Location"]
    if when == "after a refusal":
        job = Job.objects.get()
        run_job(job.pk)
        address = reverse("admin:judgments_dataset_columns", args=[job.args["upload"]])
        assert "which has the page (“Study file”)" in words(designer.get(address))
    if when != "at once":
        columns = designer.get(address).context["table"]["columns"]
        names = {f"column-{at}": column["name"] for at, column in enumerate(columns)}
        ours = {"Who": "worker", "protocol": ""}  # the study file says of which protocol they are
        sent: dict[str, Any] = {at: ours.get(name, name) for at, name in names.items()}
        designer.post(address, sent | ({"design": design} if when == "after a refusal" else {}))
    run_job(Job.objects.latest("pk").pk)
    assert Job.objects.latest("pk").error == ""
    assert same(figures(Study.objects.get(slug="again")), figures(study))


def test_reliability_holds_sides_whatever_the_strength(tmp_path: Path) -> None:
    made = StudyOf(
        make_dataset("toy", IMAGES),
        "pairwise",
        answers={"strength": True, "confidence": True, "neither": True},
    )
    pairs = [made.pair(f"p{n}", "a.jpg", f"one {n}", f"two {n}") for n in range(4)]
    hit = made.hit("h1", [made.unit(f"u{n}", pair=pair) for n, pair in enumerate(pairs)])
    made.answer(hit, "ada", [211, 112, 301, 3])
    path = tmp_path / "out.csv"
    export_judgments(study=made.study, format="reliability", output=path)
    assert path.read_text().splitlines() == ["worker,u0,u1,u2,u3", "ada,1,2,1,3"]


LABEL_STUDIO: list[dict[str, Any]] = [
    {
        "id": 10 * place + number,
        "data": {"image": image, "text": text, "model": model},
        "annotations": [
            {
                "id": 100 * place + 10 * number + rater,
                "completed_by": {"id": rater, "email": f"r{rater}@x.org"},
                "result": [
                    {
                        "from_name": "grade",
                        "type": "rating",
                        "value": {"rating": 1 + (place + number + rater) % 4},
                    }
                ],
            }
            for rater in range(3)
        ],
    }
    for place, image in enumerate(IMAGES)
    for number, (model, text) in enumerate((("s1", "same"), ("s2", "same"), ("s3", f"of {place}")))
]


def in_label_studio(folder: Path) -> tuple[Path, str]:
    path = folder / "tasks.json"
    path.write_text(json.dumps(LABEL_STUDIO))
    return path, "image=data.image,first_text=data.text,system=data.model,value=grade"


def in_potato(folder: Path) -> tuple[Path, str]:
    for rater in range(3):
        lines = [
            {
                "id": f"t{task['id']}", "displayed_text": task["data"]["text"], **task["data"],
                "label_annotations": {"grade": {"scale": task["annotations"][rater]["result"][0]["value"]["rating"]}},
            }
            for task in LABEL_STUDIO
        ]  # fmt: skip
        (folder / "all" / f"r{rater}").mkdir(parents=True)
        text = "".join(f"{json.dumps(line)}\n" for line in lines)
        (folder / "all" / f"r{rater}" / "annotated_instances.jsonl").write_text(text)
    return folder / "all", "image=image,system=model,value=grade.value"


def in_prodigy(folder: Path) -> tuple[Path, str]:
    lines = [
        {
            **task["data"], "_input_hash": task["id"], "_annotator_id": f"r{rater}",
            "accept": [str(annotation["result"][0]["value"]["rating"])],
        }
        for task in LABEL_STUDIO
        for rater, annotation in enumerate(task["annotations"])
    ]  # fmt: skip
    path = folder / "prodigy.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path, "unit=_input_hash,image=image,first_text=text,system=model,worker=_annotator_id,value=accept"


LAYOUTS = {
    "label-studio": ("label-studio", in_label_studio),
    "potato": ("potato", in_potato),
    "prodigy": ("jsonl", in_prodigy),
}


@pytest.mark.long
@pytest.mark.parametrize("layout", long_except(["label-studio", "potato", "prodigy"], "label-studio"))
def test_what_other_platforms_export_comes_back(layout: str, tmp_path: Path) -> None:
    """Each system's mean is that of its own grades, though two say the same."""
    form, write = LAYOUTS[layout]
    path, columns = write(tmp_path)
    call_command("import_judgments", form, str(path), dataset=make_dataset("toy", IMAGES).name, study="came",
                 protocol="graded", map=columns, stdout=StringIO())  # fmt: skip
    study = Study.objects.get(slug="came")
    wanted = figures(study)
    means = {row["system"]: row["mean"]["value"] for row in wanted["systems"]}
    assert means == pytest.approx({"s1": 23 / 9, "s2": 24 / 9, "s3": 21 / 9})
    for exported in FORMATS:
        file = written(study, exported, tmp_path)
        assert same(figures(brought_back(study, file, exported)), wanted), exported
