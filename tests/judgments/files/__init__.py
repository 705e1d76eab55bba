"""Small files as people send them, and the sentence a reader refuses them with."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from judgments.importers import ImportProblem


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
