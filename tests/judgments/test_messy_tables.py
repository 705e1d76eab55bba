"""Tables as people keep them: a title above the header, and names of pictures that are spelled otherwise."""

from pathlib import Path

import pytest

from judgments.datasets.importing.datasets import import_dataset
from judgments.datasets.picture_checks import PictureProblem
from judgments.datasets.pictures import checked_pictures
from judgments.importers import ImportProblem, open_dataset
from judgments.importers.names import find_pictures
from judgments.importers.records.title_rows import header_line
from judgments.models import Caption, Dataset
from tests.annotation.casting import picture_bytes
from tests.judgments.results.test_layouts import workbook
from tests.refusals import refuses

HEADER = ["image", "caption"]
ROWS = [["a.jpg", "A dog ."], ["b.jpg", "A cat ."]]


def table(folder: Path, form: str, above: list[list[str]], header: list[str] = HEADER) -> Path:
    path = folder / f"table.{form}"
    if form == "xlsx":
        return workbook(path, [*above, header, *ROWS])
    lines = [";".join(row) for row in (*above, header, *ROWS)]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("form", ["csv", "xlsx"])
@pytest.mark.parametrize(
    ("above", "row"),
    [
        ([], 1),
        ([["Captions of 2026"]], 2),
        ([["Captions of 2026", ""], [], [""]], 4),
        ([[], ["Captions"], ["by two people"]], 4),
    ],
)
def test_the_header_is_found_below_a_title_and_its_row_is_said(
    tmp_path: Path, form: str, above: list[list[str]], row: int
) -> None:
    source = open_dataset(form, table(tmp_path, form, above))
    assert [row.text for row in source.references()] == ["A dog .", "A cat ."]
    said = source.notes.sentences()
    assert said == ([f"The header is row {row}. The rows above it were not read."] if row > 1 else [])


@pytest.mark.parametrize(
    ("lines", "row"),
    [
        ([["caption"], ["A dog"], ["A cat"]], 1),  # one column
        ([["", "caption"], ["0", "A dog"]], 1),  # row numbers
        ([["text"], ["Hello", "world"]], 1),  # our name: the comma needs quotes
        ([["", "", "A title in the middle"], ["a", "b", "c"]], 2),
        ([[], [""]], 0),
    ],
)
def test_a_header_is_no_title(lines: list[list[str]], row: int) -> None:
    assert header_line(list(enumerate(lines, 1)), {"text"}) == row


def test_problems_below_a_title_are_at_their_own_line(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text('Title\n\nimage,caption\n"a\n.jpg",A dog\nb.jpg\n')
    with pytest.raises(ImportProblem, match="line 6"):
        list(open_dataset("csv", path).references())


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("IMG_3.JPG", "img_3.jpg"),
        ("IMG_3.jpeg", "IMG_3.JPG"),
        ("photos/IMG_3.jpg", "img_3.JPG"),
        ("photos\\IMG_3.jpg", "2026/img_3.jpeg"),
        ("img_3", "2026/IMG_3.png"),
        ("img 3.jpg", "img_3.webp"),
    ],
)
def test_a_picture_is_found_by_another_spelling(name: str, file: str) -> None:
    found = find_pictures([name], [file, "other.jpg"])
    assert (found.files, found.respelled_names, found.unclear_names) == ({name: file}, [name], {})


@pytest.mark.parametrize(
    ("names", "files", "unclear"),
    [
        (["IMG.JPG"], ["a/img.jpg", "b/img.jpg"], {"IMG.JPG": ["a/img.jpg", "b/img.jpg"]}),
        (["a/1.jpg", "b/1.jpg"], ["1.jpg"], {"a/1.jpg": ["b/1.jpg"], "b/1.jpg": ["a/1.jpg"]}),
        (["1.JPG", "1.jpg"], ["1.jpg"], {"1.JPG": ["1.jpg"]}),
        (["1.jpg"], ["1.png", "1.gif"], {"1.jpg": ["1.png", "1.gif"]}),
        (["11.jpg"], ["1_1.jpg"], {}),
    ],
)
def test_a_picture_that_several_may_be_is_left_to_a_person(
    names: list[str], files: list[str], unclear: dict[str, list[str]]
) -> None:
    found = find_pictures(names, files)
    assert (found.respelled_names, found.unclear_names) == ([], unclear)


@pytest.mark.django_db
def test_a_command_takes_the_messy_table_with_its_pictures(tmp_path: Path, settings: object) -> None:
    folder = tmp_path / "pictures"
    (folder / "deep").mkdir(parents=True)
    for name in ("A.JPG", "deep/b.jpeg"):
        (folder / name).write_bytes(picture_bytes())
    path = table(tmp_path, "csv", [["A title"]], ["image", "caption"])
    summary = import_dataset(format="csv", path=path, name="messy", images=str(folder))
    assert not Dataset.objects.get().items.filter(picture="").exists()
    assert Caption.objects.count() == 2
    said = " ".join(summary.notes)
    assert "row 2" in said
    assert "A.JPG for a.jpg: 2" in said


def test_a_picture_that_two_files_may_be_is_refused_by_a_command(tmp_path: Path) -> None:
    for name in ("A.jpg", "a.JPEG"):
        (tmp_path / name).write_bytes(picture_bytes())
    with refuses(PictureProblem, "'a.jpg'", "A.jpg", "a.JPEG"):
        checked_pictures(tmp_path, [("a", "a.jpg")])
