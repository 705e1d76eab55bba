"""Every shell block of the documentation is run: a page's blocks one after the other, on an installation with the demo.

What a page takes for granted (an old result file, people who answered meanwhile) is made here, before it or between its
blocks. The few orders that never end or set a machine up are tests of their own: tests/test_run.py runs `make run`,
`make test`, `make mturk-demo` and what they install.
"""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import services
from tests.installations import Installation, Installations

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
BLOCKS = {
    str(page.relative_to(ROOT)): [
        text for kind, text in FENCE.findall(page.read_text("utf-8")) if kind == "sh"
    ]
    for page in PAGES
}

# What stands for the programs of a machine. `make` and the making of an environment are tests of their own.
START = """
set -euo pipefail
shopt -s expand_aliases
alias quorum=".venv/bin/python manage.py"
make() { grep -q "^$1:" Makefile; }
python3() { [ "$1 $2" = "-m venv" ] || command python3 "$@"; }
"""
PYTHON = """#!/bin/sh
case "$*" in
  *gunicorn*) exec "{python}" "$@" --check-config ;;
  "-m config.worker") exec "{python}" -c "import config.worker" ;;
  *) exec "{python}" "$@" ;;
esac
"""
PIP = '#!/bin/sh\n[ "$1 $2" = "install -r" ] && [ -f "$3" ]\n'

DEMO_ANSWERS = """
from django.utils import timezone
from annotation.work.claims import claim_assignment
from annotation.work.joining import join_study
from annotation.work.submissions import submit_and_claim
from judgments.studies.studies import find_study
from tests.annotation.voting import always_first, answers_of
study = find_study("{study}")
for name in ("Ada", "Ben", "Cem"):
    worker = join_study(study=study, name=name, consent=True).worker
    claim = claim_assignment(study=study, worker=worker)
    while claim is not None:
        answers = answers_of(claim.assignment, worker, always_first)
        _, claim = submit_and_claim(assignment=claim.assignment, answers=answers)
"""


def blocks_of(page: str) -> list[str]:
    """A page's blocks, of which there is one at least."""
    assert BLOCKS[page]
    return BLOCKS[page]


@pytest.fixture(scope="session")
def shell() -> None:
    """bash, curl and jq."""
    services.demand("shell")


@pytest.fixture(scope="module")
def demo(installations: Installations) -> Iterator[Installation]:
    """An installation with the demo, to be copied."""
    with installations.fresh("sqlite") as made:
        made.manage("load_demo")
        yield made


@pytest.fixture
def site(demo: Installation, installations: Installations, tmp_path: Path) -> Iterator[Installation]:
    """The demo in a data folder of its own, and a folder that looks like a clone of the project."""
    with installations.fresh("sqlite") as made:
        shutil.copytree(demo.folder, made.folder, dirs_exist_ok=True)
        yield made


def clone(tmp_path: Path) -> Path:
    """The project's files under their names, and its environment; what the blocks write stays out of the project."""
    here = tmp_path / "quorum"
    (here / ".venv" / "bin").mkdir(parents=True)
    for entry in ROOT.iterdir():
        if entry.name not in (".venv", "var", ".git"):
            (here / entry.name).symlink_to(entry)
    for name, text in (("python", PYTHON.format(python=sys.executable)), ("pip", PIP)):
        program = here / ".venv" / "bin" / name
        program.write_text(text)
        program.chmod(0o755)
    shared = os.environ.get("QUORUM_SHARED")
    if shared:
        (tmp_path / "shared").symlink_to(Path(shared).resolve())
    return here


def run(blocks: list[str], site: Installation, here: Path, **environment: str) -> str:
    """What the blocks printed; a failing command ends the test with what it said."""
    done = subprocess.run(
        ["bash", "-c", START + "\n".join(blocks)],
        cwd=here,
        env=site.env | environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, f"{done.stdout[-1500:]}\n{done.stderr[-1500:]}"
    return done.stdout


# Pages whose blocks need something that the demo does not have; each has a test below.
OWN_TESTS = {
    "docs/tutorial.md",
    "docs/api.md",
    "docs/statistics.md",
    "docs/evaluation.md",
    "docs/content-and-keywords.md",
    "docs/crowds/batch-files.md",
    "docs/imports.md",
}


@pytest.mark.parametrize("page", sorted(page for page in BLOCKS if BLOCKS[page] and page not in OWN_TESTS))
@pytest.mark.usefixtures("shell")
def test_a_page_runs_from_its_first_block_to_its_last(page: str, site: Installation, tmp_path: Path) -> None:
    here = clone(tmp_path)
    for name in ("results", "references"):  # score files of one's own
        (here / f"{name}.json").write_text(
            '{"a.jpg": ["a dog runs"]}' if name == "references" else '{"a.jpg": "a dog"}'
        )
    run(blocks_of(page), site, here)


@pytest.mark.usefixtures("shell")
def test_the_tutorial_leads_from_files_to_a_table(site: Installation, tmp_path: Path) -> None:
    here, blocks = clone(tmp_path), blocks_of("docs/tutorial.md")
    text = (ROOT / "docs" / "tutorial.md").read_text("utf-8")
    design = next(body for kind, body in FENCE.findall(text) if kind == "toml")
    before = next(place for place, block in enumerate(blocks) if "create_study mine/study.toml" in block)
    answered = next(place for place, block in enumerate(blocks) if "close_study" in block)
    run(blocks[:before], site, here)
    (here / "mine" / "study.toml").write_text(design)
    run(blocks[before:answered], site, here)
    site.python(DEMO_ANSWERS.format(study="short-or-nearest"))
    said = run(blocks[answered:], site, here)
    assert "10 of 10 units judged" in said
    assert (here / "mine" / "metrics.json").exists()


@pytest.mark.usefixtures("shell")
def test_a_workers_program_gets_through_its_calls(site: Installation, tmp_path: Path) -> None:
    here = clone(tmp_path)
    site.manage("export_study", "demo-pairwise", "--output", str(here / "study.toml"))
    design = (here / "study.toml").read_text()
    (here / "study.toml").write_text(design.replace("demo-pairwise", "another-pairwise"))
    token = site.python(
        "from django.contrib.auth.models import User\nfrom rest_framework.authtoken.models import Token\n"
        "print(Token.objects.create(user=User.objects.create_superuser('program')).key)"
    )
    url = site.start_server()
    blocks = [block.replace("http://127.0.0.1:8000", url) for block in blocks_of("docs/api.md")]
    blocks = [block.replace("curl -s", "curl -s --fail-with-body") for block in blocks]
    run(blocks, site, here, STAFF_TOKEN=token)
    left = site.query("select state, count(*) from annotation_assignment group by state")
    assert dict(left)["submitted"] >= 1


@pytest.mark.usefixtures("shell", "shared")
@pytest.mark.parametrize("page", ["docs/statistics.md", "docs/evaluation.md"])
def test_pages_about_published_data(page: str, site: Installation, tmp_path: Path) -> None:
    here = clone(tmp_path)
    (here / "judgments.jsonl").write_text(
        "".join(
            f'{{"unit": "u{unit}", "worker": "w{worker}", "value": {1 + (unit + worker) % 3}}}\n'
            for unit in range(6)
            for worker in range(3)
        )
    )
    for name, protocol, most in (("crowd", "relevance", 2), ("experts", "graded", 4)):
        (here / f"{name}.jsonl").write_text(
            "".join(
                f'{{"unit": "u{unit}", "worker": "w{worker}", "protocol": "{protocol}", '
                f'"value": {(unit + worker // 2) % most + (most == 4)}}}\n'
                for unit in range(12)
                for worker in range(3)
            )
        )
    run(blocks_of(page), site, here)


OPEN_ANSWERS = """
from tests.annotation.casting import make_study
from tests.annotation.scenes import make_scenes
from tests.evaluation.test_links_gold import answered
scenes = make_scenes(images=4)
one = {"judgments_per_unit": 2, "controls": {"per_hit": 0}, "units_per_hit": 2}
answered(make_study(scenes, "keywords", slug="news", **one), ["dog", "barn"], ["dog", "oak"])
make_study(scenes, "grounding", slug="boxes", **one)
"""


@pytest.mark.usefixtures("shell", "shared")
def test_open_answers_leave_as_gold(site: Installation, tmp_path: Path) -> None:
    here = clone(tmp_path)
    site.python(OPEN_ANSWERS)
    run(blocks_of("docs/content-and-keywords.md"), site, here)
    assert (here / "gold.jsonl").read_text().count('"dog": 2') >= 2


PHOTO = "https://example.org/1000268201_693b08cb0e.jpg"
TIMES = {"AcceptTime": "Fri Nov 20 14:04:39 UTC 2020", "SubmitTime": "Fri Nov 20 14:05:09 UTC 2020"}
FLOWER = {
    "_unit_id": "1", "_id": "11", "_worker_id": "5", "_golden": "false", "_tainted": "false", "_trust": "0.9",
    "_started_at": "11/20/2016 14:04:39", "_created_at": "11/20/2016 14:05:09", "which_is_better": "the first",
    "image_url": PHOTO, "caption_a": "A dog runs .", "caption_b": "A cat sits .", "which_is_better_gold": "",
}  # fmt: skip
TURKLE = {
    "HITId": "1", "AssignmentId": "7", "WorkerId": "5", "WorkTimeInSeconds": "30", "Input.image": PHOTO,
    "Input.caption": "A dog runs .", "Answer.fits": "yes", "Turkle.Username": "esther",
} | TIMES  # fmt: skip
STUDIO = {
    "id": 1, "data": {"image": PHOTO, "caption_a": "A dog runs .", "caption_b": "A cat sits ."}, "annotations": [{
        "id": 2, "completed_by": 3, "was_cancelled": False, "ground_truth": False, "lead_time": 4.2,
        "created_at": "2021-03-09T22:16:08Z",
        "result": [
            {"id": "x", "type": "pairwise", "from_name": "better", "to_name": "a", "value": {"selected": "left"}},
        ],
    }],
}  # fmt: skip
POTATO = {
    "id": "1000268201_693b08cb0e.jpg", "displayed_text": "A dog runs .", "user": "ann",
    "label_annotations": {"quality": {"good": "true"}},
}  # fmt: skip
TURK = {
    "HITId": "1", "AssignmentId": "7", "WorkerId": "A1", "AssignmentStatus": "Approved", "WorkTimeInSeconds": "30",
    "Input.image_url": "https://example.org/airliner.jpg", "Input.a": "A plane .", "Input.b": "A dog .",
    "Answer.choice": "left",
} | TIMES  # fmt: skip


def write_table(path: Path, row: dict[str, str]) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(row))
        writer.writeheader()
        writer.writerow(row)


def small_dataset(site: Installation, here: Path, name: str, image: str) -> None:
    path = here / f"{name}.jsonl"
    path.write_text(json.dumps({"image": image, "caption": "A dog runs ."}) + "\n")
    site.manage("import_dataset", "jsonl", str(path), "--name", name)


@pytest.mark.usefixtures("shell")
def test_results_of_other_platforms_are_imported_as_it_says(site: Installation, tmp_path: Path) -> None:
    here = clone(tmp_path)
    small_dataset(site, here, "flickr8k", "1000268201_693b08cb0e.jpg")
    write_table(here / "full.csv", FLOWER)
    write_table(here / "Batch_12_results.csv", TURKLE)
    (here / "project-8.json").write_text(json.dumps([STUDIO]))
    annotator = here / "annotation_output" / "ann"
    annotator.mkdir(parents=True)
    (annotator / "annotated_instances.jsonl").write_text(json.dumps(POTATO) + "\n")
    run(blocks_of("docs/imports.md"), site, here)
    imported = "select count(*) from judgments_study where source = 'imported'"
    assert site.query(imported) == [(4,)]


@pytest.mark.usefixtures("shell")
def test_an_old_batch_and_reviews_in_a_file(site: Installation, tmp_path: Path) -> None:
    here = clone(tmp_path)
    small_dataset(site, here, "mine", "airliner.jpg")
    write_table(here / "Batch_1234567_batch_results.csv", TURK)
    site.python(DEMO_ANSWERS.format(study="demo-relevance"))
    run(blocks_of("docs/crowds/batch-files.md"), site, here)
    assert (here / "work.csv").read_text().count("\n") > 1
