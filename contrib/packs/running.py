"""Run a pack: read its data, compute, give every published number a verdict, and write the report."""

from __future__ import annotations

import hashlib
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from html import escape
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, Literal

import numpy as np
from markupsafe import Markup
from numpy.typing import ArrayLike

from annotation.rehearsal import ACCURACY_SPREAD, Crowd
from common.amounts import as_json, json_float
from common.files import indented
from contrib.bounds.bounds import computable
from contrib.packs.reading import MODULE, PER_CENT, Number, Pack, ReplicationError
from evaluation.presentation.content import (
    DASH,
    NARROW,
    Cell,
    Column,
    Estimate,
    Heat,
    HeatPanel,
    Plot,
    Section,
    Table,
    plain_table,
)
from evaluation.presentation.rendering import FOLDER, ROWS_IN_TEXT, render_table, text_templates
from evaluation.reports.storage import check_folder, write_folder
from quorum.numeric.arrays import Ints
from quorum.numeric.parallel import map_parts
from quorum.numeric.signatures import quorum_version, signature

Kind = Literal["matched", "near", "differs", "not reproducible"]
MATCHED: Kind = "matched"
NEAR: Kind = "near"
DIFFERS: Kind = "differs"
NOT_REPRODUCIBLE: Kind = "not reproducible"
EQUAL = "equal at the printed digits"
UNEXPLAINED = "no convention that meets it is known"
ROUNDING = Decimal("1e-9")  # a float halfway between two printed numbers may be either


@dataclass(frozen=True, slots=True)
class Verdict:
    """A published number beside ours, in the published unit."""

    pack: str
    number: Number
    ours: Estimate
    kind: Kind
    why: str

    def as_json(self) -> dict[str, Any]:
        return {
            "pack": self.pack,
            "number": self.number.id,
            "published": float(self.number.value),
            "ours": self.ours.value,
            "low": self.ours.low,
            "high": self.ours.high,
            "verdict": self.kind,
            "why": self.why,
        }

    @property
    def digits(self) -> int:
        return _digits(self.number)

    @property
    def published(self) -> str:
        return f"{self.number.value:.{self.digits}f}{self._unit}"

    @property
    def computed(self) -> str:
        return DASH if self.ours.value is None else f"{self.ours.value:.{self.digits}f}{self._unit}"

    @property
    def interval(self) -> str:
        if self.ours.low is None or self.ours.high is None:
            return DASH
        return f"[{self.ours.low:.{self.digits}f}, {self.ours.high:.{self.digits}f}]"

    @property
    def explanations(self) -> list[str]:
        """Return the convention, what was drawn again, and what explains the verdict; a match explains itself."""
        drawn = self.number.drawn and f"drawn again: {self.number.drawn}"
        if self.kind == NOT_REPRODUCIBLE:
            return [_sentence(self.why)]
        texts = (self.number.convention, drawn, "" if self.kind == MATCHED else self.why)
        return [_sentence(text) for text in texts if text]

    @property
    def reasons(self) -> str:
        return ". ".join(self.explanations)

    @property
    def _unit(self) -> str:
        return f"{NARROW}%" if self.number.unit == PER_CENT else ""


def verdict_of(
    pack: Pack,
    number: Number,
    ours: Estimate | None,
    others: Mapping[str, float | None] | None = None,
    missing: str = "",
) -> Verdict:
    """Compare; ``others`` are our values by other conventions, ``missing`` says why ours is None."""
    computed = None if ours is None else json_float(ours.value)
    if ours is None or computed is None:
        return Verdict(pack.name, number, Estimate(None), NOT_REPRODUCIBLE, missing or number.missing)
    value = computed * number.scale
    # What was not drawn again has no error of drawing: it is equal or it is not.
    ends = map(json_float, (ours.low, ours.high) if number.drawn else (None, None))
    low, high = (None if end is None else end * number.scale for end in ends)
    estimate = Estimate(value, low, high, ours.n)
    if is_equal(number, value):
        return Verdict(pack.name, number, estimate, MATCHED, EQUAL)
    near = low is not None and high is not None and low <= float(number.value) <= high
    why = _tried(number, others or {}) or ("" if near else UNEXPLAINED)
    return Verdict(pack.name, number, estimate, NEAR if near else DIFFERS, why)


def _tried(number: Number, others: Mapping[str, float | None]) -> str:
    """Return what other conventions give: those that meet the number, else all of them."""
    values = {what: value * number.scale for what, value in others.items() if value is not None}
    met = {what: value for what, value in values.items() if is_equal(number, value)}
    digits = _digits(number) + bool(number.unit or _digits(number))
    texts = [f"{value:.{digits}f} ({what})" for what, value in (met or values).items()]
    return f"{'met by' if met else 'not met either by'} {', '.join(texts)}" if texts else ""


def is_equal(number: Number, value: float) -> bool:
    """Return whether a value, in the number's unit, prints as the number."""
    half = Decimal(1).scaleb(-_digits(number)) / 2
    return abs(Decimal(value) - Decimal(number.value)) <= half + ROUNDING


def _digits(number: Number) -> int:
    exponent = Decimal(number.value).as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


SHORT = 24  # characters of a convention that is repeated rather than looked up

ABOVE = "as above"  # in place of a long cell that repeats the one above
COLUMNS = ("place", "number", "published", "ours", "interval", "verdict", "convention, and why")


def verdict_rows(verdicts: Sequence[Verdict]) -> list[tuple[str, ...]]:
    return [
        (
            verdict.number.place,
            verdict.number.what,
            verdict.published,
            verdict.computed,
            verdict.interval,
            verdict.kind,
            verdict.reasons,
        )
        for verdict in verdicts
    ]


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}".removesuffix(".")


def verdict_table(pack: Pack, verdicts: Sequence[Verdict]) -> Table:
    rows = verdict_rows(verdicts)
    shown = [
        tuple(ABOVE if cell == over and len(cell) > SHORT else cell for cell, over in zip(*pair, strict=True))
        for pair in zip(rows, [COLUMNS, *rows], strict=False)
    ]
    columns = tuple(Column(name) for name in COLUMNS)
    return Table(f"{pack.name}-numbers", "Published numbers beside ours", columns, tuple(shown))


def rows_in_full(rows: Iterable[Sequence[str]]) -> Iterator[tuple[str, ...]]:
    """Yield the rows of a `verdict_table` with every cell."""
    over: tuple[str, ...] = COLUMNS
    for row in rows:
        over = tuple(above if cell == ABOVE else cell for cell, above in zip(row, over, strict=True))
        yield over


def verdict_markdown(pack: Pack, verdicts: Sequence[Verdict]) -> str:
    """Return the section of a pack in `verdicts.md`; what explains several numbers stands there once."""
    compared = [verdict for verdict in verdicts if verdict.kind != NOT_REPRODUCIBLE]
    counts = Counter(text for verdict in compared for text in verdict.explanations)
    notes = [text for text, count in counts.items() if count > 1 and len(text) > SHORT]
    lines = [f"### {pack.name}", "", f"{pack.contents.title}. {tally(verdicts)}", ""]
    if compared:
        lines += [markdown_row(COLUMNS), markdown_row(["---"] * len(COLUMNS))]
    for verdict, row in zip(compared, verdict_rows(compared), strict=True):
        lines.append(markdown_row([*row[:-1], _with_notes(verdict, notes)]))
    if notes:
        lines += ["", *(f"{number}. {note}" for number, note in enumerate(notes, 1))]
    if len(compared) < len(verdicts):
        lines += ["", "Not reproducible:", "", *_not_reproducible(verdicts)]
    return "\n".join(lines) + "\n"


def _with_notes(verdict: Verdict, notes: Sequence[str]) -> str:
    others = ". ".join(text for text in verdict.explanations if text not in notes)
    marks = ", ".join(f"[{notes.index(text) + 1}]" for text in verdict.explanations if text in notes)
    return f"{marks} {others}".strip()


def _not_reproducible(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Yield for each reason the published numbers, by the place where they are printed."""
    reasons: dict[str, dict[str, list[str]]] = {}
    for verdict in verdicts:
        if verdict.kind == NOT_REPRODUCIBLE:
            places = reasons.setdefault(verdict.reasons, {})
            places.setdefault(verdict.number.place, []).append(f"{verdict.number.what}: {verdict.published}")
    for reason, places in reasons.items():
        numbers = " ".join(f"*{location}*: {'; '.join(texts)}." for location, texts in places.items())
        yield f"- {reason}. {numbers}"


def markdown_row(cells: Sequence[str]) -> str:
    escaped = [cell.replace("|", "\\|") for cell in cells]
    return f"| {' | '.join(escaped)} |"


def tally(verdicts: Sequence[Verdict]) -> str:
    kinds = [verdict.kind for verdict in verdicts]
    differ = kinds.count(DIFFERS)
    return (
        f"{len(kinds)} published number{'s' * (len(kinds) != 1)}: {kinds.count(MATCHED)} matched, "
        f"{kinds.count(NEAR)} near, {differ} differ{'s' * (differ == 1)}, "
        f"{kinds.count(NOT_REPRODUCIBLE)} not reproducible."
    )


VERDICTS = "verdicts.json"
HOW_TO_GET_TABLES = "METEOR's tables: pip install -r requirements-meteor.txt (docs/metrics.md)"
NO_TABLES = f"missing are {HOW_TO_GET_TABLES}"
TEMPLATES = text_templates(FOLDER / "templates", escape=escape)
Progress = Callable[[float, str], None]


@dataclass(slots=True)
class Run:
    """The argument of a pack's module: its data, and its results."""

    pack: Pack
    data: Mapping[str, Path]
    progress: Progress
    stated: dict[str, tuple[Estimate | None, Mapping[str, float | None], str]] = field(default_factory=dict)
    sections: list[Section] = field(default_factory=list)
    judgments: list[str] = field(default_factory=list)
    signatures: dict[str, str] = field(default_factory=dict)

    @property
    def seed(self) -> int:
        return self.pack.contents.seed

    def has(self, data: str) -> bool:
        return data in self.data

    def number(self, name: str, ours: Estimate, *, others: Mapping[str, float | None] | None = None) -> None:
        """State our value of a published number, shares as shares; ``others`` are by other conventions."""
        self._check_name(name)
        self.stated[name] = ours, others or {}, ""

    def missing(self, name: str, why: str) -> None:
        """State that a published number cannot be computed in this run, and why."""
        self._check_name(name)
        self.stated[name] = None, {}, why

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
        """Add a section with a sentence and one table, ``heading``, of the section's name."""
        table = plain_table(heading, columns, rows, name)
        self.section(name, title, [sentence] if sentence else (), plots=plots, tables=[table])

    def judged(self, sentence: str) -> None:
        """Report which judgments were used, and how many."""
        self.judgments.append(sentence)

    def signed(self, name: str, signature: str) -> None:
        self.signatures[name] = signature

    def _check_name(self, name: str) -> None:
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
    run = Run(pack, pack.find_data(folder), progress)
    analyse(run)
    files = _files(pack, run.data)
    digest = hashlib.sha256("".join(str(row[-1]) for row in files.rows).encode()).hexdigest()[:16]
    stamp = signature("replication", {"pack": pack.name, "data": digest, "seed": run.seed})
    verdicts = tuple(_verdict(run, number) for number in pack.numbers)
    return Replication(
        pack, verdicts, tuple(run.sections), tuple(run.judgments), run.signatures, files, stamp
    )


def run_packs(packs: Sequence[Pack], folder: Path, progress: Progress) -> list[Replication]:
    """Run packs on the data in ``folder``, each a part of the work. Nothing is computed if one lacks its data."""
    for pack in packs:
        pack.find_data(folder)
    if len(packs) == 1:
        return [run_pack(packs[0], folder, progress)]
    done: list[Replication] = []
    for replication in map_parts(_run_part, (packs, folder), range(len(packs))):
        done.append(replication)
        progress(len(done) / len(packs), replication.pack.name)
    return done


def _run_part(shared: tuple[Sequence[Pack], Path], position: int) -> Replication:
    packs, folder = shared
    return run_pack(packs[position], folder, lambda share, message: None)


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
    if number.id in run.stated:
        return verdict_of(run.pack, number, *run.stated[number.id])
    if number.data and not run.has(number.data):
        data = run.pack.contents.data[number.data]
        files = ", ".join(f"{data.path or number.data}/{file}" for file in data.files)
        reason = f"missing is {files} ({data.what}; published: {data.source})"
        reason += f"; with it the pack {data.use}" if data.use else ""
        return verdict_of(run.pack, number, None, missing=reason)
    if "meteor" in number.id.split("/") and not computable(["meteor"]):
        return verdict_of(run.pack, number, None, missing=NO_TABLES)
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


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """Simulated judgments: (N,) unit positions, worker numbers, and answers."""

    unit: Ints
    worker: Ints
    value: Any


def rehearse(
    truth: ArrayLike, options: Sequence[float], votes: int, *, crowd: Crowd | None = None
) -> Rehearsal:
    """Let ``votes`` workers answer each unit, whose right answer in ``truth`` (U,) is one of ``options``.

    A careful worker is right as often as in `manage.py rehearse`, else gives one of the other options; a
    spammer gives any.
    """
    crowd = crowd or Crowd()
    rng = np.random.default_rng(crowd.seed)
    right, scale = np.asarray(truth), np.asarray(options)
    workers = max(crowd.workers, votes)
    accuracy = np.clip(crowd.accuracy + rng.uniform(-ACCURACY_SPREAD, ACCURACY_SPREAD, workers), 0.0, 1.0)
    spammer = np.zeros(workers, dtype=np.bool_)
    spammer[rng.permutation(workers)[: round(crowd.spammers * workers)]] = True
    # Different workers for the votes on a unit: the first of a random order.
    worker = np.argsort(rng.random((len(right), workers)), axis=1)[:, :votes].astype(np.int64)
    position = np.searchsorted(scale, right, sorter=np.argsort(scale))
    correct = np.argsort(scale)[position][:, np.newaxis]
    wrong = (correct + rng.integers(1, max(len(scale), 2), worker.shape)) % len(scale)
    careful = np.where(rng.random(worker.shape) < accuracy[worker], correct, wrong)
    answers = np.where(spammer[worker], rng.integers(0, len(scale), worker.shape), careful)
    unit = np.repeat(np.arange(len(right)), votes)
    return Rehearsal(unit, worker.ravel(), scale[answers.ravel()])


def estimate_from(figure: Any, n: int | None = None) -> Estimate:
    """Return a statistic's value and interval as an estimate."""
    return Estimate(json_float(figure.value), json_float(figure.low), json_float(figure.high), n)


def heat_plot(
    name: str,
    title: str,
    sentence: str,
    panels: Sequence[HeatPanel],
    axes: tuple[str, str],
    columns: Iterable[tuple[str, str]],
) -> Plot:
    """Return panels with a table of their cells: panel, row, column, value."""
    rows = (
        (panel.title, row, column, value)
        for panel in panels
        for row, values in zip(panel.rows, panel.values, strict=True)
        for column, value in zip(panel.columns, values, strict=True)
    )
    return Plot(name, title, sentence, Heat(tuple(panels), *axes), plain_table(title, columns, rows, name))


def check_output(folder: Path) -> None:
    """Raise ExportError for an unsuitable folder."""
    check_folder(folder, mark=VERDICTS)


def write_replications(replications: Sequence[Replication], folder: Path) -> list[str]:
    """Write a report of one or several packs atomically, replacing an earlier one."""
    return write_folder(folder, _report_files(replications), mark=VERDICTS)


def _report_files(replications: Sequence[Replication]) -> Iterator[tuple[str, bytes]]:
    # Imported lazily: matplotlib costs 60 MB and 0.3 s.
    from evaluation.presentation.plots import figures as drawing

    svgs: dict[str, str] = {}
    for replication in replications:
        table = verdict_table(replication.pack, replication.verdicts)
        yield f"tables/{table.name}.csv", render_table(table, "csv").encode()
        for section in replication.sections:
            for plot in section.plots:
                figure = drawing.draw_plot(plot, stamp=replication.signature)
                svg = drawing.svg_of(figure, plot, simulated=replication.simulated)
                svgs[plot.name] = drawing.page_svg(svg, replication.signature)
                yield f"figures/{plot.name}.svg", drawing.svg_file(svg)
                yield f"figures/{plot.name}.png", drawing.png_of(figure)
                yield f"figures/{plot.name}.csv", render_table(plot.data, "csv").encode()
            for table in section.tables:
                yield f"tables/{table.name}.csv", render_table(table, "csv").encode()
    template = TEMPLATES.from_string((Path(__file__).parent / "report.html.j2").read_text(encoding="utf-8"))
    page = template.render(
        replications=replications,
        title=replications[0].pack.contents.title if len(replications) == 1 else "All protocol packs",
        version=quorum_version(),
        css=Markup((FOLDER / "templates" / "report.css").read_text(encoding="utf-8")),  # noqa: S704 (our own file)
        svgs={name: Markup(svg) for name, svg in svgs.items()},  # noqa: S704 (plots escape every word)
        tally=tally,
        most=ROWS_IN_TEXT,
        minus="−",
    )
    yield "report.html", page.encode()
    sections = [verdict_markdown(replication.pack, replication.verdicts) for replication in replications]
    yield "verdicts.md", "\n".join(sections).encode()
    verdicts = [verdict for replication in replications for verdict in replication.verdicts]
    yield VERDICTS, f"{indented(as_json(verdicts))}\n".encode()
