"""What somebody who calls commands, the API and the library meets when something is misspelt or missing."""

import os
import pty
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from drf_spectacular.generators import SchemaGenerator

from config.commands import all_commands, load_command
from quorum.numeric.names import nearest_name
from tests.doors import key_of
from tests.studies import make_dataset, make_study

ROOT = Path(__file__).resolve().parent.parent
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


def refusal(*call: str) -> str:
    with pytest.raises(CommandError) as error:
        call_command(*call)
    return str(error.value)


def options_of(name: str) -> set[str]:
    return set(load_command(name).create_parser("manage.py", name)._option_string_actions)


def run_python(code: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **env}, cwd=ROOT, capture_output=True, text=True
    )


@pytest.mark.parametrize(
    ("name", "known", "near"),
    [
        ("demo-tripplet", ["demo-pairwise", "demo-triplet"], "demo-triplet"),
        ("BLEU-4", ["bleu-3", "bleu-4"], "bleu-4"),
        ("cc-by-4.0", ["CC-BY-4.0"], "CC-BY-4.0"),
        ("weather", ["bleu-4"], ""),
    ],
)
def test_the_nearest_name_is_found_whatever_its_case(name: str, known: list[str], near: str) -> None:
    assert nearest_name(name, known) == near


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("call", "near"),
    [
        (["aggregate", "animal-tripplet"], "animal-triplet"),
        (["diff_designs", "animal-tripplet", "animal-triplet"], "animal-triplet"),
        (["import_candidates", "csv", "x.csv", "--dataset", "animal", "--system", "x"], "animals"),
        (["export_judgments", "animal-triplet", "--format", "jsonll", "--output", "x"], "jsonl"),
        (["evaluate", "animal-triplet", "--metrics", "cidr-d"], "cider-d"),
    ],
)
def test_a_command_names_the_nearest_study_dataset_format_and_metric(call: list[str], near: str) -> None:
    make_study(slug="animal-triplet")
    assert repr(near) in refusal(*call)


@pytest.mark.django_db
def test_a_study_file_names_the_nearest_kind_and_preset(tmp_path: Path) -> None:
    make_dataset()
    path = tmp_path / "study.toml"
    for line, near in (
        ('protocol = "triplett"', "triplet"),
        ('protocol = "triplet"\npreset = "vedantam-2015-triplets"', "vedantam-2015-triplet"),
    ):
        path.write_text(f'name = "A"\ndataset = "animals"\n{line}\n')
        assert refusal("create_study", str(path)).rstrip(".?").endswith(repr(near))


@pytest.mark.parametrize(
    ("call", "near"),
    [
        (["dataset", "imprt"], "quorum dataset import"),
        (["dataset", "import", "csvv", "x", "--name", "y"], "mean csv?"),
        (["dataset", "import", "csv", "x", "--name", "y", "--encodng", "u"], "mean --encoding?"),
    ],
)
def test_the_shell_command_names_the_nearest_word_format_and_option(call: list[str], near: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "quorum", *call], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert near in done.stderr


@pytest.mark.django_db
def test_a_call_names_the_nearest_study_and_a_participant_learns_none(admin_user: Any) -> None:
    make_study(slug="animal-triplet")
    said = (
        Client().get("/api/studies/animal-tripplet/strengths/", headers=key_of(admin_user)).json()["detail"]
    )
    assert "'animal-triplet'" in said
    body = {"worker": "w-1"}
    joined = Client().post("/api/studies/animal-tripplet/join/", body, content_type="application/json")
    assert "'animal-triplet'" not in joined.text


@pytest.mark.django_db
def test_an_excel_workbook_is_named_where_text_is_expected(tmp_path: Path) -> None:
    path = tmp_path / "captions.xlsx"
    with zipfile.ZipFile(path, "w") as book:
        book.writestr("xl/workbook.xml", "<workbook/>")
    for form in ("csv", "jsonl", "json", "coco"):
        said = refusal("import_dataset", form, str(path), "--name", "x")
        assert "Excel" in said
        assert "xlsx" in said.partition("expected")[2]


def bad_calls(folder: Path) -> Iterator[tuple[str, ...]]:
    make_study(slug="animal-triplet")
    for name, text, encoding in (
        ("latin", "image,caption,value,worker,unit\na.jpg,Café au lait,1,w,u\n", "latin-1"),
        ("wide", "image,caption,value,worker,unit\na.jpg,Cafe au lait,1,w,u\n", "utf-16-le"),
        ("japanese", "image,caption,value,worker,unit\na.jpg,日本語,1,w,u\n", "shift-jis"),
        ("title", "Our captions\nimage,caption,value,worker,unit\na.jpg,x,1,w,u\n", "utf-8"),
        ("missing", "image,caption,value,worker,unit,score\nNA,x,NA,NA,NA,NA\n", "utf-8"),
    ):
        path = folder / f"{name}.csv"
        path.write_bytes(text.encode(encoding))
        of_dataset = (str(path), "--dataset", "animals")
        study = folder / "study.toml"
        study.write_text('name = "A"\ndataset = "animals"\nprotocol = "graded"\n')
        yield "import_dataset", "csv", str(path), "--name", "x"
        yield "import_dataset", "inputs", str(path), "--name", "x"
        yield "import_candidates", "csv", *of_dataset, "--system", "x"
        yield "import_rankings", *of_dataset, "--task", "search"
        yield "import_judgments", "csv", *of_dataset, "--study", "x"
        yield "import_scores", *of_dataset, "--metric", "x"
        yield "import_template", "x", str(path), str(path)
        yield "agreement", str(path)
        yield "reconcile_panel", "animal-triplet", str(path)
        yield "create_study", str(study), "--pairs", str(path)
        yield "soft_labels", "animal-triplet", "--predictions", str(path)


@pytest.mark.django_db
def test_a_refusal_names_only_options_that_the_command_has(tmp_path: Path) -> None:
    hints = set()
    for call in bad_calls(tmp_path):
        with suppress(CommandError):  # a file may be fine for some commands
            call_command(*call)
            continue
        named = set(OPTION.findall(refusal(*call)))
        assert named <= options_of(call[0]), call
        hints |= named
    assert {"--encoding", "--header-row", "--missing"} <= hints


def test_every_option_that_a_sentence_names_is_one_of_some_command() -> None:
    known = {"--version", "--help", "--deploy", "--option", "--check"}  # the last is of sha256sum
    for name in all_commands().paths:
        parsers = [load_command(name).create_parser("manage.py", name)]
        while parsers:
            parser = parsers.pop()
            known |= set(parser._option_string_actions)
            for action in parser._actions:
                choices = getattr(action, "choices", None)
                if isinstance(choices, dict):
                    parsers += [one for one in choices.values() if hasattr(one, "_option_string_actions")]
    wrong = {}
    for folder in ("annotation", "common", "contrib", "evaluation", "judgments"):
        for path in (ROOT / folder).rglob("*.py"):
            if "tests" in path.parts or "migrations" in path.parts:
                continue
            for sentence in re.findall(
                r'"[^"\n]*(?:expected|:|;|\()[^"\n]*--[a-z][^"\n]*"', path.read_text()
            ):
                if odd := set(OPTION.findall(sentence)) - known:
                    wrong[f"{path}: {sentence}"] = odd
    assert wrong == {}


@pytest.mark.long
@pytest.mark.django_db
def test_every_filter_of_a_list_says_what_it_expected(admin_user: Any) -> None:
    make_study(slug="animal-triplet")
    browser, headers, refused = Client(), key_of(admin_user), 0
    schema = SchemaGenerator().get_schema(request=None, public=True)
    for path, calls in schema["paths"].items():
        for parameter in calls.get("get", {}).get("parameters", ()) if "{" not in path else ():
            if parameter["in"] != "query":
                continue
            name = parameter["name"]
            answer = browser.get(path, {name: "nope"}, headers=headers)
            if answer.status_code == 400:
                refused += 1
                said = answer.json()["detail"]
                assert said.startswith(f"{name}: "), said
                assert re.search(r"expected|must be|start without one|no values to choose from yet", said), (
                    said
                )
            elif parameter["schema"].get("enum"):
                assert answer.status_code != 200, (path, name)
    assert refused > 100
    said = browser.get("/api/units/?study=animal-tripplet", headers=headers).json()["detail"]
    assert said.endswith("'animal-triplet'?")


@pytest.mark.parametrize("package", ["pandas", "httpx"])
def test_the_client_says_which_package_it_lacks(package: str) -> None:
    done = run_python(f"import sys; sys.modules[{package!r}] = None\nimport quorum_client")
    last = done.stderr.strip().splitlines()[-1]
    assert f"quorum_client needs the package {package}" in last
    assert "pip install" in last


def test_the_example_of_python_in_the_readme_scores_above_zero() -> None:
    (code,) = re.findall(r"```python\n(.+?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    shown = code.replace("quorum.score(", "print(quorum.score(").replace('"].corpus', '"].corpus)')
    assert shown != code
    assert float(run_python(shown).stdout) > 0.1


def check_warnings(tmp_path: Path, *call: str) -> int:
    folder = tmp_path / "data"
    folder.mkdir(exist_ok=True, mode=0o755)
    folder.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "manage.py", *call], cwd=ROOT, capture_output=True, text=True, check=False,
        env={**os.environ, "DATA_DIR": str(folder), "DJANGO_SETTINGS_MODULE": "config.settings"},
    )  # fmt: skip
    return (done.stdout + done.stderr).count("Others than its owner may read")


@pytest.mark.long
def test_that_others_may_read_the_data_is_said_by_the_check_and_before_no_command(tmp_path: Path) -> None:
    assert check_warnings(tmp_path, "check") == 1
    assert check_warnings(tmp_path, "aggregate", "x") == 0
    assert check_warnings(tmp_path, "export_study", "x") == 0


@pytest.mark.long
def test_the_first_compile_is_announced_once_on_a_terminal(tmp_path: Path) -> None:
    code = "import quorum; quorum.score(['a dog runs'], [['a dog is running']], ['cider-d'])"
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    said = []
    for _ in range(2):
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-c", code], cwd=ROOT, env=env, stderr=theirs, stdout=subprocess.DEVNULL
        )
        os.close(theirs)
        text = b""
        try:
            while part := os.read(ours, 1000):
                text += part
        except OSError:  # the other end is closed
            pass
        os.close(ours)
        assert process.wait() == 0, text
        said.append(text.count(b"(once)"))
    assert said == [1, 0]


@pytest.mark.long
def test_each_command_of_a_feature_loads_in_a_process_of_its_own() -> None:
    """Whatever was imported before: kinds and commands of features import each other."""
    code = """
import os, sys
import django
django.setup()
from config.commands import all_commands, load_command
from quorum.subcommands import PLATFORM_COMMANDS
for name in all_commands().paths.keys() - PLATFORM_COMMANDS.paths.keys():
    child = os.fork()
    if not child:
        load_command(name)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        sys.exit(name)
"""
    done = run_python(code, DJANGO_SETTINGS_MODULE="config.settings")
    assert done.returncode == 0, done.stderr[-2000:]
