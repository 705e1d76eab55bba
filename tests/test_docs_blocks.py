"""Run every shell block of the documentation, and compare what it prints with what the page shows.

The blocks of a page run one after the other in one shell. Its management commands are handed to this process, which has
Django and the demo loaded; each page gets the demo as it was. What a page takes for granted (an old result file, people
who answered meanwhile) is made here. Commands that never end or set a machine up (`make run`, `make test`,
`make mturk-demo`) are tested in tests/test_run.py. Blocks for the root of a server are marked `bash` instead of `sh`:
nobody runs them here.
"""

import csv
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.handlers.wsgi import WSGIHandler
from django.core.management import CommandError, call_command
from django.core.servers.basehttp import WSGIRequestHandler, WSGIServer
from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django.test import override_settings
from pytest_django.plugin import DjangoDbBlocker

from annotation.models import Assignment, Worker
from config.commands import all_commands
from judgments.access.tokens import SCOPES, create_token
from judgments.models import Study, Unit
from judgments.studies.studies import find_study
from quorum.command import split_words
from tests import services
from tests.annotation.casting import make_study
from tests.annotation.scenes import make_scenes
from tests.annotation.voting import Vote, always_first, joined, work
from tests.evaluation.studies import answered

ROOT = Path(__file__).resolve().parent.parent
PAGES = [
    ROOT / "README.md",
    *sorted([*(ROOT / "docs").rglob("*.md"), *(ROOT / "contrib").glob("*/README.md")]),
]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)


def fences(page: str) -> list[tuple[str, str]]:
    """The fenced blocks of a page: language and text."""
    return FENCE.findall((ROOT / page).read_text("utf-8"))


def blocks_of(page: str) -> list[str]:
    """The shell blocks of a page, of which there is at least one."""
    blocks = [text for language, text in fences(page) if language == "sh"]
    assert blocks, page
    return blocks


WITH_BLOCKS = [
    page
    for page in (str(path.relative_to(ROOT)) for path in PAGES)
    if any(language == "sh" for language, _ in fences(page))
]

# `make` and the making of an environment have tests of their own. The shell marks the end of each block's output.
START = """
set -euo pipefail
shopt -s expand_aliases
alias quorum=".venv/bin/python -m quorum"
make() { grep -q "^$1:" Makefile; }
python3() { [ "${1-} ${2-}" = "-m venv" ] || command python3 "$@"; }
"""
END_OF_BLOCK = "--- end of a block ---"

# A management command goes to the test's own process: the arguments through descriptor 3, the exit code back through 4.
PYTHON = """#!/bin/bash
case "$*" in
  *gunicorn*) exec "{python}" "$@" --check-config ;;
  "-m celery "*) exec "{python}" -c "import config.celery" ;;
  "manage.py "* | "-m quorum "*)
    [ "$1" = -m ] && shift
    shift
    printf '%s\\0' "$PWD" "$#" "$@" >&3
    read -r code <&4
    cat {printed}
    cat {complained} >&2
    exit "$code" ;;
  *) exec "{python}" "$@" ;;
esac
"""
PIP = '#!/bin/sh\n[ "$1 $2" = "install -r" ] && [ -f "$3" ]\n'


class Clone:
    """A folder that looks like a clone of the project; what blocks write stays out of the project."""

    def __init__(self, folder: Path) -> None:
        self.here = folder / "quorum"
        self.printed, self.complained = folder / "printed", folder / "complained"
        programs = self.here / ".venv" / "bin"
        programs.mkdir(parents=True)
        for entry in ROOT.iterdir():
            if entry.name not in (".venv", "var", ".git"):
                (self.here / entry.name).symlink_to(entry)
        python = PYTHON.format(python=sys.executable, printed=self.printed, complained=self.complained)
        for name, text in (("python", python), ("pip", PIP)):
            (programs / name).write_text(text)
            (programs / name).chmod(0o755)
        shared = os.environ.get("QUORUM_SHARED")
        if shared:
            (folder / "shared").symlink_to(Path(shared).resolve())

    def run(self, blocks: list[str], **environment: str) -> list[str]:
        """Run blocks in one shell. Return what each printed."""
        asked, ask = os.pipe()
        hear, answer = os.pipe()
        script = START + "".join(f"{block}\necho '{END_OF_BLOCK}'\n" for block in blocks)
        (self.here / ".blocks").write_text(script)
        output = self.here.parent / "output"
        with (
            output.open("wb") as stream,
            subprocess.Popen(
                ["bash", "-c", f"exec 3>&{ask} 4<&{hear}; source .blocks"],
                cwd=self.here, env=os.environ | environment, stdout=stream, stderr=stream, pass_fds=(ask, hear),
            ) as shell,
        ):  # fmt: skip
            os.close(ask)
            os.close(hear)
            self._serve(asked, answer)
        printed = output.read_text()
        assert shell.returncode == 0, printed[-3000:]
        return printed.split(f"{END_OF_BLOCK}\n")[:-1]

    def _serve(self, asked: int, answer: int) -> None:
        """Run the commands that the shell asks for until it ends."""
        with (
            open(asked, encoding="utf-8", newline="") as requests,
            open(answer, "w", encoding="utf-8") as codes,
        ):
            words = _words(requests)
            for folder in words:
                arguments = [next(words) for _ in range(int(next(words)))]
                code = self._manage(Path(folder), arguments)
                codes.write(f"{code}\n")
                codes.flush()

    def _manage(self, folder: Path, arguments: list[str]) -> int:
        printed, complained = io.StringIO(), io.StringIO()
        code = 0
        words, rest = split_words(arguments)
        with chdir(folder), redirect_stdout(printed), redirect_stderr(complained):
            try:
                call_command(all_commands().names.get(words, words), *rest)
            except CommandError as error:
                complained.write(f"CommandError: {error}\n")
                code = 1
            except SystemExit as error:
                code = int(error.code or 0)
        self.printed.write_text(printed.getvalue())
        self.complained.write_text(complained.getvalue())
        return code


def _words(stream: io.TextIOBase) -> Iterator[str]:
    """The words of a stream, each ended by a NUL character."""
    word = ""
    while character := stream.read(1):
        if character == "\0":
            yield word
            word = ""
        else:
            word += character


@pytest.fixture(scope="session")
def shell() -> None:
    """bash, curl and jq."""
    services.demand("shell")


@pytest.fixture(scope="module")
def demo(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """The demo, loaded once."""
    media = tmp_path_factory.mktemp("media")
    with django_db_blocker.unblock(), override_settings(MEDIA_ROOT=str(media)), transaction.atomic():
        call_command("load_demo", stdout=io.StringIO())
        yield
        transaction.set_rollback(True)


@pytest.fixture
def clone(demo: None, db: None, undrawn: None, tmp_path: Path) -> Clone:
    """A clone beside the demo; `db` undoes what the blocks change. Figures of reports are blank."""
    return Clone(tmp_path)


@pytest.mark.usefixtures("shell")
def test_a_failing_block_fails(clone: Clone) -> None:
    with pytest.raises(AssertionError, match="no study"):
        clone.run(["quorum aggregate nobody-made-this"])


# Pages whose blocks need something that the demo does not have; each has a test below.
OWN_TESTS = {
    "docs/tutorial.md",
    "docs/api.md",
    "docs/statistics.md",
    "docs/evaluation.md",
    "docs/content-and-keywords.md",
    "docs/crowds/batch-files.md",
    "contrib/comparing/README.md",
    "contrib/judgment_imports/README.md",
}


@pytest.mark.usefixtures("shell")
@pytest.mark.parametrize("page", [page for page in WITH_BLOCKS if page not in OWN_TESTS])
def test_a_page_runs_from_its_first_block_to_its_last(page: str, clone: Clone) -> None:
    # the score files that readers bring
    (clone.here / "results.json").write_text('{"a.jpg": "a dog"}')
    (clone.here / "references.json").write_text('{"a.jpg": ["a dog runs"]}')
    clone.run(blocks_of(page))


def answer(study: Study, vote: Vote) -> None:
    """Let three people judge everything, as the tutorial asks its reader to."""
    for name in ("Ada", "Ben", "Cem"):
        work(study, joined(study, name), vote)


def nearly_agreed(unit: Unit, worker: Worker) -> int:
    """Either side wins; Cem disagrees now and then, so that agreement is defined and not perfect."""
    if unit.control:
        return always_first(unit, worker)
    disagrees = worker.name == "Cem" and unit.position % 5 == 0
    return 1 + (unit.position + disagrees) % 2


@pytest.mark.usefixtures("shell")
def test_the_tutorial_leads_from_files_to_a_table(clone: Clone) -> None:
    blocks = blocks_of("docs/tutorial.md")
    [design] = [text for language, text in fences("docs/tutorial.md") if language == "toml"]
    before = next(place for place, block in enumerate(blocks) if "study new mine/study.toml" in block)
    answered = next(place for place, block in enumerate(blocks) if "study close" in block)
    printed = clone.run(blocks[:before])
    (clone.here / "mine" / "study.toml").write_text(design)
    printed += clone.run(blocks[before:answered])
    answer(find_study("short-or-nearest"), nearly_agreed)
    printed += clone.run(blocks[answered:])
    shown = outputs_of("docs/tutorial.md")
    assert len(shown) >= 12
    for place, lines in shown.items():
        # what people answer differs from reader to reader: only the words of such lines are compared
        compare = words if place >= answered else without_padding
        known = {compare(line) for line in printed[place].splitlines()}
        assert [line for line in lines if compare(line) not in known] == [], blocks[place]
    assert (clone.here / "mine" / "metrics.json").exists()


def outputs_of(page: str) -> dict[int, list[str]]:
    """The output that a page shows right after a shell block: place of the block -> its lines, but for `...`."""
    shown: dict[int, list[str]] = {}
    place = -1
    after_shell = False
    for language, text in fences(page):
        if language == "sh":
            place += 1
        elif not language and after_shell and "make run" not in blocks_of(page)[place]:
            shown[place] = [line for line in text.splitlines() if "..." not in line and line.strip()]
        after_shell = language == "sh"
    return shown


def without_padding(line: str) -> str:
    """A line without the blanks that align its columns, as these depend on rows that a page leaves out."""
    return " ".join(line.split())


def words(line: str) -> str:
    """A line without its figures."""
    return without_padding(re.sub(r"[-\[(]?[\d.,]*\d[\])]?,?", "", line))


@pytest.fixture
def address(db: None) -> Iterator[str]:
    """A server in a thread that shares this process's database connection."""
    server = WSGIServer(("127.0.0.1", 0), WSGIRequestHandler)
    server.set_app(WSGIHandler())

    def serve() -> None:
        connections[DEFAULT_DB_ALIAS] = shared
        server.serve_forever()

    shared = connections[DEFAULT_DB_ALIAS]
    shared.inc_thread_sharing()
    thread = Thread(target=serve)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()
    shared.dec_thread_sharing()


@pytest.mark.usefixtures("shell")
def test_a_workers_program_gets_through_its_calls(clone: Clone, address: str) -> None:
    design = io.StringIO()
    call_command("export_study", "demo-pairwise", stdout=design)
    (clone.here / "study.toml").write_text(design.getvalue().replace("demo-pairwise", "another-pairwise"))
    _, token = create_token(user=User.objects.create_superuser("program"), name="test", scopes=list(SCOPES))
    blocks = [block.replace("http://127.0.0.1:8000", address) for block in blocks_of("docs/api.md")]
    blocks = [block.replace("curl -s", "curl -s --fail-with-body") for block in blocks]
    clone.run(blocks, STAFF_TOKEN=token)
    study = find_study("demo-triplet")
    assert study.assignments.filter(state=Assignment.State.SUBMITTED).count() == 1
    assert Study.objects.filter(slug="another-pairwise").exists()


def write_lines(path: Path, rows: Iterable[Mapping[str, object]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.mark.usefixtures("shell", "shared")
@pytest.mark.parametrize("page", ["contrib/comparing/README.md", "docs/statistics.md", "docs/evaluation.md"])
def test_pages_about_published_data(page: str, clone: Clone) -> None:
    judged = [(unit, worker) for unit in range(12) for worker in range(3)]
    write_lines(
        clone.here / "judgments.jsonl",
        (
            {"unit": f"u{unit}", "worker": f"w{worker}", "value": 1 + (unit + worker) % 3}
            for unit, worker in judged
        ),
    )
    for name, protocol, most in (("crowd", "relevance", 2), ("experts", "graded", 4)):
        write_lines(
            clone.here / f"{name}.jsonl",
            (
                {"unit": f"u{unit}", "worker": f"w{worker}", "protocol": protocol,
                 "value": (unit + worker // 2) % most + (most == 4)}
                for unit, worker in judged
            ),
        )  # fmt: skip
    clone.run(blocks_of(page))


@pytest.mark.usefixtures("shell", "shared")
def test_open_answers_leave_as_gold(clone: Clone) -> None:
    scenes = make_scenes(images=4)
    one: dict[str, Any] = {"judgments_per_unit": 2, "controls": {"per_hit": 0}, "units_per_hit": 2}
    answered(make_study(scenes, "keywords", slug="news", **one), ["dog", "barn"], ["dog", "oak"])
    make_study(scenes, "grounding", slug="boxes", **one)
    (clone.here / "ours.csv").write_text("image,boxes\nscene-0.jpg,0 1\nscene-1.jpg,\n")
    clone.run(blocks_of("docs/content-and-keywords.md"))
    assert (clone.here / "gold.jsonl").read_text().count('"dog": 2') >= 2


PHOTO = "https://example.org/1000268201_693b08cb0e.jpg"
TIMES = {"AcceptTime": "Fri Nov 20 14:04:39 UTC 2020", "SubmitTime": "Fri Nov 20 14:05:09 UTC 2020"}
TURKLE = {
    "HITId": "1", "AssignmentId": "7", "WorkerId": "5", "WorkTimeInSeconds": "30", "Input.image": PHOTO,
    "Input.caption": "A dog runs .", "Answer.fits": "yes", "Turkle.Username": "esther",
} | TIMES  # fmt: skip
STUDIO = {
    "id": 1, "data": {"image": PHOTO, "caption_a": "A dog runs .", "caption_b": "A cat sits ."},
    "annotations": [
        {
            "id": 2, "completed_by": 3, "lead_time": 4.2,
            "result": [{"from_name": "better", "value": {"selected": "left"}}],
        },
    ],
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


def small_dataset(clone: Clone, name: str, image: str) -> None:
    path = clone.here / f"{name}.jsonl"
    write_lines(path, [{"image": image, "caption": "A dog runs ."}])
    call_command("import_dataset", "jsonl", str(path), "--name", name, stdout=io.StringIO())


@pytest.mark.usefixtures("shell")
def test_results_of_other_platforms_are_imported_as_it_says(clone: Clone) -> None:
    small_dataset(clone, "flickr8k", "1000268201_693b08cb0e.jpg")
    write_table(clone.here / "Batch_12_results.csv", TURKLE)
    (clone.here / "project-8.json").write_text(json.dumps([STUDIO]))
    clone.run(blocks_of("contrib/judgment_imports/README.md"))
    assert Study.objects.filter(source="imported", slug__in=("from-turkle", "from-studio")).count() == 2


@pytest.mark.usefixtures("shell")
def test_an_old_batch(clone: Clone) -> None:
    small_dataset(clone, "mine", "airliner.jpg")
    write_table(clone.here / "Batch_1234567_batch_results.csv", TURK)
    clone.run(blocks_of("docs/crowds/batch-files.md"))
