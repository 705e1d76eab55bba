"""The installed command `quorum`: a wheel of the project, in a folder apart from it."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.core.management import get_commands

from config.commands import all_commands, load_command, load_framework
from judgments.importers import IMPORT_FORMATS
from quorum.command import main
from tests.installations import ROOT, free_port
from tests.refusals import assert_names

APPS = {"config", "judgments", "annotation", "evaluation"}
NOT_OURS = {"drf_create_token", "migrate"}  # the frameworks' own, which the platform refuses or hastens


@dataclass
class Terminal:
    """A person's folder, and what the shell needs to find the command."""

    program: Path
    folder: Path
    environment: dict[str, str]

    def start(self, *words: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [str(self.program), *words], cwd=self.folder, env=self.environment, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def says(self, *words: str) -> str:
        """What a command prints that ends well."""
        out, err = (process := self.start(*words)).communicate()
        assert process.returncode == 0, err
        return out

    def complains(self, *words: str) -> str:
        """The one line of a command that does not."""
        _, err = (process := self.start(*words)).communicate()
        assert process.returncode == 1
        assert err.count("\n") == 1
        return err.strip()

    def completes(self, line: str) -> set[str]:
        """What the shell offers after this line."""
        answer = self.folder.parent / "answer"
        asked = {
            "_ARGCOMPLETE": "1", "_ARGCOMPLETE_SHELL": "bash", "_ARGCOMPLETE_STDOUT_FILENAME": str(answer),
            "COMP_LINE": line, "COMP_POINT": str(len(line)), "_ARGCOMPLETE_IFS": "\n",
        }  # fmt: skip
        subprocess.run([self.program], cwd=self.folder, env=self.environment | asked, check=True)
        return {word.strip() for word in answer.read_text().split("\n")}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an installed wheel; the packages that it needs are those of this run."""
    folder = tmp_path_factory.mktemp("installed")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    [wheel] = folder.glob("*.whl")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index"]
    subprocess.run([*pip, "--no-deps", "--no-compile", "--target", str(folder), str(wheel)], check=True)
    return folder


@pytest.fixture
def terminal(installed: Path, tmp_path: Path) -> Terminal:
    """A terminal in an empty folder."""
    here = tmp_path / "here"
    here.mkdir()
    environment = {
        name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ
    }
    environment |= {"PYTHONPATH": str(installed), "NUMBA_DISABLE_JIT": "1"}  # to compile takes a minute
    return Terminal(installed / "bin" / "quorum", here, environment)


def test_every_command_of_ours_has_a_word_and_can_be_loaded() -> None:
    elsewhere = {name for name, app in get_commands().items() if app in APPS}
    assert elsewhere == NOT_OURS
    assert sorted(all_commands().paths) == sorted(all_commands().names.values())
    assert all(load_command(name).help for name in all_commands().paths)


def test_modules_can_be_imported_after_the_framework_could_not(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr("config.commands.import_module", fail)
    monkeypatch.delitem(sys.modules, "yaml", raising=False)
    with pytest.raises(ImportError, match="rest_framework"):
        load_framework()
    assert sys.modules.get("yaml", "not blocked") == "not blocked"


def test_examples_are_read_whatever_is_installed() -> None:
    sets = {how.name.partition("-")[0] for how in IMPORT_FORMATS}  # of features
    assert {"flickr8k", "pascal", "coco"} <= sets
    for name in all_commands().paths:
        command: Any = load_command(name)
        for words in map(shlex.split, command.example.splitlines()):
            assert not [word for word in words if word.partition("-")[0] in sets], command.example
            if words[:2] == ["manage.py", name]:
                command.create_parser("manage.py", name).parse_args(words[2:])


def test_help_and_mistakes_speak_the_words_of_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(*words: str) -> object:
        monkeypatch.setattr(sys, "argv", ["quorum", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code

    assert run("help", "study", "new") == 0
    assert "quorum study new demo/studies/triplet.toml" in capsys.readouterr().out
    assert run("scor") == (
        "quorum: 'scor' is no command; did you mean `quorum score`? `quorum --help` lists them."
    )
    assert_names(str(run("study", "nwe")), "nwe", "quorum study new")


def test_a_wheel_has_the_translations_of_features(installed: Path) -> None:
    catalogues = [path.relative_to(ROOT) for path in ROOT.glob("contrib/*/locale/*/LC_MESSAGES/django.mo")]
    assert catalogues
    assert [path for path in catalogues if not (installed / "quorum" / "platform" / path).is_file()] == []


def test_files_are_scored_where_nothing_is_set_up_and_nothing_is_left_behind(terminal: Terminal) -> None:
    candidates, references = terminal.folder / "results.json", terminal.folder / "references.json"
    candidates.write_text('{"a.jpg": "a dog runs"}')
    references.write_text('{"a.jpg": ["a dog runs"]}')
    printed = terminal.says(
        "score", "--candidates", "results.json", "--references", "references.json", "--metrics", "bleu-1"
    )
    assert json.loads(printed)["systems"]["results"]["bleu-1"]["corpus"] == pytest.approx(1)
    assert "\n  study new " in terminal.says("--help")
    missing = terminal.folder / "quorum-data"
    assert_names(terminal.complains("aggregate", "triplets"), missing, "quorum run", "DATA_DIR")
    assert sorted(terminal.folder.iterdir()) == [references, candidates]


@pytest.mark.long
def test_the_shell_completes_words_and_options(terminal: Terminal) -> None:
    assert {"run", "study", "score"} <= terminal.completes("quorum ")
    assert {"new", "open"} <= terminal.completes("quorum study ")
    assert terminal.completes("quorum score --cand") == {"--candidates"}
    assert "--no-demo" in terminal.completes("quorum run --")
    for shell in ("bash", "zsh", "fish"):
        assert "quorum" in terminal.says("completion", shell)
    assert "compinit" in terminal.says("completion", "zsh")  # off in zsh until something switches it on


@pytest.fixture
def running(terminal: Terminal) -> Iterator["subprocess.Popen[str]"]:
    """`quorum run` without the demo, on a free port."""
    with terminal.start("run", "--no-demo", "--port", str(free_port())) as process:
        yield process
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)


@pytest.mark.long
def test_quorum_run_serves_an_empty_folder(terminal: Terminal, running: "subprocess.Popen[str]") -> None:
    assert running.stdout is not None
    said = ""
    while "Ctrl-C stops" not in said:
        line = running.stdout.readline()
        assert line, running.communicate()
        said += line
    address = re.search(r"Quorum runs at +(\S+)", said)
    assert address is not None
    assert re.search(r"Admin account +admin +password \S+", said)
    with urllib.request.urlopen(f"{address[1]}/", timeout=60) as page:
        assert "Quorum" in page.read().decode()
    assert [path.name for path in terminal.folder.iterdir()] == ["quorum-data"]
    running.send_signal(signal.SIGINT)
    assert running.wait() == 0
