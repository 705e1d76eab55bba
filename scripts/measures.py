"""Print the size of the code: ``python -m scripts.measures``; with ``--paths`` also how many modules a request passes.

docs/decisions/0011-layout.md says what they are for.
"""

from __future__ import annotations

import argparse
import ast
import io
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
APPS = ("judgments", "annotation", "evaluation")
PRODUCT = ("common", "config", *APPS, "demo", "scripts", "quorum", "quorum_client")
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def sources(*folders: str) -> Iterator[Path]:
    """Skip migrations and empty ``__init__.py``."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if path.parent.name != "migrations" and path.stat().st_size:
                yield path


def lines_of(paths: Iterator[Path]) -> int:
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)


def docstring_words(paths: Iterator[Path]) -> int:
    return sum(
        len((ast.get_docstring(node) or "").split())
        for path in paths
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, DOCUMENTED)
    )


def folders() -> Counter[Path]:
    """Skip ``__init__.py`` and commands."""
    return Counter(
        path.parent
        for path in sources(*PRODUCT)
        if path.name != "__init__.py" and path.parent.name != "commands"
    )


def print_sizes() -> None:
    product, counts = list(sources(*PRODUCT)), folders()
    largest, count = counts.most_common(1)[0]
    loose = ", ".join(f"{app} {counts[ROOT / app]}" for app in APPS)
    documentation = [path.read_text(encoding="utf-8").split() for path in (ROOT / "docs").rglob("*.md")]
    words = [word for page in documentation for word in page if any(map(str.isalnum, word))]
    _print("modules", len(product))
    _print("lines", lines_of(iter(product)))
    _print("largest folder", f"{count} ({largest.relative_to(ROOT)})")
    _print("loose modules at the root of an app", loose)
    _print("words of docstrings", docstring_words(iter(product)))
    _print("lines of tests", lines_of(sources("tests")))
    _print("lines of migrations", sum(lines_of((ROOT / app / "migrations").glob("*.py")) for app in APPS))
    _print("words of documentation", len(words))
    _print("  with bars of tables and other marks", sum(map(len, documentation)))


def print_paths() -> None:
    """Print how many modules some requests and commands pass, on the demo in a temporary database."""
    with tempfile.TemporaryDirectory() as data:
        os.environ |= {
            "DATA_DIR": data,
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "ALLOWED_HOSTS": "testserver",
            "DEBUG": "1",
        }
        import django

        django.setup()
        from django.core.management import call_command
        from django.test import Client

        from judgments.models import Study

        quiet = io.StringIO()
        with redirect_stdout(quiet):
            call_command("migrate", verbosity=0)
            call_command("load_demo", stdout=quiet)
        study = Study.objects.filter(protocol="triplet", state="open").earliest("pk")
        client = Client()
        client.post(f"/s/{study.slug}/", {"name": "w-0001", "consent": "on"}, follow=True)
        work = f"/s/{study.slug}/work/"
        client.get(work)
        finished = Study.objects.filter(state="closed").earliest("pk").slug
        dataset = str(ROOT / "demo" / "dataset.jsonl")
        steps: dict[str, Callable[[], Any]] = {
            "work page": lambda: client.get(work),
            "aggregate": lambda: call_command("aggregate", finished, stdout=quiet),
            "evaluate": lambda: call_command("evaluate", finished, metrics="cider-d", stdout=quiet),
            "import": lambda: call_command("import_dataset", "jsonl", dataset, name="again", stdout=quiet),
        }
        for name, step in steps.items():
            _print(f"modules passed: {name}", len(passed(step)))


def passed(step: Callable[[], Any]) -> set[str]:
    files: set[str] = set()
    roots = tuple(f"{ROOT / folder}{os.sep}" for folder in ("common", "config", *APPS))

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(roots):
            files.add(frame.f_code.co_filename)

    sys.setprofile(note)
    try:
        step()
    finally:
        sys.setprofile(None)
    return files


def _print(what: str, figure: object) -> None:
    sys.stdout.write(f"{what:<40} {figure:,}\n" if isinstance(figure, int) else f"{what:<40} {figure}\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").split(":")[0])
    parser.add_argument("--paths", action="store_true", help="also run and trace a few requests and commands")
    chosen = parser.parse_args()
    print_sizes()
    if chosen.paths:
        print_paths()
