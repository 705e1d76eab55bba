"""``import_judgments`` for other platforms' files: a mapping in a file, a dry run, all or nothing."""

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from annotation.models import Judgment
from judgments.models import Study
from tests.evaluation.studies import make_dataset

pytestmark = pytest.mark.django_db

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
    with pytest.raises(CommandError, match=r'out.csv, line 4, Answer.fits: found "perhaps"'):
        called(folder)
    assert not Study.objects.filter(slug="from-turkle").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("columns = 3", "columns: found 3, expected a table"),
        ("[colums]", "colums: found this unknown key, expected one of columns, values, zone"),
        ("[columns", "found no TOML"),
        ("[columns]\nvalue = true", r"columns\.value: found true, expected a text or a whole number"),
    ],
)
def test_a_mapping_that_says_something_else_is_refused(folder: Path, text: str, said: str) -> None:
    (folder / "mapping.toml").write_text(text, encoding="utf-8")
    with pytest.raises(CommandError, match=said):
        called(folder)
