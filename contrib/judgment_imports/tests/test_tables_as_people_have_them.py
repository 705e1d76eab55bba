"""Tables of judgments as people have them come in by the options of the command."""

import csv
import json
from collections.abc import Callable
from importlib import import_module
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.exceptions import IrreversibleError

from annotation.models import Judgment
from evaluation.results.aggregation import aggregate_study
from judgments.importers import open_judgments
from judgments.importers.options import mapping_of
from judgments.models import Study, Unit
from tests.refusals import assert_names, refuses

pytestmark = pytest.mark.django_db

WIDE = "item,cap,r1,r2,r3\nt1,cap one,3,4,2\nt2,cap two,1,2,3\n"
PEOPLE = "item,cap,Ada,Ben,Eva\nt1,cap one,3,4,2\nt2,cap two,1,,3\n"
CRITERIA_IN_ROWS = (
    "image,cap,sys,rater,criterion,score\nA.jpg,one,s1,w1,fluency,4\nA.jpg,one,s1,w1,adequacy,2\n"
    "A.jpg,one,s1,w2,fluency,3\nA.jpg,one,s1,w2,adequacy,2\n"
)
CRITERIA_IN_COLUMNS = (
    "image,cap,sys,rater,fluency,adequacy\nA.jpg,one,s1,w1,4,2\nA.jpg,one,s1,w2,3,2\nB.jpg,two,s1,w1,1,4\n"
)
OURS = (
    "image,cap,rater,stars,kind,invalidated\nA.jpg,cap one,w1,3,news,true\nB.jpg,cap two,w1,2,sport,false\n"
)
COLUMNS = "image=image,first_text=cap,worker=rater,value=stars"
Imports = Callable[..., str]


@pytest.fixture
def imports(tmp_path: Path) -> Imports:
    """Import a table of judgments about A.jpg, B.jpg, t1 and t2; return what the command says."""
    captions = "".join(f"{name},by a person\n" for name in ("A.jpg", "B.jpg", "t1", "t2"))
    (tmp_path / "items.csv").write_text(f"image,caption\n{captions}")
    call_command("import_dataset", "csv", str(tmp_path / "items.csv"), name="items", stdout=StringIO())

    def run(content: str, *options: str, format: str = "csv", protocol: str = "graded") -> str:
        path, said = tmp_path / f"table.{format}", StringIO()
        path.write_text(content)
        call_command(
            "import_judgments", format, str(path), "--dataset", "items", "--study", "brought", "--protocol",
            protocol, *options, stdout=said,
        )  # fmt: skip
        return said.getvalue()

    return run


def answers(study: str = "brought") -> dict[tuple[str, str], Any]:
    """Item and person -> value."""
    rows = Judgment.objects.filter(assignment__study__slug=study)
    keys = rows.values_list("unit__item__name", "assignment__worker__name", "value")
    return {(item, worker): value for item, worker, value in keys}


def refusal(imports: Imports, *arguments: str, **options: str) -> str:
    with pytest.raises(CommandError) as refused:
        imports(*arguments, **options)
    assert not Study.objects.exists()
    return str(refused.value)


def test_a_column_for_each_person_is_counted(imports: Imports) -> None:
    imports(WIDE, "--map", "image=item,first_text=cap,value=r{n},worker={n}")
    assert answers() == {
        ("t1", "1"): 3, ("t1", "2"): 4, ("t1", "3"): 2, ("t2", "1"): 1, ("t2", "2"): 2, ("t2", "3"): 3
    }  # fmt: skip


def test_columns_named_after_people_are_their_answers_and_an_empty_cell_is_none(imports: Imports) -> None:
    said = imports(PEOPLE, "--map", "image=item,first_text=cap", "--people", "Ada,Ben,Eva")
    assert answers() == {
        ("t1", "Ada"): 3, ("t1", "Ben"): 4, ("t1", "Eva"): 2, ("t2", "Ada"): 1, ("t2", "Eva"): 3
    }  # fmt: skip
    assert "Unanswered questions of a page of work, left out: 1" in said


def test_a_person_whose_column_the_table_lacks_is_named(imports: Imports) -> None:
    said = refusal(imports, PEOPLE, "--map", "image=item,first_text=cap", "--people", "Ada,Benn")
    assert "unknown column \"Benn\", expected 'Ben' perhaps" in said


def test_a_gap_in_the_numbers_of_columns_loses_nobody(imports: Imports) -> None:
    imports(WIDE.replace("r2", "r7"), "--map", "image=item,first_text=cap,value=r{n},worker={n}")
    assert sorted({worker for _, worker in answers()}) == ["1", "3", "7"]


def test_a_column_cannot_be_the_answer_and_the_person(imports: Imports) -> None:
    said = refusal(imports, WIDE, "--map", "image=item,first_text=cap,value=r{n},worker=r{n}")
    assert 'found "r{n}" for value and worker, expected worker={n}' in said


@pytest.mark.parametrize(
    ("ratings", "pairs"),
    [
        pytest.param([3, None, 2], "value=ratings.{n},worker={n}", id="places of a list"),
        pytest.param([3, None, 2], "value=ratings,worker={n}", id="a list of answers"),
        pytest.param({"0": 3, "1": None, "2": 2}, "value=ratings.{n},worker={n}", id="keys of an object"),
    ],
)
def test_lists_without_names_are_of_a_person_for_each_place(
    imports: Imports, ratings: Any, pairs: str
) -> None:
    table = [
        {"item": "t1", "cap": "cap one", "ratings": ratings},
        {"item": "t2", "cap": "cap two", "ratings": ratings},
    ]
    imports(json.dumps(table), "--map", f"image=item,first_text=cap,{pairs}", format="json")
    assert answers() == {("t1", "0"): 3, ("t1", "2"): 2, ("t2", "0"): 3, ("t2", "2"): 2}


def test_keys_of_an_object_may_have_dots(imports: Imports) -> None:
    table = [{"item": "t1", "cap": "c", "ratings": {"ada l. king": 3, "ben": 4}}]
    imports(
        json.dumps(table), "--map", "image=item,first_text=cap,value=ratings.{n},worker={n}", format="json"
    )
    assert answers() == {("t1", "ada l. king"): 3, ("t1", "ben"): 4}


def test_a_list_in_a_cell_of_a_table_is_one_too(imports: Imports) -> None:
    imports(
        'item,cap,ratings\nt1,one,"[3, 4, 2]"\n',
        "--map",
        "image=item,first_text=cap,value=ratings,worker={n}",
    )
    assert sorted(answers().values()) == [2, 3, 4]


def test_a_file_without_people_has_agreement_and_no_figures_of_people(imports: Imports) -> None:
    table = "image,cap,stars\nA.jpg,one,3\nA.jpg,one,4\nB.jpg,two,1\nB.jpg,two,1\n"
    said = refusal(imports, table, "--map", "image=image,first_text=cap,value=stars")
    assert "--workers anonymous" in said
    imports(table, "--map", "image=image,first_text=cap,value=stars", "--workers", "anonymous")
    assert len(answers()) == 4
    result = aggregate_study(study=Study.objects.get())
    # of the units (3, 4) and (1, 1): observed 2 * 1 / 4, expected 2 * (2 * 4 + 2 * 9 + 1) / (4 * 3)
    assert result["agreement"]["alpha"]["value"] == pytest.approx(1 - 0.5 / 4.5)
    assert result["workers"] == []


def test_columns_that_have_our_names_are_left_out_when_asked_and_told_else(imports: Imports) -> None:
    said = refusal(imports, OURS, "--map", COLUMNS)
    assert 'found "news"' in said
    assert "kind=- leaves the column out" in said
    said = imports(OURS, "--map", f"{COLUMNS},kind=-", "--dry-run")
    assert (
        "Column “invalidated” is imported, because it has a standard name. To leave it out, use COLUMN=-."
        in said
    )
    assert "Column “kind”" not in said
    said = imports(OURS, "--map", f"{COLUMNS},kind=-,invalidated=-")
    assert "invalidated" not in said
    assert [unit["n"] for unit in aggregate_study(study=Study.objects.get())["units"]] == [1, 1]


@pytest.mark.parametrize(
    "values",
    [
        pytest.param(("1", "0", ()), id="numbers"),
        pytest.param(("x", "same", ("--values", "x=1,same=0")), id="words"),
    ],
)
def test_ties_of_a_file_give_the_option_of_no_difference(
    imports: Imports, values: tuple[str, str, tuple[str, ...]]
) -> None:
    first, tie, options = values
    imports(
        f"image,x,y,rater,best\nA.jpg,p,q,w1,{first}\nA.jpg,p,q,w2,{tie}\n",
        "--map",
        "image=image,first_text=x,second_text=y,worker=rater,value=best",
        *options,
        protocol="pairwise",
    )
    assert Study.objects.get().design["answers"]["no_difference"] is True
    assert sorted(answers().values()) == [0, 1]


def test_a_part_of_the_rows_is_read(imports: Imports) -> None:
    pairs = "image=image,first_text=cap,system=sys,worker=rater,value=score"
    said = refusal(imports, CRITERIA_IN_ROWS, "--map", pairs)
    assert "a second answer" in said
    assert "no row with criterion=grammar" in refusal(
        imports, CRITERIA_IN_ROWS, "--map", pairs, "--where", "criterion=grammar"
    )
    assert 'the unknown column "criterium"' in refusal(
        imports, CRITERIA_IN_ROWS, "--map", pairs, "--where", "criterium=fluency"
    )
    imports(CRITERIA_IN_ROWS, "--map", pairs, "--where", "criterion=fluency")
    assert answers() == {("A.jpg", "w1"): 4, ("A.jpg", "w2"): 3}


@pytest.mark.parametrize(
    ("table", "options", "means"),
    [
        pytest.param(
            CRITERIA_IN_ROWS,
            ("image=image,first_text=cap,system=sys,worker=rater,value=score", "--criterion", "criterion"),
            (3.5, 2.0),
            id="in rows",
        ),
        pytest.param(
            CRITERIA_IN_COLUMNS,
            ("image=image,first_text=cap,system=sys,worker=rater,value=fluency|adequacy",),
            (2.25, 3.0),
            id="in columns",
        ),
    ],
)
def test_several_criteria_are_one_import_and_a_study_each(
    imports: Imports, table: str, options: tuple[str, ...], means: tuple[float, float]
) -> None:
    preview = imports(table, "--map", *options, "--dry-run")
    assert "fluency:" in preview
    assert "adequacy:" in preview
    assert not Study.objects.exists()
    said = imports(table, "--map", *options)
    assert (
        "The file has several criteria; a separate study was created for each of them: "
        "brought-fluency, brought-adequacy." in said
    )
    for slug, mean in zip(("brought-fluency", "brought-adequacy"), means, strict=True):
        study = Study.objects.get(slug=slug)
        (system,) = aggregate_study(study=study)["systems"]
        assert system["mean"]["value"] == pytest.approx(mean)
        assert study.notes["criteria"] == {"fluency": "brought-fluency", "adequacy": "brought-adequacy"}
    assert "was there already" in imports(table, "--map", *options)


def test_one_criterion_that_is_refused_leaves_none(imports: Imports) -> None:
    table = CRITERIA_IN_ROWS.replace("adequacy,2", "adequacy,good")
    pairs = "image=image,first_text=cap,system=sys,worker=rater,value=score"
    assert 'found "good"' in refusal(imports, table, "--map", pairs, "--criterion", "criterion")


def test_bad_rows_of_all_criteria_are_one_report(imports: Imports, tmp_path: Path) -> None:
    table = CRITERIA_IN_ROWS.replace("w1,adequacy,2", "w1,adequacy,good") + "A.jpg,one,s1,w3,fluency,nice\n"
    pairs, bad = "image=image,first_text=cap,system=sys,worker=rater,value=score", tmp_path / "bad.csv"
    imports(table, "--map", pairs, "--criterion", "criterion", "--bad-rows", str(bad))
    rows = list(csv.DictReader(bad.read_text().splitlines()))
    assert [(row["line"], row["value"]) for row in rows] == [("6", "nice"), ("3", "good")]
    assert answers("brought-fluency") == {("A.jpg", "w1"): 4, ("A.jpg", "w2"): 3}
    assert answers("brought-adequacy") == {("A.jpg", "w2"): 2}


def test_a_folder_has_a_file_for_each_person(imports: Imports, tmp_path: Path) -> None:
    folder = tmp_path / "people"
    folder.mkdir()
    for name, stars in (("ada", 3), ("ben", 4)):
        (folder / f"{name}.csv").write_text(f"image,cap,stars\nA.jpg,one,{stars}\n")
    call_command(
        "import_judgments", "csv", str(folder), "--dataset", "items", "--study", "brought", "--protocol",
        "graded", "--map", "image=image,first_text=cap,value=stars,worker={file}", stdout=StringIO(),
    )  # fmt: skip
    assert answers() == {("A.jpg", "ada"): 3, ("A.jpg", "ben"): 4}


def test_words_for_nothing_are_read_as_such_when_asked(imports: Imports) -> None:
    table = "image,cap,rater,stars\nA.jpg,NA,w1,3\nA.jpg,NA,w2,NA\n"
    said = refusal(imports, table, "--map", COLUMNS)
    assert 'found "NA"' in said
    assert "--missing NA" in said
    imports(table, "--map", COLUMNS, "--missing", "NA,None")
    assert answers() == {("A.jpg", "w1"): 3}
    assert Unit.objects.values_list("first__text", flat=True).get() == "NA"


@pytest.mark.parametrize("title", ["Ratings of May,,,", "Ratings of May"])
def test_the_header_is_found_below_rows_of_a_title(imports: Imports, title: str) -> None:
    said = imports(f"{title}\n,,,\nimage,cap,rater,stars\nA.jpg,one,w1,3\n", "--map", COLUMNS)
    assert "The header is row 3" in said
    assert answers() == {("A.jpg", "w1"): 3}


def test_a_header_below_a_row_of_several_cells_is_named(imports: Imports) -> None:
    table = "Ratings,May,,\nimage,cap,rater,stars\nA.jpg,one,w1,3\n"
    assert "--header-row N" in refusal(imports, table, "--map", COLUMNS)
    imports(table, "--map", COLUMNS, "--header-row", "2")
    assert answers() == {("A.jpg", "w1"): 3}


@pytest.mark.parametrize("name", [pytest.param(name, id=name) for name in ("a.jpg", "A", "A .JPG", "a.png")])
def test_names_of_images_are_matched_when_asked(imports: Imports, name: str) -> None:
    table = f"image,cap,rater,stars\n{name},one,w1,3\n"
    assert "--match-names takes it for 'A.jpg'" in refusal(imports, table, "--map", COLUMNS)
    imports(table, "--map", COLUMNS, "--match-names")
    assert answers() == {("A.jpg", "w1"): 3}


def test_names_that_differ_in_case_or_blanks_alone_are_told(imports: Imports) -> None:
    table = "image,cap,sys,rater,stars\nA.jpg,one,GPT-4,Ann,3\nA.jpg,two,gpt-4 ,ann,2\n"
    said = imports(table, "--map", f"{COLUMNS},system=sys")
    assert 'are treated as different: "GPT-4" and "gpt-4".' in said
    assert 'are treated as different: "Ann" and "ann".' in said


def test_items_are_named_by_their_texts(tmp_path: Path) -> None:
    table = tmp_path / "texts.csv"
    table.write_text(
        "src,out,model,rater,score\none sentence,o1,m1,w1,3\none sentence,o2,m2,w1,1\nanother,o3,m1,w1,2\n"
    )
    call_command(
        "import_dataset", "csv", str(table), "--name", "texts", "--map", "text=src", stdout=StringIO()
    )
    call_command(
        "import_judgments", "csv", str(table), "--dataset", "texts", "--study", "brought", "--protocol",
        "graded", "--map", "text=src,first_text=out,system=model,worker=rater,value=score", stdout=StringIO(),
    )  # fmt: skip
    units = Unit.objects.values_list("item__text", "first__text")
    assert sorted(units) == [("another", "o3"), ("one sentence", "o1"), ("one sentence", "o2")]
    assert Study.objects.get().dataset.items.count() == 2


def test_a_table_s_own_rows_are_the_same_without_a_database(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(WIDE)
    mapping = mapping_of({"map": "unit=item,value=r{n},worker={n}"}, path)
    rows = list(open_judgments("csv", path, mapping=mapping, protocol="graded").judgments())
    assert [(row.unit, row.worker, row.value) for row in rows][:2] == [("t1", "1", 3), ("t1", "2", 4)]


PAIRS = "image=image,first_text=x,second_text=y,system=a,second_system=b,worker=w,value=v"
RATED = "image=image,first_text=cap,system=sys,worker=rater,value=stars"


def test_a_pair_shown_both_ways_round_is_one_pair(imports: Imports) -> None:
    rows = ("p,q,m1,m2,ann,1", "q,p,m2,m1,ben,2.0", "p,q,m1,m2,cat,2", "q,p,m2,m1,dan,2", "q,p,m2,m1,eva,0")
    said = imports(
        "image,x,y,a,b,w,v\n" + "".join(f"A.jpg,{row}\n" for row in rows), "--map", PAIRS, protocol="pairwise"
    )
    assert "the pair and its answer were reversed: 3" in said
    assert answers() == {("A.jpg", name): value for name, value in zip(
        ("ann", "ben", "cat", "dan", "eva"), (1, 1, 2, 1, 0), strict=True
    )}  # fmt: skip
    assert Study.objects.get(slug="brought").units.count() == 1


def test_pairs_shown_beside_other_references_keep_their_order(imports: Imports) -> None:
    rows = "A.jpg,a hat,p,q,ann,1\nA.jpg,a cap,q,p,ann,1\n"
    columns = "image=image,reference_text=ref,first_text=x,second_text=y,worker=w,value=v"
    said = imports(f"image,ref,x,y,w,v\n{rows}", "--map", columns, protocol="triplet")
    assert "turned" not in said
    assert set(Judgment.objects.values_list("unit__first__text", "value")) == {("p", 1), ("q", 1)}


def test_names_of_composed_and_decomposed_letters_are_one_name(imports: Imports) -> None:
    rows = "".join(
        f"B.jpg,one,{system},{rater},3\n" for system, rater in (("m\u00e9", "ann"), ("me\u0301", "ben"))
    )
    imports(f"image,cap,sys,rater,stars\n{rows}", "--map", RATED)
    assert Study.objects.get(slug="brought").units.count() == 1


@pytest.mark.parametrize("column", ["sys", "rater"])
def test_words_for_nothing_are_nobody_s_name(imports: Imports, column: str) -> None:
    row = {"image": "A.jpg", "cap": "one", "sys": "m1", "rater": "ann", "stars": "3"} | {column: "nan"}
    table = f"{','.join(row)}\n{','.join(row.values())}\n"
    assert_names(refusal(imports, table, "--map", RATED), column, "line 2", "nan", "--missing")


def test_words_of_options_are_found_however_a_cell_is_written(imports: Imports) -> None:
    table = "image,cap,rater,crit,stars\nA.jpg,one,ann,fluidit\u00e9,3.0\nA.jpg,one,ben,fluidite\u0301,4\n"
    table += "B.jpg,two,ann,fluidit\u00e9,99.0\n"
    options = ("--where", "crit=fluidite\u0301", "--missing", "99")
    imports(table, "--map", COLUMNS, *options)
    assert answers() == {("A.jpg", "ann"): 3, ("A.jpg", "ben"): 4}


def test_each_file_of_a_folder_has_the_columns(imports: Imports, tmp_path: Path) -> None:
    folder = tmp_path / "people"
    folder.mkdir()
    (folder / "ann.csv").write_text("image,cap,sys,stars\nA.jpg,one,m1,3\n")
    (folder / "ben.csv").write_text("image,cap,sys,rating\nA.jpg,one,m1,4\n")
    arguments = ("csv", str(folder), "--dataset", "items", "--study", "brought", "--protocol", "graded")
    with refuses(CommandError, "ben.csv", "--map", "stars"):
        call_command(
            "import_judgments", *arguments, "--map", RATED.replace("=rater", "={file}"), stdout=StringIO()
        )


def test_a_stated_line_has_points_between_its_ends_in_whatever_order_answers_come(imports: Imports) -> None:
    rows = (("ann", "0"), ("ben", "1"), ("cat", "0.25"), ("dan", "0.5"))
    table = "image,cap,rater,stars\n" + "".join(f"A.jpg,one,{rater},{value}\n" for rater, value in rows)
    imports(table, "--map", COLUMNS, "--scale", "0:1", protocol="slider")
    assert answers() == {("A.jpg", rater): float(value) for rater, value in rows}


def test_the_scale_of_a_design_holds_with_a_step_of_one(imports: Imports, tmp_path: Path) -> None:
    (tmp_path / "design.toml").write_text("[scale]\nlow = 1\nhigh = 5\nstep = 1\n")
    table = "image,cap,rater,stars\nA.jpg,one,ann,3.5\nA.jpg,one,ben,4\n"
    said = refusal(imports, table, "--map", COLUMNS, "--design", str(tmp_path / "design.toml"))
    assert_names(said, "line 2", "3.5")


def test_a_step_may_have_no_digit_before_its_point(imports: Imports) -> None:
    imports("image,cap,rater,stars\nA.jpg,one,ann,1.5\n", "--map", COLUMNS, "--scale", "1:6:.5")
    assert answers() == {("A.jpg", "ann"): 1.5}


def test_earlier_versions_are_not_given_answers_between_whole_numbers(imports: Imports) -> None:
    migration = import_module("annotation.migrations.0023_answers_between_whole_numbers")
    editor = SimpleNamespace(connection=connection)
    migration.refuse_what_no_smallint_holds(apps, editor)
    imports(
        "image,cap,rater,stars\nA.jpg,one,ann,1.5\nB.jpg,two,ann,2\n", "--map", COLUMNS, "--scale", "1:6:.5"
    )
    with pytest.raises(IrreversibleError, match="judgment"):
        migration.refuse_what_no_smallint_holds(apps, editor)
