"""`agreement PATH`: a judgments file in, alpha out, no database."""

import csv
import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from evaluation.data.judgment_sets.files import read_judgment_table
from judgments.importers.problems import ImportProblem
from quorum.statistics.agreement import krippendorff_alpha
from tests.statistics.golden import golden, with_nan

EXAMPLE = golden("agreement.json")["alpha"][0]
COLUMNS = ("unit", "worker", "value")


def example_rows() -> list[dict[str, Any]]:
    """Krippendorff's example, one judgment a row."""
    return [
        {"unit": f"unit-{unit}", "worker": f"w-{worker}", "value": int(value)}
        for worker, answers in enumerate(EXAMPLE["data"])
        for unit, value in enumerate(answers)
        if value is not None
    ]


def json_lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def csv_file(path: Path, rows: list[dict[str, Any]], columns: tuple[str, ...] = COLUMNS) -> Path:
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, columns)
        writer.writeheader()
        writer.writerows(rows)
    return path


def run(path: Path, **options: Any) -> tuple[dict[str, Any], str]:
    """The printed JSON and what was said on the side."""
    printed, aside = StringIO(), StringIO()
    call_command("agreement", path, stdout=printed, stderr=aside, **options)
    return json.loads(printed.getvalue()), aside.getvalue()


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
@pytest.mark.parametrize("write", [json_lines, csv_file])
def test_krippendorffs_example_gives_his_figure_from_either_format(
    write: Any, level: str, tmp_path: Path
) -> None:
    figures, aside = run(write(tmp_path / "judgments", example_rows()), level=level)
    assert figures["alpha"]["value"] == pytest.approx(EXAMPLE["alpha"][level])
    assert figures["alpha"]["low"] < figures["alpha"]["value"] < figures["alpha"]["high"]
    assert {key: figures[key] for key in ("level", "units", "workers", "judgments")} == {
        "level": level,
        "units": 12,
        "workers": 4,
        "judgments": 41,
    }
    assert aside == ""


def test_the_json_has_the_documented_keys_and_no_others(tmp_path: Path) -> None:
    figures, _ = run(json_lines(tmp_path / "judgments.jsonl", example_rows()))
    assert list(figures) == ["alpha", "level", "units", "workers", "judgments"]
    assert list(figures["alpha"]) == ["value", "low", "high"]


def test_the_output_file_holds_the_same_json(tmp_path: Path) -> None:
    path = json_lines(tmp_path / "judgments.jsonl", example_rows())
    output = tmp_path / "agreement.json"
    call_command("agreement", path, output=output, stdout=StringIO())
    assert json.loads(output.read_text(encoding="utf-8")) == run(path)[0]
    assert [entry.name for entry in tmp_path.iterdir() if entry.name.startswith(".")] == []


@pytest.mark.parametrize(
    ("protocol", "level"),
    [
        ("triplet", "nominal"),
        ("pairwise", "nominal"),
        ("relevance", "nominal"),
        ("graded", "interval"),
        ("something-new", "nominal"),
    ],
)
def test_the_protocol_decides_the_level_unless_one_is_asked_for(
    protocol: str, level: str, tmp_path: Path
) -> None:
    path = json_lines(tmp_path / "judgments.jsonl", [row | {"protocol": protocol} for row in example_rows()])
    figures, _ = run(path)
    assert figures["level"] == level
    assert figures["alpha"]["value"] == pytest.approx(EXAMPLE["alpha"][level])
    assert run(path, level="ratio")[0]["level"] == "ratio"


@pytest.mark.parametrize("write", [json_lines, csv_file])
def test_unused_judgments_controls_and_unanswered_rows_are_left_out_and_counted(
    write: Any, tmp_path: Path
) -> None:
    rows = [row | {"used": True, "control": False} for row in example_rows()]
    rows += [
        {"unit": "unit-0", "worker": "spammer", "value": 4, "used": False, "control": False},
        {"unit": "gold", "worker": "w-0", "value": 1, "used": True, "control": True},
        {"unit": "gold", "worker": "w-1", "value": 2, "used": True, "control": True},
        {"unit": "unit-0", "worker": "w-3", "value": None, "used": True, "control": False},
    ]
    if write is csv_file:
        path = csv_file(tmp_path / "judgments.csv", rows, (*COLUMNS, "used", "control"))
    else:
        path = json_lines(tmp_path / "judgments.jsonl", rows)
    figures, aside = run(path)
    assert figures["alpha"]["value"] == pytest.approx(EXAMPLE["alpha"]["nominal"])
    assert (figures["judgments"], figures["workers"]) == (41, 4)
    assert "Left out: 1 (not used)." in aside
    assert "Left out: 2 (check questions)." in aside
    assert "Left out: 1 (without a value)." in aside


@pytest.mark.parametrize("disagreements", [1, 0])
def test_percent_agreement_has_an_interval_that_a_share_can_have(
    disagreements: int, shared: Path, tmp_path: Path
) -> None:
    case = shared / "cases" / "two-raters-one-disagreement.jsonl"
    rows = [json.loads(line) for line in case.read_text(encoding="utf-8").splitlines()]
    rows[-1]["value"] *= disagreements
    figures, aside = run(json_lines(tmp_path / "judgments.jsonl", rows), coefficient="percent")
    percent = figures["coefficients"]["percent"]
    assert percent["value"] == pytest.approx(1 - disagreements / 6)
    assert 0 <= percent["low"] < percent["value"] <= percent["high"] <= 1
    assert aside == "Note: with 2 raters, expected 3 or more, the interval is for these raters alone.\n"
    if not disagreements:  # Clopper's and Pearson's, of six units
        missed = 1 - 0.025 ** (1 / 6)
        differ = 1 - 2 * 6 * 5 / (12 * 11)  # two of twelve answers at random, six of each kind
        for figure, low in ((percent, 1 - missed), (figures["alpha"], 1 - missed / differ)):
            assert (figure["low"], figure["high"]) == (pytest.approx(low), 1)


def test_words_can_agree(tmp_path: Path) -> None:
    rows = [
        {"unit": unit, "worker": worker, "value": value}
        for unit, worker, value in [
            ("u", "a", "cat"),
            ("u", "b", "cat"),
            ("v", "a", "dog"),
            ("v", "b", "cat"),
        ]
    ]
    assert run(csv_file(tmp_path / "words.csv", rows))[0]["alpha"]["value"] == pytest.approx(
        krippendorff_alpha([[0, 1], [0, 0]])
    )


def test_an_undefined_alpha_is_null_and_said_in_words(tmp_path: Path) -> None:
    path = json_lines(tmp_path / "judgments.jsonl", [{"unit": "u", "worker": w, "value": 1} for w in "ab"])
    figures, aside = run(path)
    assert figures["alpha"] == {"value": None, "low": None, "high": None}
    assert "Alpha is undefined: every judgment that can be compared has the same value." in aside


def test_excels_utf_16_and_semicolons_are_read(tmp_path: Path) -> None:
    path = tmp_path / "excel.csv"
    rows = "".join(f"{row['unit']};{row['worker']};{row['value']}\r\n" for row in example_rows())
    path.write_text("unit;worker;value\r\n" + rows, encoding="utf-16")
    assert run(path)[0]["alpha"]["value"] == pytest.approx(EXAMPLE["alpha"]["nominal"])


def test_the_example_table_and_the_rows_agree(tmp_path: Path) -> None:
    table = read_judgment_table(json_lines(tmp_path / "judgments.jsonl", example_rows()))
    assert len(table.units) == int((~(with_nan(EXAMPLE["data"]) != with_nan(EXAMPLE["data"]))).sum())
    assert (len(table.unit_names), len(table.worker_names)) == (12, 4)


@pytest.mark.parametrize(
    ("text", "options", "sentence"),
    [
        ("", {}, "judgments"),
        ("unit,worker,value\n", {}, "judgments"),
        ('{"unit": "u", "worker": "w"}\n', {}, "judgments, line 1, value"),
        ("unit,worker,answer\nu,w,1\n", {}, "judgments, line 1, value"),
        (
            "unit,workers,value\nu,w,1\n",
            {},
            "worker.*workers",
        ),
        (
            '{"unit": "u", "worker": "w", "value": [1]}',
            {},
            r"value.*\[1\]",
        ),
        ('{"unit": "u", "worker": "w", "value": "x"}', {"level": "interval"}, 'found "x", expected a number'),
        ("unit,worker,value\nu,a,1\nu,b,nan\n", {}, r"\b3\b.*value.*NaN"),
        ("unit,worker,value\nu,a,1\nu,b\n", {}, r"\b3\b.*\b2\b.*cells"),
        ("unit,worker,value\nu,,1\n", {}, r"\b2\b.*worker"),
        (
            "unit,worker,value\nu,a,1\nv,a,1\nu,a,2\n",
            {},
            r"\b4\b.*worker.*\bu\b.*\ba\b.*\b2\b",
        ),
        (
            "unit,worker,value,protocol\nu,a,1,graded\nu,b,1,triplet\n",
            {},
            r"\b3\b.*protocol.*triplet.*graded",
        ),
        ("unit,worker,value,used\nu,a,1,maybe\n", {}, r"\b2\b.*used.*maybe"),
        ("unit,worker,value,protocol\nu,a,x,graded\n", {}, r"\b2\b.*value.*\bx\b"),
        ('{"unit": "u", "worker": "w", "value": 1\n', {}, r"\b1\b.*is not JSON"),
    ],
)
def test_bad_files_are_refused_in_one_line_that_says_where(
    text: str, options: dict[str, Any], sentence: str, tmp_path: Path
) -> None:
    path = tmp_path / "judgments"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(CommandError, match=sentence) as caught:
        run(path, **options)
    assert "\n" not in str(caught.value)


def test_bytes_that_are_no_text_are_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "latin.csv"
    path.write_bytes("unit,worker,value\nu,Zoë,1\n".encode("latin-1"))
    with pytest.raises(ImportProblem, match="byte 0xEB"):
        read_judgment_table(path)
    assert read_judgment_table(path, encoding="latin-1").worker_names == ["Zoë"]


def test_a_place_that_cannot_be_written_to_is_refused_in_one_line(tmp_path: Path) -> None:
    path = json_lines(tmp_path / "judgments.jsonl", example_rows())
    with pytest.raises(CommandError, match="exist"):
        call_command("agreement", path, output=tmp_path / "nowhere" / "out.json", stdout=StringIO())
    with pytest.raises(CommandError, match="write"):
        call_command("agreement", path, output=tmp_path, stdout=StringIO())


def test_reading_reports_how_far_it_has_come(tmp_path: Path) -> None:
    rows = [{"unit": f"u{place}", "worker": "w", "value": 1} for place in range(2500)]
    seen: list[int] = []
    read_judgment_table(json_lines(tmp_path / "long.jsonl", rows), progress=seen.append)
    assert seen == [1000, 2000]


def test_help_says_what_counts(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        call_command("agreement", "--help")
    text = " ".join(capsys.readouterr().out.split())
    assert 'rows whose "used" is false or whose "control" is true are left out' in text
    assert "graded interval" in text
    assert "manage.py agreement judgments.jsonl" in text


def test_the_sides_of_a_pair_have_no_order(tmp_path: Path) -> None:
    answers = {"a": (1, 1, 2), "b": (1, 1, 1), "c": (2, 1, 1), "d": (1, 2, 1), "e": (2, 2, 2)}
    rows: list[dict[str, Any]] = [
        {"unit": unit, "worker": f"w{rater}", "value": value, "protocol": "pairwise"}
        for unit, values in answers.items()
        for rater, value in enumerate(values)
    ]
    turned = [row | {"value": 3 - row["value"]} if row["unit"] in "bd" else row for row in rows]
    options = {"coefficient": "percent,fleiss,gwet"}
    before, _ = run(json_lines(tmp_path / "one.jsonl", rows), **options)
    after, _ = run(json_lines(tmp_path / "two.jsonl", turned), **options)
    assert before["coding"] == "both-orders"
    for figures in (before, after):  # 2 of 5 pairs are unanimous, 3 have one agreeing pair of three raters
        assert figures["coefficients"]["fleiss"]["value"] == pytest.approx(2 * (2 + 3 / 3) / 5 - 1)
        assert figures["alpha"]["value"] == pytest.approx(1 - (30 - 1) / 30 * 2 * 0.4)
    assert after["alpha"]["low"] == pytest.approx(before["alpha"]["low"])
    assert after["alpha"]["high"] == pytest.approx(before["alpha"]["high"])
    named = [row | {"value": "left" if row["value"] == 1 else "right"} for row in rows]
    assert "coding" not in run(json_lines(tmp_path / "named.jsonl", named))[0]  # texts are categories


@pytest.mark.parametrize(
    ("column", "cell", "problem"),
    [
        ("worker", "nan", r"\b2\b.*worker.*nan"),
        ("unit", "NaN", r"\b2\b.*unit.*NaN"),
        ("value", "nan", r"\b2\b.*value.*NaN"),
        ("value", "1e101", r"\b2\b.*value.*1e\+101.*1e\+100"),
        ("value", "-inf", r"\b2\b.*value.*1e\+100"),
    ],
)
def test_nan_is_no_name_and_no_answer_and_numbers_have_a_limit(
    column: str, cell: str, problem: str, tmp_path: Path
) -> None:
    row = {"unit": "u", "worker": "w", "value": 1} | {column: cell}
    with pytest.raises(CommandError, match=problem):
        run(csv_file(tmp_path / "judgments.csv", [row]))
