"""Data sets of tables as people have them: with systems, source texts without ids, titles, and names as typed."""

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from PIL import Image as PillowImage

from judgments.models import Caption, Dataset, Item, Output
from tests.refusals import refuses

pytestmark = pytest.mark.django_db

OF_SYSTEMS = "image,caption,system\nA.jpg,by a person,\nA.jpg,by a machine,m1\nA.jpg,by another,m2\n"
TEXTS = "src,out,model,rater\none sentence,o1,m1,w1\none sentence,o2,m2,w1\nanother sentence,o3,m1,w1\n"


def imported(tmp_path: Path, content: str, *options: str, command: str = "import_dataset") -> str:
    path, said = tmp_path / "table.csv", StringIO()
    path.write_text(content)
    name = ("--name", "items") if command == "import_dataset" else ("--dataset", "items")
    call_command(command, "csv", str(path), *name, *options, stdout=said)
    return said.getvalue()


def test_a_mapping_that_only_leaves_rows_out_is_applied(tmp_path: Path) -> None:
    mapping = tmp_path / "mapping.toml"
    mapping.write_text('[skip]\nkind = "draft"\n')
    table = "image,caption,kind\nA.jpg,kept,final\nA.jpg,left out,draft\n"
    assert "Rows that this file format leaves out" in imported(tmp_path, table, "--mapping", str(mapping))
    assert list(Caption.objects.values_list("text", flat=True)) == ["kept"]


def outputs() -> set[tuple[Any, ...]]:
    return set(Output.objects.values_list("system__name", "item__name", "caption__text"))


@pytest.mark.parametrize(
    ("header", "options"),
    [
        pytest.param("image,caption,system", (), id="our names"),
        pytest.param("pic,said,by", ("--map", "image=pic,caption=said,system=by"), id="other names"),
    ],
)
def test_a_column_of_systems_makes_systems(tmp_path: Path, header: str, options: tuple[str, ...]) -> None:
    table = OF_SYSTEMS.replace("image,caption,system", header)
    said = imported(tmp_path, table, *options)
    assert "2 systems" in said
    references = Caption.objects.filter(role=Caption.Role.REFERENCE)
    assert list(references.values_list("text", flat=True)) == ["by a person"]
    assert outputs() == {("m1", "A.jpg", "by a machine"), ("m2", "A.jpg", "by another")}
    assert "was there already" in imported(tmp_path, table, *options)


def test_a_table_of_systems_alone_names_its_items(tmp_path: Path) -> None:
    imported(tmp_path, "image,caption,system\nA.jpg,one,m1\nB.jpg,two,m2\n")
    assert set(Item.objects.values_list("name", flat=True)) == {"A.jpg", "B.jpg"}
    assert outputs() == {("m1", "A.jpg", "one"), ("m2", "B.jpg", "two")}


def test_a_system_that_contradicts_itself_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="second caption"):
        imported(tmp_path, f"{OF_SYSTEMS}A.jpg,something else,m1\n")
    assert not Dataset.objects.exists()


@pytest.mark.parametrize(
    ("pairs", "made"),
    [
        pytest.param("text=src", set(), id="texts alone"),
        pytest.param(
            "text=src,caption=out,system=model",
            {("m1", "text-1", "o1"), ("m2", "text-1", "o2"), ("m1", "text-2", "o3")},
            id="with systems",
        ),
    ],
)
def test_the_same_source_text_is_the_same_item(
    tmp_path: Path, pairs: str, made: set[tuple[str, ...]]
) -> None:
    imported(tmp_path, TEXTS, "--map", pairs)
    items = Item.objects.order_by("position").values_list("text", flat=True)
    assert list(items) == ["one sentence", "another sentence"]
    assert outputs() == made


def test_outputs_are_about_the_item_of_their_source_text_in_any_order(tmp_path: Path) -> None:
    imported(tmp_path, TEXTS, "--map", "text=src")
    table = "src,out\nanother sentence,o3\none sentence ,o1\n"
    imported(tmp_path, table, "--map", "text=src,caption=out", "--system", "m1", command="import_candidates")
    assert set(Output.objects.values_list("item__text", "caption__text")) == {
        ("one sentence", "o1"),
        ("another sentence", "o3"),
    }
    with refuses(CommandError, "no such"):
        imported(
            tmp_path, "text,caption\nno such,o\n", "--system", "m2", "--map", "text=text",
            command="import_candidates",
        )  # fmt: skip


def test_a_sentence_that_a_system_has_twice_with_other_outputs_is_two_items(tmp_path: Path) -> None:
    table = "text,caption,system\nYes.,Ja.,m1\nYes.,Doch.,m1\nYes.,Ja.,m2\n"
    imported(tmp_path, table, "--map", "text=text")
    assert outputs() == {("m1", "text-1", "Ja."), ("m1", "text-2", "Doch."), ("m2", "text-1", "Ja.")}


def test_pictures_are_matched_by_names_as_typed(tmp_path: Path) -> None:
    folder = tmp_path / "pictures"
    folder.mkdir()
    PillowImage.new("RGB", (8, 6), "red").save(folder / "a b.JPG", format="JPEG")
    table = "image,caption\nA_b.jpeg,a dog\n"
    imported(tmp_path, table, "--images", str(folder))
    assert Item.objects.get().picture
    assert "a b.JPG for A_b.jpeg" in Dataset.objects.get().notes["sentences"][0]


def test_a_title_names_as_typed_and_a_part_of_the_rows(tmp_path: Path) -> None:
    imported(
        tmp_path, "Our pictures,,\npic,said,lang\nA.jpg,a dog,en\nA.jpg,ein Hund,de\n", "--map",
        "image=pic,caption=said", "--header-row", "2", "--where", "lang=en",
    )  # fmt: skip
    assert list(Caption.objects.values_list("text", flat=True)) == ["a dog"]
    with refuses(CommandError, "--match-names", "A.jpg"):
        imported(tmp_path, "image,caption\na.JPG,a cat\n", "--system", "m1", command="import_candidates")
    imported(
        tmp_path, "image,caption\na.JPG,a cat\n", "--system", "m1", "--match-names",
        command="import_candidates",
    )  # fmt: skip
    assert outputs() == {("m1", "A.jpg", "a cat")}


def test_a_source_text_in_another_form_of_its_letters_is_the_same_item(tmp_path: Path) -> None:
    table = "src,out,model\ncaf\u00e9,one,m1\n cafe\u0301,two,m2\n"
    imported(tmp_path, table, "--map", "text=src,caption=out,system=model")
    assert Item.objects.count() == 1
    assert {(system, text) for system, _, text in outputs()} == {("m1", "one"), ("m2", "two")}
