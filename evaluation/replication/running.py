"""Run a pack: read its data, compute, and give every published number a verdict."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from evaluation.errors import ReplicationError
from evaluation.provenance import signature
from evaluation.replication.packs import MODULE, Number, Pack
from evaluation.replication.verdicts import Verdict, verdict_of
from evaluation.report.content import Column, Estimate, Plot, Section, Table

Progress = Callable[[float, str], None]


@dataclass(slots=True)
class Run:
    """The argument of a pack's module: its data, and its results."""

    pack: Pack
    data: Mapping[str, Path]
    progress: Progress
    found: dict[str, tuple[Estimate | None, str]] = field(default_factory=dict)
    sections: list[Section] = field(default_factory=list)
    judgments: list[str] = field(default_factory=list)
    signatures: dict[str, str] = field(default_factory=dict)

    @property
    def seed(self) -> int:
        return self.pack.contents.seed

    def has(self, data: str) -> bool:
        return data in self.data

    def number(self, name: str, ours: Estimate, *, why: str = "") -> None:
        """State our value of a published number, shares as shares; ``why`` explains a difference in this
        run.
        """
        self._known(name)
        self.found[name] = ours, why

    def missing(self, name: str, why: str) -> None:
        """State that a published number cannot be computed in this run, and why."""
        self._known(name)
        self.found[name] = None, why

    def section(
        self,
        name: str,
        title: str,
        sentences: Iterable[str] = (),
        *,
        plots: Iterable[Plot] = (),
        tables: Iterable[Table] = (),
    ) -> None:
        """Add a section to the report; plots and tables are named after their files."""
        # A report may hold several packs.
        self.sections.append(
            Section(
                f"{self.pack.name}-{name}",
                title,
                tuple(sentences),
                tuple(replace(plot, name=f"{self.pack.name}-{plot.name}") for plot in plots),
                tuple(replace(table, name=f"{self.pack.name}-{table.name}") for table in tables),
            )
        )

    def judged(self, sentence: str) -> None:
        """Report which judgments were used, and how many."""
        self.judgments.append(sentence)

    def signed(self, name: str, words: str) -> None:
        """Report a metric's or statistic's signature."""
        self.signatures[name] = words

    def _known(self, name: str) -> None:
        if all(name != number.id for number in self.pack.numbers):
            raise ReplicationError(
                f"{self.pack.folder / MODULE} states {name!r}, which is no id of a number of pack.toml."
            )


@dataclass(frozen=True, slots=True)
class Replication:
    pack: Pack
    verdicts: tuple[Verdict, ...]
    sections: tuple[Section, ...]
    judgments: tuple[str, ...]
    signatures: Mapping[str, str]
    files: Table
    signature: str

    @property
    def simulated(self) -> bool:
        return self.pack.contents.judgments == "rehearsal"


def run_pack(pack: Pack, folder: Path, progress: Progress) -> Replication:
    """Run a pack on the data in ``folder``. Raise ReplicationError if required data are missing."""
    analyse = load_analysis(pack)
    run = Run(pack, pack.found_data(folder), progress)
    analyse(run)
    files = _files(pack, run.data)
    digest = hashlib.sha256("".join(str(row[-1]) for row in files.rows).encode()).hexdigest()[:16]
    stamp = signature("replication", {"pack": pack.name, "data": digest, "seed": run.seed})
    verdicts = tuple(_verdict(run, number) for number in pack.numbers)
    return Replication(
        pack, verdicts, tuple(run.sections), tuple(run.judgments), run.signatures, files, stamp
    )


def load_analysis(pack: Pack) -> Callable[[Run], None]:
    """Return the function `analyse` of a pack's module. Raise ReplicationError without one."""
    path = pack.folder / MODULE
    spec = spec_from_file_location(f"replication_pack_{pack.folder.name}", path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise ReplicationError(f"{pack.folder} has no {MODULE}, expected one with a function analyse(run).")
    module = sys.modules[spec.name] = module_from_spec(spec)  # dataclasses look their module up there
    try:
        spec.loader.exec_module(module)
    except (SyntaxError, ImportError) as error:
        raise ReplicationError(f"{path} cannot be loaded: {error}.") from None
    function: Callable[[Run], None] | None = getattr(module, "analyse", None)
    if function is None or not callable(function):
        raise ReplicationError(f"{path} has no function analyse, expected analyse(run).")
    return function


def _verdict(run: Run, number: Number) -> Verdict:
    if number.id in run.found:
        return verdict_of(run.pack, number, *run.found[number.id])
    if number.data and not run.has(number.data):
        data = run.pack.contents.data[number.data]
        files = ", ".join(f"{data.path or number.data}/{file}" for file in data.files)
        return verdict_of(run.pack, number, None, f"{data.what} is missing: {files}, from {data.source}")
    if number.missing:
        return verdict_of(run.pack, number, None)
    raise ReplicationError(
        f"{run.pack.folder / MODULE} states nothing about the number {number.id!r} of pack.toml; "
        "expected run.number or run.missing."
    )


def _files(pack: Pack, data: Mapping[str, Path]) -> Table:
    rows: list[Sequence[str | int]] = []
    for name, folder in data.items():
        for file in pack.contents.data[name].files:
            content = (folder / file).read_bytes()
            rows.append((f"{folder.name}/{file}", len(content), hashlib.sha256(content).hexdigest()[:16]))
    columns = (Column("file"), Column("bytes", "count"), Column("SHA-256 begins"))
    return Table(f"{pack.name}-files", "Files that were read", columns, tuple(map(tuple, rows)))
