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


class _RecordedNumber(NamedTuple):
    """Quorum's value of a published number, as a pack recorded it.

    Attributes:
        ours: the value; None if it cannot be computed.
        others: the values by other conventions, by name of the convention; None if one cannot be computed.
        missing: why there is no value.
    """

    ours: Estimate | None
    others: Mapping[str, float | None] = {}
    missing: str = ""


@dataclass(slots=True)
class Run:
    """One run of a pack. The pack's function ``analyse`` gets it, reads the data, and records the results in it.

    Attributes:
        data: the folder of each data set whose files are there, by the name of its table in pack.toml.
        progress: a function to call with the share that is done, and with what is done next.
        recorded_numbers: what the pack recorded about each published number, by its id.
        sections: sections of the report.
        judgment_notes: sentences that say which judgments were used, and how many.
        signatures: the signature of each metric and statistic that was computed, by a name for the report.
    """

    pack: Pack
    data: Mapping[str, Path]
    progress: Progress
    recorded_numbers: dict[str, _RecordedNumber] = field(default_factory=dict)
    sections: list[Section] = field(default_factory=list)
    judgment_notes: list[str] = field(default_factory=list)
    signatures: dict[str, str] = field(default_factory=dict)

    @property
    def seed(self) -> int:
        return self.pack.contents.seed

    def has_data(self, name: str) -> bool:
        """Return whether the files of the data set with this name in pack.toml are there."""
        return name in self.data

    def number(
        self, number_id: str, ours: Estimate, *, others: Mapping[str, float | None] | None = None
    ) -> None:
        """Record Quorum's value of a published number.

        Args:
            number_id: the id of the number in pack.toml.
            ours: the value; percentages as fractions.
            others: the values by other conventions, by name of the convention.
        """
        self._check_number_id(number_id)
        self.recorded_numbers[number_id] = _RecordedNumber(ours, others or {})

    def missing(self, number_id: str, why: str) -> None:
        """Record why a published number cannot be computed in this run."""
        self._check_number_id(number_id)
        self.recorded_numbers[number_id] = _RecordedNumber(None, missing=why)

    def add_section(
        self,
        name: str,
        title: str,
        sentences: Iterable[str] = (),
        *,
        plots: Iterable[Plot] = (),
        tables: Iterable[Table] = (),
    ) -> None:
        """Add a section to the report. The files of its plots and tables are named after them."""
        # Names begin with the name of the pack, since a report may have several packs.
        self.sections.append(
            Section(
                f"{self.pack.name}-{name}",
                title,
                tuple(sentences),
                tuple(replace(plot, name=f"{self.pack.name}-{plot.name}") for plot in plots),
                tuple(replace(table, name=f"{self.pack.name}-{table.name}") for table in tables),
            )
        )

    def add_table_section(
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
        """Add a section with one table to the report.

        Args:
            name: name of the section and of its table.
            sentence: a sentence above the table, or "".
            heading: the title of the table.
            columns: the name and the type of each column.
        """
        table = plain_table(heading, columns, rows, name)
        self.add_section(name, title, [sentence] if sentence else (), plots=plots, tables=[table])

    def note_judgments(self, sentence: str) -> None:
        """Add a sentence to the report that says which judgments were used, and how many."""
        self.judgment_notes.append(sentence)

    def add_signature(self, name: str, signature: str) -> None:
        """Add the signature of a metric or a statistic to the report, under a name for it."""
        self.signatures[name] = signature

    def _check_number_id(self, number_id: str) -> None:
        if all(number_id != number.id for number in self.pack.numbers):
            raise ReplicationError(
                f"{self.pack.folder / MODULE_FILE} states {number_id!r}, which is no id of a number of pack.toml."
            )


@dataclass(frozen=True, slots=True)
class Replication:
    """The results of a pack.

    Attributes:
        sections, judgment_notes, signatures: those of ``Run``.
        files: a table of the files that were read.
        signature: a text with the pack's name, a digest of its data, and its seed.
    """

    pack: Pack
    verdicts: tuple[NumberVerdict, ...]
    sections: tuple[Section, ...]
    judgment_notes: tuple[str, ...]
    signatures: Mapping[str, str]
    files: Table
    signature: str

    @property
    def is_simulated(self) -> bool:
        """Whether the judgments are simulated, since the paper published none."""
        return self.pack.contents.judgments == "rehearsal"


def run_pack(pack: Pack, folder: Path, progress: Progress) -> Replication:
    """Run a pack on the data in ``folder``. Raise ReplicationError if required data are missing."""
    analyse = load_analysis(pack)
    run = Run(pack, pack.find_data(folder), progress)
    analyse(run)
    files = _table_of_files(pack, run.data)
    digest = _digest("".join(str(file_digest) for _, _, file_digest in files.rows).encode())
    return Replication(
        pack,
        verdicts=tuple(_verdict(run, number) for number in pack.numbers),
        sections=tuple(run.sections),
        judgment_notes=tuple(run.judgment_notes),
        signatures=run.signatures,
        files=files,
        signature=signature("replication", {"pack": pack.name, "data": digest, "seed": run.seed}),
    )


def run_packs(packs: Sequence[Pack], folder: Path, progress: Progress) -> list[Replication]:
    """Run packs on the data in ``folder``, several at a time if there are several processes.

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
    """Return the verdict on a published number.

    Raises:
        ReplicationError: the pack recorded nothing about the number, although its data are there.
    """
    if number.id in run.recorded_numbers:
        record = run.recorded_numbers[number.id]
        return verdict_of(run.pack, number, record.ours, record.others, record.missing)
    if number.data and not run.has_data(number.data):
        data = run.pack.contents.data[number.data]
        files = ", ".join(f"{data.path or number.data}/{file}" for file in data.files)
        reason = f"missing is {files} ({data.what}; published: {data.source})"
        reason += f"; with it the pack {data.use}" if data.use else ""
        return verdict_of(run.pack, number, None, missing=reason)
    # Packs record nothing about METEOR, as in table-1/pascal-50s/meteor/HC, if its tables are not installed.
    if "meteor" in number.id.split("/") and not computable_metrics(["meteor"]):
        return verdict_of(run.pack, number, None, missing=NO_METEOR_TABLES)
    if number.missing:  # pack.toml says why the number is not reproducible
        return verdict_of(run.pack, number, None)
    raise ReplicationError(
        f"{run.pack.folder / MODULE_FILE} states nothing about the number {number.id!r} of pack.toml; "
        "expected run.number or run.missing."
    )


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _table_of_files(pack: Pack, data: Mapping[str, Path]) -> Table:
    """Return a table with the path, the size and the digest of each file of the data sets that are there."""
    rows: list[Sequence[str | int]] = []
    for name, folder in data.items():
        for file in pack.contents.data[name].files:
            content = (folder / file).read_bytes()
            rows.append((f"{folder.name}/{file}", len(content), _digest(content)))
    columns = (Column("file"), Column("bytes", "count"), Column("SHA-256 begins"))
    return Table(f"{pack.name}-files", "Files that were read", columns, tuple(map(tuple, rows)))
