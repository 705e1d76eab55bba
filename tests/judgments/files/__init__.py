"""Small files as people send them, and the error a reader refuses them with."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from judgments.importers import ImportProblem
from tests.refusals import assert_names


def written(folder: Path, name: str, content: str | bytes) -> Path:
    """A file with exactly these characters (as UTF-8, line ends untouched) or bytes."""
    path = folder / name
    path.write_bytes(content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content)
    return path


def refusal(rows: Iterable[object]) -> str:
    """What an import says when it fails, with the file's folder left out."""
    with pytest.raises(ImportProblem) as caught:
        list(rows)
    problem = caught.value
    return str(problem).replace(problem.file, Path(problem.file).name, 1)


def assert_refused(
    rows: Iterable[object], file: str, line: int | None, column: str | None, *values: object
) -> None:
    """Assert that an import fails at this place, and that what it found and expected names the values."""
    with pytest.raises(ImportProblem) as caught:
        list(rows)
    problem = caught.value
    assert (Path(problem.file).name, problem.line, problem.column) == (file, line, column)
    assert_names(f"{problem.actual}, expected {problem.expected}", *values)
