"""Files of other platforms come in by a data file of their layout; any table comes in by a mapping of its columns."""

import contextlib
import csv
import io
import json
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.incoming import RequestBytesExceeded, within_request
from judgments.importers import (
    TABLE_FORMATS,
    ColumnMapping,
    ImportProblem,
    open_candidates,
    open_dataset,
    open_judgments,
    read_layouts,
)
from judgments.importers.records.rows import CreditedRow, JudgmentRow, ReferenceRow
from tests.marks import long_except
from tests.refusals import assert_names, refuses

LABELLED = [
    {
        "id": 7,
        "data": {"image": "https://x.org/upload/pier.jpg", "a": "A pier .", "b": "A dog ."},
        "annotations": [
            {
                "id": 1, "completed_by": 3, "lead_time": 9.5, "created_at": "2024-05-01T10:00:00.1Z",
                "was_cancelled": False, "ground_truth": False,
                "result": [{"from_name": "better", "value": {"choices": ["left"]}}],
            },
            {"id": 2, "completed_by": {"id": 4, "email": "zoe@x.org"}, "was_cancelled": True, "result": []},
        ],
    }
]  # fmt: skip
PEARMUT = {
    "user_id": "loud-owl-1",
    "item_i": 0,
    "item": [{"item_id": "en-de-0", "src": "A dog.", "tgt": {"north": "Ein Hund.", "south": "Ein Hut."}}],
    "annotation": [
        {
            "north": {"score": 95, "error_spans": [], "textfield": None},
            "south": {
                "score": 40,
                "error_spans": [{"start_i": 4, "end_i": 6, "category": None, "severity": "major"}],
            },
        }
    ],
}
ESA = {
    "langs": "en-de", "line_id": 0, "src": "A dog.", "tgt": "Ein Hut.", "doc_id": "d", "domain": "news",
    "esa_spans": [
        {"start_i": 4, "end_i": 6, "severity": "major", "error_type": None},
        {"start_i": "missing", "end_i": "missing", "severity": "minor", "error_type": None},
    ],
    "esa_score": "66", "times": ["1711317247.414", "1711317254.82"], "system": "south", "annotator": "ende1",
}  # fmt: skip
HUT = {"start": 4, "end": 7, "severity": "major"}
GAP = {"start": None, "end": None, "severity": "minor"}
APPRAISE = (
    'ende1,south,0,TGT,eng,deu,66,d,False,"[{""start_i"":4,""end_i"":6,""severity"":""major"",""error_type"":null},'
    '{""start_i"":""missing"",""end_i"":""missing"",""severity"":""minor"",""error_type"":null}]",1711317247.414,'
    "1711317247.414\nende1,south,0,BAD,eng,deu,9,d#bad1,False,[],1711317304.453,1711317304.453\n"
)
MQM = (
    "system\tdoc\tdocSegId\tglobalSegId\trater\tsource\ttarget\tcategory\tseverity\n"
    'south\td\t1\t5\trater1\tThe "dog".\tDer "<v>Hut</v>".\tAccuracy/Mistranslation\tMajor\n'
    'south\td\t1\t5\trater1\tThe "dog".\tDer  "Hut"<v>.</v>\tFluency/Punctuation\tMinor\n'
    'south\td\t1\t5\trater2\tThe "<v>dog</v>".\tDer "Hut".\tSource error\tMinor\n'
    'north\td\t1\t5\trater1\tThe "dog".\tDer "Hund".\tNo-error\tNo-error\n'
)
POTATO = {
    "id": "i1",
    "displayed_text": "A dog",
    "label_annotations": {"fits": {"yes": True}, "grade": {"scale_4": "4"}},
    "behavioral_data": {"total_time_ms": 4500},
}


def judged(form: str, path: Path, images: tuple[str, ...] = (), **how: Any) -> list[Any]:
    mapping = ColumnMapping(**how) if how else None
    return list(open_judgments(form, path, mapping=mapping).judgments(images or None))


def test_label_studio_s_tasks_are_a_judgment_for_each_annotation(tmp_path: Path) -> None:
    path = tmp_path / "project.json"
    path.write_text(json.dumps(LABELLED))
    columns = {"image": "data.image", "first_text": "data.a", "second_text": "data.b", "value": "better"}
    (row,) = judged("label-studio", path, ("pier.jpg",), columns=columns, values={"left": 1, "right": 2})
    assert (row.unit, row.worker, row.image, row.value, row.seconds) == (
        "7",
        "annotator-3",
        "pier.jpg",
        1,
        9.5,
    )


def test_pearmut_s_lines_are_a_judgment_for_each_segment_and_system(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    path.write_text(json.dumps(PEARMUT) + "\n")
    north, south = judged("pearmut", path)
    assert north.stored == {"spans": [], "score": 95}
    assert south.stored == {"spans": [HUT], "score": 40}
    assert (south.image, south.first_text, south.worker) == ("en-de-0", "Ein Hut.", "loud-owl-1")
    assert [credit.system for credits in south.credits.values() for credit in credits] == ["south"]


def test_wmt_s_lines_of_esa_have_inclusive_ends_and_missing_parts(tmp_path: Path) -> None:
    path = tmp_path / "esa.jsonl"
    path.write_text(json.dumps(ESA) + "\n")
    (row,) = judged("wmt-esa", path)
    assert row.stored == {"spans": [HUT, GAP], "score": 66}
    assert row.submitted_at is not None
    assert (row.unit, row.submitted_at.year) == ("en-de/south/0", 2024)


@pytest.mark.parametrize(
    ("first", "second", "latest"),
    [
        ("999999999.5", "1711317254.82", "30"),
        ("1711317254.82", "999999999.5", "66"),
        ("Fri Nov 20 06:00:00 PST 2026", "2026-11-20T13:59:59Z", "66"),
        ("", "2026-11-20T13:59:59Z", "30"),
    ],
)
def test_the_score_that_was_submitted_last_counts(
    tmp_path: Path, first: str, second: str, latest: str
) -> None:
    path = tmp_path / "esa.jsonl"
    lines = [ESA | {"times": [first, first]}, ESA | {"times": [second, second], "esa_score": "30"}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (row,) = judged("wmt-esa", path)
    assert row.stored["score"] == int(latest)


def test_a_time_by_which_scores_are_compared_is_refused_if_it_is_none(tmp_path: Path) -> None:
    path = tmp_path / "esa.jsonl"
    path.write_text(json.dumps(ESA | {"times": ["noon", "noon"]}) + "\n")
    with refuses(ImportProblem, "line 1", "times", "noon", "a time with its zone"):
        judged("wmt-esa", path)


def test_appraise_s_lines_have_no_header_and_take_the_texts_of_the_dataset(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text(APPRAISE)
    source: Any = open_judgments("appraise", path)
    source.text_of = lambda system, image: "Ein Hut." if (system, image) == ("south", "0") else None
    (row,) = source.judgments()
    assert row.stored == {"spans": [HUT, GAP], "score": 66}
    assert (row.worker, row.first_text) == ("ende1", "Ein Hut.")
    assert source.notes["skipped-row"] == 1


def test_google_s_rows_of_errors_become_judgments(tmp_path: Path) -> None:
    path = tmp_path / "mqm.tsv"
    path.write_text(MQM)
    first, second, third = judged("google-mqm", path)
    assert first.first_text == second.first_text == 'Der "Hut".'
    assert first.stored["spans"] == [
        {"start": 5, "end": 8, "severity": "major", "category": "accuracy/mistranslation"},
        {"start": 9, "end": 10, "severity": "minor", "category": "fluency/punctuation"},
    ]
    assert second.stored["spans"] == [GAP | {"category": "source issue"}]
    assert third.stored == {"spans": []}
    assert (first.unit, first.worker, third.image) == ("south/5", "rater1", "5")
    assert all(isinstance(row, CreditedRow) for row in (first, second, third))


def test_potato_s_lines_are_named_by_their_folder_and_its_tables_have_columns_of_labels(
    tmp_path: Path,
) -> None:
    (tmp_path / "ann").mkdir()
    (tmp_path / "ann" / "annotated_instances.jsonl").write_text(json.dumps(POTATO) + "\n")
    answers = {"yes": 1, "no": 0}
    (row,) = judged("potato", tmp_path, columns={"value": "fits"}, values=answers)
    assert (row.unit, row.worker, row.value, row.seconds) == ("i1", "ann", 1, 4.5)
    (row,) = judged("potato", tmp_path, columns={"value": "grade.value"})
    assert row.value == 4
    table = tmp_path / "all.tsv"
    table.write_text("user\tinstance_id\tfits:::yes\tfits:::no\nben\ti1\t\tno\n")
    (row,) = judged("potato", table, columns={"value": "fits"}, values=answers)
    assert (row.worker, row.value) == ("ben", 0)


def test_crowdflower_s_reports_have_test_questions_and_tainted_work(tmp_path: Path) -> None:
    path = tmp_path / "f1.csv"
    path.write_text(
        "_unit_id,_created_at,_golden,_id,_started_at,_tainted,_worker_id,picture,fits,fits_gold\n"
        "9,5/1/2015 10:00:30,true,77,5/1/2015 10:00:00,true,w1,pier.jpg,yes,no\n"
    )
    columns = {"image": "picture", "value": "fits", "expected": "fits_gold"}
    (row,) = judged("crowdflower", path, columns=columns, values={"yes": "1", "no": "0"})
    assert (row.unit, row.worker, row.value, row.expected) == ("9", "w1", 1, 0)
    assert (row.control, row.used) == (True, False)


def workbook(path: Path, rows: list[list[Any]], *, entry: str = "") -> Path:
    """A workbook with texts in cells, shared texts, numbers and flags, as Excel and others write them."""
    shared: list[str] = []

    def cell(at: int, number: int, value: Any) -> str:
        reference = f"{chr(64 + at // 26) if at >= 26 else ''}{chr(65 + at % 26)}{number}"
        if value is None:
            return ""
        if isinstance(value, bool):
            return f'<c r="{reference}" t="b"><v>{int(value)}</v></c>'
        if isinstance(value, int | float):
            return f'<c r="{reference}"><v>{value}</v></c>'
        if at % 2:
            return f'<c r="{reference}" t="inlineStr"><is><t>{value}</t></is></c>'
        shared.append(value)
        return f'<c r="{reference}" t="s"><v>{len(shared) - 1}</v></c>'

    lines = [
        f'<row r="{number}">{"".join(cell(at, number, value) for at, value in enumerate(row))}</row>'
        for number, row in enumerate(rows, 1)
    ]
    space = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "xl/worksheets/sheet1.xml",
            f"{entry}<worksheet {space}><sheetData>{''.join(lines)}</sheetData></worksheet>",
        )
        texts = "".join(f"<si><t>{text}</t></si>" for text in shared)
        archive.writestr("xl/sharedStrings.xml", f"<sst {space}>{texts}</sst>")
    return path


HEADER = ["FileName", "Output A", "Rater", "Rating", "Is gold"]
TABLE: list[list[Any]] = [["pier.jpg", "A pier.", "ann", 4, False], ["dog.jpg", "A dog.", "ben", 2, True]]
COLUMNS = {
    "image": "filename",
    "first_text": "output a",
    "worker": "rater",
    "value": "rating",
    "control": "Is gold",
}


def table_in(form: str, folder: Path, rows: list[list[Any]] = TABLE, header: list[str] = HEADER) -> Path:
    path = folder / f"table.{form}"
    records = [dict(zip(header, row, strict=True)) for row in rows]
    if form == "xlsx":
        return workbook(path, [header, *rows])
    if form == "parquet":
        pq.write_table(pa.Table.from_pylist(records), path)
    elif form == "json":
        path.write_text(json.dumps(records))
    elif form == "jsonl":
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
    else:
        out = io.StringIO()
        writer = csv.writer(out, delimiter="\t" if form == "tsv" else ",")
        writer.writerows([header, *rows])
        path.write_text(out.getvalue())
    return path


@pytest.mark.parametrize("form", TABLE_FORMATS)
def test_any_table_comes_in_by_saying_what_its_columns_are(tmp_path: Path, form: str) -> None:
    path = table_in(form, tmp_path)
    exact = {
        name: next(heading for heading in HEADER if heading.lower() == column.lower())
        for name, column in COLUMNS.items()
    }
    mapping = ColumnMapping(columns=exact)
    rows = list(open_judgments(form, path, protocol="graded", mapping=mapping).judgments())
    assert [(row.image, row.first_text, row.worker, row.value, row.control) for row in rows] == [
        ("pier.jpg", "A pier.", "ann", 4, False),
        ("dog.jpg", "A dog.", "ben", 2, True),
    ]
    mapping = ColumnMapping(columns={"image": "FileName", "caption": "Output A"})
    captions = list(open_dataset(form, path, mapping=mapping).references())
    assert [(row.image, row.text) for row in captions] == [("pier.jpg", "A pier."), ("dog.jpg", "A dog.")]
    assert [row.text for row in open_candidates(form, path, mapping=mapping).candidates()] == [
        "A pier.",
        "A dog.",
    ]


@pytest.mark.parametrize("form", [form for form in TABLE_FORMATS if form != "json"])
def test_all_errors_are_told_at_once_with_their_lines_and_are_put_right_in_place(
    tmp_path: Path, form: str
) -> None:
    rows = [["pier.jpg", "A pier.", "ann", 9, False], *TABLE[1:], ["x.jpg", "An x.", "zoe", 0, False]]
    path = table_in(form, tmp_path, rows)
    columns = {"image": "FileName", "first_text": "Output A", "worker": "Rater", "value": "Rating"}
    mapping = ColumnMapping(columns=columns)
    with pytest.raises(ImportProblem) as caught:
        list(open_judgments(form, path, protocol="graded", mapping=mapping, scale="1:4").judgments())
    first, second = str(caught.value).splitlines()
    line = {"jsonl": 1, "parquet": 1}.get(form, 2)
    assert_names(first, line, "9")
    assert_names(second, line + 2, "0")
    problems = caught.value.problems  # type: ignore[attr-defined]
    assert [problem.cell for problem in problems] == [("Rating", "9"), ("Rating", "0")]
    fixes = {str(line): {"Rating": "4"}, str(line + 2): {"Rating": "1"}}
    mapping = ColumnMapping(columns=columns, fixes=fixes)
    right = list(open_judgments(form, path, protocol="graded", mapping=mapping).judgments())
    assert [row.value for row in right] == [4, 2, 1]


def test_names_keep_their_case(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("Image,Caption,Split,GPT-4\na.jpg,A dog,test,x\n")
    (row,) = open_dataset("csv", path).references()
    assert (row.image, row.split) == ("a.jpg", "test")
    assert open_dataset("csv", path).notes.details() == set()
    source = open_dataset("csv", path)
    assert [type(row) for row in source.rows()] == [ReferenceRow]
    assert source.notes.details() == {"GPT-4"}


@pytest.mark.parametrize("form", ["xlsx", "parquet"])
def test_workbooks_and_parquet_are_never_read_in_a_request(tmp_path: Path, form: str) -> None:
    path = table_in(form, tmp_path)
    with pytest.raises(RequestBytesExceeded), within_request():
        list(open_dataset(form, path, mapping=ColumnMapping(columns={"image": "FileName"})).references())


LAUGHS = '<!DOCTYPE a [<!ENTITY b "ha"><!ENTITY c "&b;&b;&b;&b;">]>'


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda path: workbook(path, [HEADER, ["&c;"]], entry=LAUGHS), "Excel workbook"),
        (lambda path: workbook(path, [["image", "caption"], ["a", "b", "beyond"]]), "below"),
        (lambda path: workbook(path, [["image", "caption", "image"]]), "expected every column"),
        (lambda path: workbook(path, []), "expected a header"),
        (lambda path: workbook(path, [["image"], ["x" * 200_000]]), "expected at most 131,072"),
        (lambda path: workbook(path, [["image"], ["x" * 90_000_000]]), "200 times"),
        (lambda path: path.write_bytes(b"PK\x03\x04 no zip"), "Excel workbook"),
    ],
)  # fmt: skip
def test_hostile_workbooks_are_refused_in_a_sentence(tmp_path: Path, make: Any, sentence: str) -> None:
    path = tmp_path / "bad.xlsx"
    make(path)
    with pytest.raises(ImportProblem, match=sentence):
        list(open_dataset("xlsx", path).references())


def test_a_damaged_text_of_parquet_is_refused_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "bad.parquet"
    pq.write_table(pa.table({"image": ["a.jpg"], "caption": pa.array([b"\x80"]).view(pa.string())}), path)
    with pytest.raises(ImportProblem, match="expected a Parquet file"):
        list(open_dataset("parquet", path).references())


def test_a_time_of_hundreds_of_digits_is_refused_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "annotated_instances.jsonl"
    path.write_text(json.dumps(POTATO | {"behavioral_data": {"total_time_ms": 10**400}}))
    with pytest.raises(ImportProblem, match="total_time_ms: found 1000"):
        judged("potato", path, columns={"value": "fits"}, values={"yes": 1, "no": 0})


def test_an_address_that_is_none_is_a_name(tmp_path: Path) -> None:
    path = tmp_path / "rated.csv"
    path.write_text("image,first_text,worker,value\nhttp://[x.org/pier.jpg,A pier.,zoe,3\n")
    (row,) = judged("csv", path, columns={"unit": "image", "value": "value"}, protocol="graded")
    assert row.image == "http://[x.org/pier.jpg"


FILES = {
    "label-studio": json.dumps(LABELLED).encode(),
    "pearmut": json.dumps(PEARMUT).encode(),
    "wmt-esa": json.dumps(ESA).encode(),
    "appraise": APPRAISE.encode(),
    "google-mqm": MQM.encode(),
    "potato": json.dumps(POTATO).encode(),
    "xlsx": workbook(Path(tempfile.mkdtemp()) / "a.xlsx", [HEADER, *TABLE]).read_bytes(),
    "parquet": table_in("parquet", Path(tempfile.mkdtemp())).read_bytes(),
}
ASKED = {"label-studio": {"image": "data.image", "value": "better"}, "potato": {"value": "fits"}}
ODD = st.one_of(
    st.binary(max_size=6),
    st.sampled_from(
        (b"\x00", b'"', b"\n", b"\t", b"{}", b"[]", b"null", b"NaN", b"-1e999", b"1" * 400, b"<v>", b"[[")
    ),
)


@pytest.mark.long
@pytest.mark.parametrize("form", FILES)
@settings(max_examples=60, deadline=None)
@given(damage=ODD, at=st.floats(0, 1), lost=st.integers(0, 12))
def test_a_damaged_file_of_any_layout_is_read_or_refused(
    form: str, damage: bytes, at: float, lost: int
) -> None:
    content = FILES[form]
    start = round(at * len(content))
    columns = ASKED.get(
        form, {"image": "FileName", "worker": "Rater", "value": "Rating"} if form in TABLE_FORMATS else {}
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        path.write_bytes(content[:start] + damage + content[start + lost :])
        rows: list[JudgmentRow] = []
        with contextlib.suppress(ImportProblem):
            rows = list(open_judgments(form, path, mapping=ColumnMapping(columns=columns)).judgments())
        assert all(isinstance(row, JudgmentRow) for row in rows)


NESTED = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(("annotations", "annotation", "item", "tgt", "result", "from_name", "value", "id", "spans",
                         "esa_spans", "start_i", "end_i", "severity", "error_spans", "score", "worker", "better")),
        inner, max_size=4,
    ),
    max_leaves=10,
)  # fmt: skip


@pytest.mark.parametrize("form", long_except(read_layouts(), "label-studio"))
@settings(max_examples=20, deadline=None)
@given(records=st.lists(st.dictionaries(
    st.sampled_from(("annotations", "annotation", "item", "esa_spans", "tgt", "esa_score", "id", "label_annotations",
                     "AssignmentId", "WorkerId", "user_id", "annotator", "better", "target", "rater", "mqm")),
    NESTED, max_size=6), min_size=1, max_size=3))  # fmt: skip
def test_whatever_records_hold_they_are_read_or_refused(form: str, records: list[dict[str, Any]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
        with contextlib.suppress(ImportProblem):
            how = ColumnMapping(columns={"image": "id", "value": "better"})
            list(open_judgments(form, path, mapping=how).judgments())


JUDGED = ("image", "worker", "value", "unit", "first_text", "second_text", "system", "second_system",
          "submitted_at", "seconds", "comment", "used")  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(records=st.lists(st.dictionaries(st.sampled_from(JUDGED), NESTED), min_size=1, max_size=3))
def test_whatever_columns_hold_they_are_read_or_refused(records: list[dict[str, Any]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file.jsonl"
        whole = {"image": "a.jpg", "worker": "ada", "value": 1, "first_text": "A hat.", "system": "north"}
        path.write_text("".join(json.dumps(whole | record) + "\n" for record in ({}, *records)))
        how, rows = ColumnMapping(columns={name: name for name in JUDGED}), []
        with contextlib.suppress(ImportProblem):
            for row in open_judgments("jsonl", path, mapping=how).judgments():
                rows.append(row)
        assert rows
        assert all(isinstance(row.first_text, str | None) for row in rows)


def state_of(user: str, letter: str, order: list[int], label: str = "selection") -> dict[str, Any]:
    """What Potato 2.12.1 keeps of an annotator who chose between two texts, as `UserState.to_json` writes it."""
    return {
        "user_id": user,
        "instance_id_ordering": ["i1"],
        "instance_id_to_behavioral_data": {"i1": {"total_time_ms": 4500}},
        "instance_id_to_label_to_value": {
            "i1": [[{"schema": "better", "name": label}, letter], [{"schema": "fits", "name": "yes"}, "true"]]
        },
        "instance_id_to_presentation_order": {"i1": {"better": order, "fits": ["yes", "no"]}},
    }


def states_in(folder: Path, *states: dict[str, Any]) -> None:
    for state in states:
        (folder / state["user_id"]).mkdir()
        (folder / state["user_id"] / "user_state.json").write_text(json.dumps(state, indent=2))


def test_potato_s_states_say_which_text_was_chosen_wherever_it_was_shown(tmp_path: Path) -> None:
    states_in(tmp_path, state_of("ann", "A", [0, 1]), state_of("ben", "A", [1, 0]))
    rows = judged("potato", tmp_path, columns={"value": "better.value"}, values={"A": 1, "B": 2})
    assert [(row.unit, row.worker, row.value, row.seconds) for row in rows] == [
        ("i1", "ann", 1, 4.5),
        ("i1", "ben", 2, 4.5),
    ]
    assert [
        row.value for row in judged("potato", tmp_path, columns={"value": "fits"}, values={"yes": 1})
    ] == [
        1,
        1,
    ]


def test_potato_s_scales_turn_with_the_texts(tmp_path: Path) -> None:
    states_in(
        tmp_path, state_of("ann", "-2", [0, 1], "scale_value"), state_of("ben", "-2", [1, 0], "scale_value")
    )
    rows = judged("potato", tmp_path, columns={"value": "better.value"})
    assert [row.value for row in rows] == [-2, 2]


def test_a_damaged_order_of_potato_s_is_refused(tmp_path: Path) -> None:
    states_in(tmp_path, state_of("ann", "A", [0, 0]))
    with refuses(ImportProblem, "[0", "0]"):
        judged("potato", tmp_path, columns={"value": "better.value"}, values={"A": 1})


@pytest.mark.parametrize("form", ["csv", "potato"])
@pytest.mark.parametrize("mark", [pytest.param(".", id="dot"), pytest.param(":::", id="colons")])
def test_potato_s_tables_of_letters_are_refused(tmp_path: Path, form: str, mark: str) -> None:
    path = tmp_path / "annotations.csv"
    path.write_text(f"instance_id,user_id,better{mark}selection\ni1,ann,A\ni1,ben,A\n")
    columns = {"unit": "instance_id", "worker": "user_id", "value": f"better{mark}selection"}
    with refuses(ImportProblem, actual="letters of places"):
        judged(form, path, columns=columns, values={"A": 1, "B": 2})


def test_a_text_in_quotation_marks_is_that_of_all_rows(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_text("image,said,who,stars\na.jpg,A dog,ann,3\n")
    columns = {"image": "image", "first_text": "said", "system": "'GPT-4'", "worker": "who", "value": "stars"}
    (row,) = judged("csv", path, columns=columns)
    assert [credit.system for credits in row.credits.values() for credit in credits] == ["GPT-4"]
