"""A title list for a study of keywords: only what its texts can offer is kept."""

import gzip
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from judgments.models import Study, Unit
from judgments.studies.designs import design_of
from judgments.studies.generation.hits import generate_hits
from tests.annotation.scenes import make_scenes
from tests.refusals import refuses

pytestmark = pytest.mark.django_db

TITLES = ["Farm_show", "Red Barn", "barn", "University of Texas", "the old OAK", "Red_Barn", ""]


def study_file(folder: Path, protocol: str = "keywords", more: str = "") -> Path:
    path = folder / "study.toml"
    path.write_text(f'name = "K"\nslug = "k"\ndataset = "scenes"\nprotocol = "{protocol}"\n{more}')
    return path


def title_file(folder: Path, titles: list[str], *, packed: bool = False) -> Path:
    path = folder / ("titles.gz" if packed else "titles.txt")
    content = "\n".join(titles).encode()
    path.write_bytes(gzip.compress(content) if packed else content)
    return path


@pytest.mark.parametrize("packed", [False, True])
def test_titles_that_stand_in_a_text_are_kept_in_the_design_and_offered(
    tmp_path: Path, packed: bool, capsys: Any
) -> None:
    make_scenes()
    call_command("create_study", study_file(tmp_path), titles=title_file(tmp_path, TITLES, packed=packed))
    assert "3 titles of" in capsys.readouterr().out
    study = Study.objects.get(slug="k")
    assert design_of(study).keywords.titles == ("farm show", "red barn", "the old oak")
    generate_hits(study=study)
    offered = Unit.objects.filter(study=study)[0].content["collocations"]
    assert offered == ["farm show", "red barn", "the old oak"]
    assert study.notes["sentences"] == [
        "Phrases offered to participants: 12, from the 3 titles of the design."
    ]


def test_a_list_without_a_title_of_a_text_for_another_protocol_or_damaged_creates_no_study(
    tmp_path: Path,
) -> None:
    make_scenes()
    with refuses(CommandError, "scenes"):
        call_command("create_study", study_file(tmp_path), titles=title_file(tmp_path, ["Paris", "New York"]))
    assert not Study.objects.exists()
    with refuses(CommandError, "grounding"):
        call_command("create_study", study_file(tmp_path, "grounding"), titles=title_file(tmp_path, TITLES))
    path = tmp_path / "titles.txt"
    path.write_bytes(b"Red barn\n\xff\xfe broken\n")
    with pytest.raises(CommandError, match="line 2"):
        call_command("create_study", study_file(tmp_path), titles=path)
    assert not Study.objects.exists()


def test_the_longest_phrase_of_the_design_bounds_the_titles(tmp_path: Path) -> None:
    make_scenes()
    call_command(
        "create_study",
        study_file(tmp_path, more="[keywords]\nlongest = 2\n"),
        titles=title_file(tmp_path, TITLES),
    )
    assert design_of(Study.objects.get()).keywords.titles == ("farm show", "red barn")
