"""Measure the code, and compare it with the ceilings in pyproject.toml: ``python -m scripts.measures``.

docs/decisions/0011-layout.md says why. A ceiling far above its measure is an error, too. The processor time
of commands is printed without a ceiling, since machines differ.
"""

from __future__ import annotations

import ast
import inspect
import io
import os
import resource
import subprocess
import sys
import tempfile
import tokenize
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from scripts.environment import print_line

ROOT = Path(__file__).resolve().parent.parent
APPS = ("judgments", "annotation", "evaluation")
PLATFORM = ("common", "config", *APPS, "demo", "scripts", "quorum_client")  # not the library, nor contrib
SLACK = 1.02  # a ceiling that exceeds its measure by more than this factor must be lowered
NON_CODE_TOKENS = {"COMMENT", "NL", "NEWLINE", "INDENT", "DEDENT", "ENDMARKER"}


def sources(*folders: str) -> Iterator[Path]:
    """Yield the paths of the modules in folders, without migrations and empty ``__init__.py``."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if path.parent.name != "migrations" and path.stat().st_size:
                yield path


def _read_text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def code_tokens(text: str) -> list[tokenize.TokenInfo]:
    """Return the tokens of a module without comments and docstrings."""
    documented_nodes = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    docstrings = {
        node.body[0].lineno
        for node in ast.walk(ast.parse(text))
        if isinstance(node, documented_nodes) and ast.get_docstring(node, clean=False) is not None
    }
    return [
        token
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if tokenize.tok_name[token.type] not in NON_CODE_TOKENS
        and not (token.type == tokenize.STRING and token.start[0] in docstrings)
    ]


def count_code_lines(path: Path) -> int:
    """Return the number of lines of a module that have a token of code."""
    lines: set[int] = set()
    for token in code_tokens(_read_text(path)):
        lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines)


def measure_sizes() -> dict[str, float]:
    """Return the number of code lines of the platform, and the numbers of arrows between packages of evaluation.

    An arrow means that a package such as ``evaluation.results`` imports another. Arrows on circles are counted again.
    """
    from tests.test_architecture import all_imports, circles

    imported_packages: dict[str, set[str]] = {}
    for entry in all_imports():
        importer, package = _package_of(entry.importer), _package_of(entry.imported)
        is_within_evaluation = importer.startswith("evaluation.") and package.startswith("evaluation.")
        if importer != package and is_within_evaluation:
            imported_packages.setdefault(importer, set()).add(package)
    arrows_on_circles = 0
    for circle in circles(imported_packages):
        arrows_on_circles += sum(len(imported_packages[package] & set(circle)) for package in circle)
    return {
        "platform code lines": sum(map(count_code_lines, sources(*PLATFORM))),
        "arrows in evaluation": sum(map(len, imported_packages.values())),
        "arrows on its circles": arrows_on_circles,
    }


def _package_of(module: str) -> str:
    """Return the first two parts of a module's name, such as evaluation.results."""
    return ".".join(module.split(".")[:2])


def measure_lines_passed() -> dict[str, float]:
    """Return the numbers of lines that some requests and commands execute, on the demo in a temporary database."""
    with tempfile.TemporaryDirectory() as data:
        os.environ |= {
            "ALLOWED_HOSTS": "testserver",
            "CELERY_BROKER_URL": "",
            "DATABASE_URL": "",
            "DATA_DIR": data,
            "DEBUG": "1",
            "DJANGO_SETTINGS_MODULE": "config.settings",
        }
        import django

        django.setup()
        from django.core.management import call_command
        from django.test import Client

        from annotation.models import Assignment
        from judgments.models import HITUnit, Study

        output = io.StringIO()
        call_command("migrate", verbosity=0)
        call_command("load_demo", stdout=output)
        study = Study.objects.filter(protocol="triplet", state="open").earliest("pk")
        client = Client()
        client.post(f"/s/{study.slug}/", {"name": "w-0001", "consent": "on"}, follow=True)
        work = f"/s/{study.slug}/work/"
        client.get(work)
        assignment = Assignment.objects.get(study=study)
        answers = {f"u{unit.position}": "1" for unit in HITUnit.objects.filter(hit=assignment.hit)}
        closed_study = Study.objects.filter(state="closed").earliest("pk").slug
        dataset = str(ROOT / "demo" / "dataset.jsonl")
        steps: dict[str, Callable[[], Any]] = {
            "work page": lambda: client.get(work),
            "submit": lambda: client.post(f"{work}{assignment.pk}/submit/", answers),
            "aggregate": lambda: call_command("aggregate", closed_study, stdout=output),
            "evaluate": lambda: call_command("evaluate", closed_study, metrics="cider-d", stdout=output),
            "import": lambda: call_command("import_dataset", "jsonl", dataset, name="again", stdout=output),
        }
        line_counts: dict[str, float] = {
            f"lines: {name}": count_lines_passed(step) for name, step in steps.items()
        }
        assert Assignment.objects.filter(pk=assignment.pk, state="submitted").exists()
        return line_counts


def count_lines_passed(step: Callable[[], Any]) -> int:
    """Return the number of lines of the platform's functions that a step calls. Every line of a function counts."""
    codes: set[CodeType] = set()
    folders = tuple(f"{ROOT / folder}{os.sep}" for folder in ("common", "config", *APPS))

    def note_call(frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        is_function = code.co_flags & inspect.CO_OPTIMIZED  # and not the body of a module or class
        if event == "call" and is_function and code.co_filename.startswith(folders):
            codes.add(code)

    sys.setprofile(note_call)
    try:
        step()
    finally:
        sys.setprofile(None)
    passed_lines: set[tuple[str, int]] = set()
    for code in codes:
        passed_lines.update((code.co_filename, line) for _start, _end, line in code.co_lines() if line)
    return len(passed_lines)


def processor_seconds() -> float:
    """Return the processor time of a command that does nothing but print its help."""
    command = [sys.executable, "-m", "quorum", "study", "new", "--help"]
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    user, system = resource.getrusage(resource.RUSAGE_CHILDREN)[:2]
    return round(user + system, 1)


def out_of_bounds(figures: Mapping[str, float], ceilings: Mapping[str, float]) -> Iterator[str]:
    """Yield a sentence for each ceiling that is exceeded or can be lowered."""
    for name, figure in figures.items():
        if figure > ceilings[name]:
            yield f"{name}: {figure:,} lies above the ceiling of {ceilings[name]:,}."
        elif ceilings[name] > SLACK * figure:
            yield f"{name}: {figure:,} lies far below the ceiling of {ceilings[name]:,}; lower it."


def main() -> int:
    figures = measure_sizes() | measure_lines_passed()
    ceilings = tomllib.loads(_read_text(ROOT / "pyproject.toml"))["tool"]["quorum"]["ceilings"]
    for name, figure in figures.items():
        print_line(f"{name:<24} {figure:>9,}   ceiling {ceilings[name]:>9,}")
    print_line(f"{'processor seconds':<24} {processor_seconds():>9}")
    problems = list(out_of_bounds(figures, ceilings))
    sys.stderr.writelines(f"{problem}\n" for problem in problems)
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
