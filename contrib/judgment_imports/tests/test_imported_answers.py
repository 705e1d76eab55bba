"""Answers of a file are checked as those of the page: with line and column, and nothing is stored of a bad file."""

import csv
import json
from contextlib import suppress
from io import StringIO
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pytest
from django.core.management import CommandError, call_command
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotation.models import Judgment
from common.errors import QuorumError
from contrib.judgment_imports.importing import import_judgments
from evaluation.results.aggregation import compute_aggregation
from judgments.importers import TABLE_FORMATS, ColumnMapping, ImportProblem, open_judgments
from judgments.kinds import KINDS
from judgments.models import Dataset, Item, Study
from judgments.studies.designs import design_of
from tests.evaluation.studies import make_dataset
from tests.judgments.results.test_layouts import table_in
from tests.marks import long_except
from tests.refusals import refuses

pytestmark = pytest.mark.django_db
TEXT = "A dog runs through snow"
MARK = {"start": 2, "end": 5, "severity": "minor"}
MISSING = {"start": None, "end": None, "severity": "major"}
OPTIONS = [{"key": f"c{number}", "text": f"Dog {number}"} for number in (1, 2, 3)]
BOX = {"label": "dog", "x": 0.1, "y": 0.1, "width": 0.5, "height": 0.5}
ROW = {"image": "a.png", "first_text": TEXT, "second_text": "A cat", "reference_text": "A hound"}
RIGHT: dict[str, dict[str, Any]] = {
    "spans": {"answer": {"spans": [MARK], "score": 80}},
    "best-worst": {"answer": {"best": "c1", "worst": "c3"}, "content": {"options": OPTIONS}},
    "keywords": {"answer": ["dog"], "content": {"text": TEXT, "collocations": []}},
    "grounding": {"answer": [{"word": 1, "box": "b"}], "content": {"boxes": [BOX | {"id": "b"}]}},
    "caption": {"answer": "A dog runs through the snow"},
    "relevance": {"value": 1},
    "graded": {"value": 4},
    "slider": {"value": 77},
    "pairwise": {"value": 2},
    "triplet": {"value": 1},
}


@pytest.fixture(autouse=True)
def dataset() -> Dataset:
    made = Dataset.objects.create(name="small", source_format="jsonl")
    Item.objects.create(dataset=made, name="a.png", position=0)
    return made


def write(path: Path, protocol: str, *rows: dict[str, Any]) -> Path:
    lines = [
        {"unit": f"u{number}", "worker": "w", "protocol": protocol, **ROW, **RIGHT[protocol], **row}
        for number, row in enumerate(rows)
    ]
    if path.suffix == ".jsonl":
        path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        return path
    names = list(dict.fromkeys(name for line in lines for name in line))
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, names)
        writer.writeheader()
        for line in lines:
            cells = {name: json.dumps(value) for name, value in line.items() if not isinstance(value, str)}
            writer.writerow(line | cells)
    return path


def bring(path: Path, **more: Any) -> Study:
    import_judgments(format=path.suffix[1:], path=path, dataset="small", study="brought", **more)
    return Study.objects.get(slug="brought")


def spans(*marks: Any, score: Any = 80) -> dict[str, Any]:
    return {"answer": {"spans": list(marks)} | ({} if score is None else {"score": score})}


BAD = {
    "end beyond the text": spans(MARK | {"end": 99}),
    "reversed": spans(MARK | {"start": 5, "end": 2}),
    "half an offset": spans(MARK | {"end": 4.5}),
    "a giant offset": spans(MARK | {"end": 10**30}),
    "severity": spans(MARK | {"severity": "terrible"}),
    "score": spans(MARK, score=101),
    "score as a text": spans(MARK, score="80"),
    "no spans": {"answer": {"score": 80}},
    "no list": {"answer": {"spans": 3, "score": 80}},
    "no object": {"answer": [MARK]},
    "mixed": spans(MARK, score=None),
    "mixed categories": spans(MARK | {"category": "Fluency"}),
}


@pytest.mark.parametrize("form", ["jsonl", "csv"])
@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_a_bad_mark_is_refused_with_its_line_and_nothing_is_stored(
    tmp_path: Path, bad: dict[str, Any], form: str
) -> None:
    path = write(tmp_path / f"j.{form}", "spans", {}, bad)
    line = 2 if form == "jsonl" else 3
    with refuses(ImportProblem, line, column="answer"):
        bring(path)
    assert not Study.objects.exists()
    assert not Judgment.objects.exists()


@pytest.mark.parametrize("protocol", RIGHT)
@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_right_answers_of_every_kind_come_in(tmp_path: Path, protocol: str, form: str) -> None:
    study = bring(write(tmp_path / f"j.{form}", protocol, {}, {}))
    assert Judgment.objects.of_study(study).count() == 2
    compute_aggregation(study=study)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from((10**30, 4.5, "dog", "c1", "b", 1))
    | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(("spans", "score", "start", "end", "severity", "best", "worst", "word", "box", "again",
                         "within", "options", "key", "text", "boxes", "id", "collocations", "x")),
        inner, max_size=4,
    ),
    max_leaves=8,
)  # fmt: skip


@pytest.mark.parametrize("protocol", RIGHT)
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whatever_a_row_holds_it_is_read_as_the_page_would_or_refused(
    tmp_path: Path, protocol: str, data: st.DataObject
) -> None:
    column = data.draw(st.sampled_from(("answer", "value", "content", "expected")))
    path = write(tmp_path / "j.jsonl", protocol, {column: data.draw(JSON)})
    try:
        (row,) = open_judgments("jsonl", path, protocol=protocol).judgments({"a.png"}, {})
    except ImportProblem:
        return  # test_importers_damage.py says how it reads
    if KINDS[protocol].is_open:
        kind = KINDS[protocol]
        assert row.stored is not None
        kind.aggregation.consensus([1, 1], [row.stored, row.stored])


def foreign(form: str, folder: Path, protocol: str, **row: Any) -> tuple[Path, ColumnMapping]:
    """A table of one row whose columns have other names, and their mapping."""
    line = {"unit": "u0", "worker": "w", **ROW, **RIGHT[protocol], **row}
    names = {name: f"The {name.upper()}" for name in line}
    values = list(line.values())
    if form in ("csv", "tsv", "xlsx"):
        values = [value if isinstance(value, str) else json.dumps(value) for value in values]
    if form == "xlsx":
        values = list(map(escape, values))
    return table_in(form, folder, [values], list(names.values())), ColumnMapping(columns=names)


@pytest.mark.parametrize("form", TABLE_FORMATS)
@pytest.mark.parametrize("protocol", RIGHT)
def test_a_mapping_reads_answers_of_every_kind_from_every_format(
    tmp_path: Path, protocol: str, form: str
) -> None:
    path, mapping = foreign(form, tmp_path, protocol)
    (row,) = open_judgments(form, path, protocol=protocol, mapping=mapping).judgments({"a.png"}, {})
    (plain,) = open_judgments("jsonl", write(tmp_path / "p.jsonl", protocol, {})).judgments({"a.png"}, {})
    assert all(getattr(row, name) == getattr(plain, name) for name in ("unit", "value", "stored", "content"))


@pytest.mark.parametrize("protocol", long_except(RIGHT, "pairwise", "grounding"))
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whatever_a_mapped_row_holds_it_is_read_as_the_page_would_or_refused(
    tmp_path: Path, protocol: str, data: st.DataObject
) -> None:
    column = data.draw(
        st.sampled_from(("answer", "value", "content", "expected", "systems", "unit", "seconds"))
    )
    form = data.draw(st.sampled_from(("jsonl", "csv")))
    path, mapping = foreign(form, tmp_path, protocol, **{column: data.draw(JSON)})
    with suppress(ImportProblem):
        for row in open_judgments(form, path, protocol=protocol, mapping=mapping).judgments({"a.png"}, {}):
            if KINDS[protocol].is_open:
                KINDS[protocol].aggregation.consensus([1, 1], [row.stored, row.stored])


def test_good_rows_come_in_and_bad_ones_go_to_a_file_when_asked(tmp_path: Path) -> None:
    path = write(tmp_path / "j.jsonl", "spans", {}, BAD["severity"], BAD["score"], {})
    said = StringIO()
    call_command(
        "import_judgments", "jsonl", str(path), "--dataset", "small", "--study", "brought",
        "--bad-rows", str(tmp_path / "bad.csv"), stdout=said,
    )  # fmt: skip
    assert Judgment.objects.count() == 2
    assert "Rows with an error, left out: 2." in said.getvalue()
    with (tmp_path / "bad.csv").open(newline="") as stream:
        bad = list(csv.DictReader(stream))
    assert [(row["line"], row["unit"]) for row in bad] == [("2", "u1"), ("3", "u2")]
    assert "severity of a span is terrible" in bad[0]["problem"]
    assert json.loads(bad[1]["answer"])["score"] == 101


def test_the_study_asks_what_its_file_needed(tmp_path: Path) -> None:
    marks = [spans(MARK | {"category": "Fluency", "severity": "critical"}, score=None), spans(score=None)]
    asked = design_of(bring(write(tmp_path / "j.jsonl", "spans", *marks))).spans
    assert (asked.score, asked.categories, asked.own) == (False, "own", ("Fluency",))
    assert "critical" in asked.severities


def test_two_equal_omissions_are_two_errors(tmp_path: Path) -> None:
    study = bring(write(tmp_path / "j.jsonl", "spans", spans(MISSING, MISSING, MARK, MARK)))
    (judgment,) = Judgment.objects.of_study(study)
    assert judgment.answer is not None
    assert judgment.answer["spans"] == [MARK, MISSING, MISSING]


def test_a_file_has_one_protocol(tmp_path: Path) -> None:
    path = write(tmp_path / "j.jsonl", "relevance", {}, {"protocol": "graded", "value": 4})
    with pytest.raises(QuorumError, match="line 2, protocol"):
        bring(path)


def test_pairs_without_an_id_are_those_of_their_captions_and_systems(tmp_path: Path) -> None:
    systems = {"c1": [{"system": "one", "rank": 1}], "c2": [{"system": "two", "rank": 1}]}
    row = {"first": "c1", "second": "c2", "systems": systems}
    path = write(
        tmp_path / "j.jsonl", "pairwise", row, row | {"worker": "v", "unit": "u0"}, {"control": True}
    )
    study = bring(path)
    (pair,) = study.pairs.all()
    assert study.pairs.filter(first_system__name="one", second_system__name="two").exists()
    assert [unit.pair_id for unit in study.units.order_by("position")] == [pair.pk, None]


MAPPING = (
    '[columns]\nimage = "Input.image"\nfirst_text = "Input.text"\nvalue = "Answer.fits"\n\n'
    "[values]\nyes = 1\nno = 0\n"
)
HEADER = "AssignmentId,WorkerId,Turkle.Username,Input.image,Input.text,Answer.fits\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two annotators of Turkle, one of whom says yes."""
    make_dataset("toy", {"a.jpg": ["a dog runs"]})
    (tmp_path / "mapping.toml").write_text(MAPPING, encoding="utf-8")
    lines = ["1,5,ann,a.jpg,a cat sits,yes\n", "2,6,ben@example.org,a.jpg,a cat sits,no\n"]
    (tmp_path / "out.csv").write_text("".join([HEADER, *lines]), encoding="utf-8")
    return tmp_path


def called(folder: Path, *more: str) -> str:
    said = StringIO()
    call_command(
        "import_judgments", "turkle", str(folder / "out.csv"), "--dataset", "toy", "--study", "from-turkle",
        "--protocol", "relevance", "--mapping", str(folder / "mapping.toml"), *more, stdout=said,
    )  # fmt: skip
    return said.getvalue()


def test_a_dry_run_says_what_was_understood_and_stores_nothing(folder: Path) -> None:
    said = called(folder, "--dry-run")
    assert "2 judgments on 1 unit by 2 workers (relevance)" in said
    assert "values:   0: 1,   1: 1" in said
    assert "image a.jpg, worker ann, answer 1" in said
    assert "Nothing was stored" in said
    assert not Study.objects.filter(slug="from-turkle").exists()


def test_what_was_understood_is_imported_without_mail_addresses(folder: Path) -> None:
    called(folder)
    found = Judgment.objects.filter(assignment__study__slug="from-turkle")
    assert set(found.values_list("value", flat=True)) == {0, 1}
    names = set(found.values_list("assignment__worker__name", flat=True))
    assert "ann" in names
    assert not [name for name in names if "@" in name]


def test_one_wrong_line_and_nothing_is_stored(folder: Path) -> None:
    with (folder / "out.csv").open("a", encoding="utf-8") as file:
        file.write("3,7,zoe,a.jpg,a cat sits,perhaps\n")
    with refuses(CommandError, "out.csv", "4", "Answer.fits", "perhaps"):
        called(folder)
    assert not Study.objects.filter(slug="from-turkle").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("columns = 3", r"columns.*\b3\b"),
        ("[colums]", "colums"),
        ("[columns", "found no TOML"),
        ("[columns]\nvalue = true", r"columns\.value"),
    ],
)
def test_a_mapping_that_says_something_else_is_refused(folder: Path, text: str, said: str) -> None:
    (folder / "mapping.toml").write_text(text, encoding="utf-8")
    with pytest.raises(CommandError, match=said):
        called(folder)
