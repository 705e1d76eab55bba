"""Find the files of a published set in its folder."""

from __future__ import annotations

from pathlib import Path

from judgments.importers.problems import ImportProblem


def file_in_folder(path: Path, name: str) -> Path:
    """Return ``path`` if it is a file. If it is a folder, return the file ``name``, or ``name``.gz, in it.

    Raise ImportProblem if the folder has neither.
    """
    if not path.is_dir():
        return path
    for candidate in (path / name, path / f"{name}.gz"):
        if candidate.exists():
            return candidate
    raise ImportProblem(path, None, None, f"a folder without {name}", "that file in it")
