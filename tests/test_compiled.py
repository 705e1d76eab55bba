"""Compiled kernels follow their sources, need no folder that can be written, and are all compiled ahead."""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
OUTER = """
from quorum.numeric.compiling import compiled
from quorum.metrics.inner import inner

@compiled
def outer(x):
    return 10 * inner(x)
"""
INNER = """
from quorum.numeric.compiling import compiled

@compiled
def inner(x):
    return x + {}
"""
# Without the compiler, kernels are functions whose calls Python reports. What a kernel names is compiled with it.
REACHED = """
import runpy, sys
called = set()
sys.setprofile(lambda frame, event, _: called.add(frame.f_code))
runpy.run_module("config.compiling", run_name="__main__")
sys.setprofile(None)
for code in called:
    if code.co_filename in sys.argv and code.co_name != "<module>":
        print(code.co_name, *code.co_names)
"""


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A copy of the leaf below two packages that hold nothing but a kernel and one that it calls."""
    for package in ("metrics", "numeric", "statistics"):
        (tmp_path / "quorum" / package).mkdir(parents=True)
        (tmp_path / "quorum" / package / "__init__.py").touch()
    shutil.copy(ROOT / "quorum/numeric/compiling.py", tmp_path / "quorum/numeric")
    (tmp_path / "quorum/metrics/outer.py").write_text(OUTER, encoding="utf-8")
    (tmp_path / "quorum/metrics/inner.py").write_text(INNER.format(1), encoding="utf-8")
    return tmp_path


def change(path: Path, content: str) -> None:
    """Write a file again; of the same length and within the same second, Python itself would see no change."""
    later = path.stat().st_mtime + 10
    path.write_text(content, encoding="utf-8")
    os.utime(path, (later, later))


def outcome(library: Path, **environment: str) -> str:
    """What the outer kernel makes of 1, in a fresh process."""
    program = "from quorum.metrics.outer import outer; print(outer(1))"
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    run = subprocess.run(
        [sys.executable, "-c", program],
        cwd=library,
        env=inherited | environment,
        capture_output=True,
        text=True,
    )
    return run.stdout.strip() or run.stderr


def compiled_files(library: Path) -> set[str]:
    return {path.name for path in library.rglob("*.nbi")}


@pytest.mark.long
def test_a_change_reaches_every_kernel_that_depends_on_it_and_no_other(library: Path) -> None:
    constants = library / "quorum/statistics/constants.py"
    constants.write_text("STEP = 1\n", encoding="utf-8")
    inner = INNER.format("STEP").replace("@", "from quorum.statistics.constants import STEP\n\n@", 1)
    (library / "quorum/metrics/inner.py").write_text(inner, encoding="utf-8")
    assert outcome(library) == "20"
    first = compiled_files(library)

    change(library / "quorum/metrics/__init__.py", "# changed\n")
    change(library / "quorum/metrics/outer.py", OUTER + "# changed\n")
    assert outcome(library) == "20"
    second = compiled_files(library)
    assert {name.partition(".")[0] for name in first & second} == {"inner"}

    change(constants, "STEP = 2\n")  # two imports away
    assert outcome(library) == "30"
    third = compiled_files(library)
    assert third.isdisjoint(second)

    change(library / "quorum/metrics/inner.py", inner.replace("x +", "x + 1 +"))
    assert outcome(library) == "40"
    assert compiled_files(library).isdisjoint(third)


@pytest.mark.long
def test_without_a_folder_to_write_to_kernels_are_compiled_all_the_same(library: Path) -> None:
    nowhere = library / "file"
    nowhere.touch()
    only_there = {
        "NUMBA_CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator",
        "NUMBA_CACHE_DIR": str(nowhere / "cache"),
    }
    assert outcome(library, **only_there) == "20"
    assert compiled_files(library) == set()


@pytest.mark.long
def test_the_examples_reach_every_kernel() -> None:
    sources = [
        path
        for folder in ("quorum", "contrib")
        for path in (ROOT / folder).rglob("*.py")
        if "\n@compiled\n" in path.read_text("utf-8")
    ]
    kernels = {
        node.name
        for path in sources
        for node in ast.parse(path.read_bytes()).body
        if isinstance(node, ast.FunctionDef) and "compiled" in map(ast.unparse, node.decorator_list)
    }
    run = subprocess.run(
        [sys.executable, "-c", REACHED, *map(str, sources)],
        cwd=ROOT,
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert kernels - set(run.stdout.split()) == set()
