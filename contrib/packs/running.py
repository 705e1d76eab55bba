"""Run a pack: read its data, compute its values, and give a verdict on every published number."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import NamedTuple

from contrib.bounds.bounds import computable_metrics
from contrib.packs.reading import MODULE_FILE, Pack, PublishedNumber, ReplicationError
from contrib.packs.verdicts import NumberVerdict, verdict_of
from evaluation.presentation.content import Cell, Column, Estimate, Plot, Section, Table, plain_table
from quorum.metrics.registry.packages import FAILURES
from quorum.numeric.parallel import map_parts
from quorum.numeric.signatures import signature

METEOR_TABLES_HELP = "METEOR's tables: pip install -r requirements-meteor.txt (docs/metrics.md)"
NO_METEOR_TABLES = f"missing are {METEOR_TABLES_HELP}"

Progress = Callable[[float, str], None]  # gets the share that is done, from 0 to 1, and what is done next


class _StatedNumber(NamedTuple):
    """What a pack states about a number: the last arguments of `verdict_of`."""

    ours: Estimate | None
    others: Mapping[str, float | None] = {}
    missing: str = ""


@dataclass(slots=True)
class Run:
    """The argument of the function ``analyse`` of a pack. It has the pack's data, and records the results.

    Attributes:
        data: the folder of each table of data that is there.
        progress: a function to call with the share that is done, and with what is done next.
        stated_numbers: what the pack stated about each number.
        sections: sections of the report.
        judgments: sentences about the judgments that were used.
        signatures: signatures of what was computed, by name.
    """

    pack: Pack
    data: Mapping[str, Path]
    progress: Progress
    stated_numbers: dict[str, _StatedNumber] = field(default_factory=dict)
    sections: list[Section] = field(default_factory=list)
    judgments: list[str] = field(default_factory=list)
    signatures: dict[str, str] = field(default_factory=dict)

    @property
    def seed(self) -> int:
        return self.pack.contents.seed

    def has(self, data: str) -> bool:
        """Return whether the files of a table of data are there."""
        return data in self.data

    def number(self, name: str, ours: Estimate, *, others: Mapping[str, float | None] | None = None) -> None:
        """Record Quorum's value of a published number.

        Args:
            ours: the value; percentages as fractions.
            others: the values by other conventions, by name of the convention.
        """
        self._check_name(name)
        self.stated_numbers[name] = _StatedNumber(ours, others or {})

    def missing(self, name: str, why: str) -> None:
        """Record why a published number cannot be computed in this run."""
        self._check_name(name)
        self.stated_numbers[name] = _StatedNumber(None, missing=why)

    def section(
        self,
        name: str,
        title: str,
        sentences: Iterable[str] = (),
        *,
        plots: Iterable[Plot] = (),
        tables: Iterable[Table] = (),
    ) -> None:
        """Add a section to the report. The files of its plots and tables are named after them."""
        # Names begin with the pack's, since a report may have several packs.
        self.sections.append(
            Section(
                f"{self.pack.name}-{name}",
                title,
                tuple(sentences),
                tuple(replace(plot, name=f"{self.pack.name}-{plot.name}") for plot in plots),
                tuple(replace(table, name=f"{self.pack.name}-{table.name}") for table in tables),
            )
        )

    def tabulate(
        self,
        name: str,
        title: str,
        sentence: str,
        heading: str,
        columns: Iterable[tuple[str, str]],
        rows: Iterable[Sequence[Cell]],
        *,
        plots: Iterable[Plot] = (),
    ) -> None:
        """Add a section with a sentence and one table. The table has the section's name, and the title ``heading``."""
        table = plain_table(heading, columns, rows, name)
        self.section(name, title, [sentence] if sentence else (), plots=plots, tables=[table])

    def judged(self, sentence: str) -> None:
        """Record a sentence that says which judgments were used, and how many."""
        self.judgments.append(sentence)

    def signed(self, name: str, signature: str) -> None:
        """Record the signature of a metric or a statistic."""
        self.signatures[name] = signature

    def _check_name(self, name: str) -> None:
        if all(name != number.id for number in self.pack.numbers):
            raise ReplicationError(
                f"{self.pack.folder / MODULE_FILE} states {name!r}, which is no id of a number of pack.toml."
            )


@dataclass(frozen=True, slots=True)
class Replication:
    """The results of a pack.

    Attributes:
        sections, judgments, signatures: those of ``Run``.
        files: the table of the files that were read.
        signature: the pack, a digest of its data, and its seed.
    """

    pack: Pack
    verdicts: tuple[NumberVerdict, ...]
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
    run = Run(pack, pack.find_data(folder), progress)
    analyse(run)
    files = _table_of_files(pack, run.data)
    # The last cell of a row is the digest of a file.
    digest = _digest("".join(str(row[-1]) for row in files.rows).encode())
    return Replication(
        pack,
        verdicts=tuple(_verdict(run, number) for number in pack.numbers),
        sections=tuple(run.sections),
        judgments=tuple(run.judgments),
        signatures=run.signatures,
        files=files,
        signature=signature("replication", {"pack": pack.name, "data": digest, "seed": run.seed}),
    )


def run_packs(packs: Sequence[Pack], folder: Path, progress: Progress) -> list[Replication]:
    """Run packs on the data in ``folder``. Each pack is a part of the progress.

    Raises:
        ReplicationError: required data of a pack are missing; nothing is computed.
    """
    for pack in packs:
        pack.find_data(folder)
    if len(packs) == 1:
        return [run_pack(packs[0], folder, progress)]
    replications: list[Replication] = []
    for replication in map_parts(_run_indexed_pack, (packs, folder), range(len(packs))):
        replications.append(replication)
        progress(len(replications) / len(packs), replication.pack.name)
    return replications


def _run_indexed_pack(packs_and_folder: tuple[Sequence[Pack], Path], index: int) -> Replication:
    packs, folder = packs_and_folder
    return run_pack(packs[index], folder, lambda share, message: None)


def load_analysis(pack: Pack) -> Callable[[Run], None]:
    """Load a pack's module, and return its function ``analyse``.

    Raise ReplicationError if the module is missing, if it raises an error, or if it has no such function.
    """
    path = pack.folder / MODULE_FILE
    spec = spec_from_file_location(f"replication_pack_{pack.folder.name}", path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise ReplicationError(
            f"{pack.folder} has no {MODULE_FILE}, expected one with a function analyse(run)."
        )
    # The module must be in sys.modules, since dataclasses look it up there. A module that failed is removed again.
    module = sys.modules[spec.name] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except FAILURES as error:
        del sys.modules[spec.name]
        raise ReplicationError(f"{path} cannot be loaded: {error}.") from error
    function: Callable[[Run], None] | None = getattr(module, "analyse", None)
    if function is None or not callable(function):
        raise ReplicationError(f"{path} has no function analyse, expected analyse(run).")
    return function


def _verdict(run: Run, number: PublishedNumber) -> NumberVerdict:
    """Return the verdict on a number. Raise ReplicationError if the pack should have stated it, and did not."""
    if number.id in run.stated_numbers:
        return verdict_of(run.pack, number, *run.stated_numbers[number.id])
    if number.data and not run.has(number.data):
        data = run.pack.contents.data[number.data]
        files = ", ".join(f"{data.path or number.data}/{file}" for file in data.files)
        reason = f"missing is {files} ({data.what}; published: {data.source})"
        reason += f"; with it the pack {data.use}" if data.use else ""
        return verdict_of(run.pack, number, None, missing=reason)
    if "meteor" in number.id.split("/") and not computable_metrics(["meteor"]):
        return verdict_of(run.pack, number, None, missing=NO_METEOR_TABLES)
    if number.missing:
        return verdict_of(run.pack, number, None)
    raise ReplicationError(
        f"{run.pack.folder / MODULE_FILE} states nothing about the number {number.id!r} of pack.toml; "
        "expected run.number or run.missing."
    )


def _digest(content: bytes) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 hash."""
    return hashlib.sha256(content).hexdigest()[:16]


def _table_of_files(pack: Pack, data: Mapping[str, Path]) -> Table:
    rows: list[Sequence[str | int]] = []
    for name, folder in data.items():
        for file in pack.contents.data[name].files:
            content = (folder / file).read_bytes()
            rows.append((f"{folder.name}/{file}", len(content), _digest(content)))
    columns = (Column("file"), Column("bytes", "count"), Column("SHA-256 begins"))
    return Table(f"{pack.name}-files", "Files that were read", columns, tuple(map(tuple, rows)))
