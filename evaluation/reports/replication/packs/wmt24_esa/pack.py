"""Score and rank the systems of WMT24 by people's scores of error span annotation."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from evaluation.presentation.content import Estimate
from evaluation.reports.replication.running import Run
from evaluation.results.error_spans.domains import RankedSystem, rank_systems, ranks_table
from evaluation.results.error_spans.scores import Judged, score_segments
from judgments.importers import layouts
from judgments.importers.records import Columns
from judgments.importers.sheets import read_table
from judgments.importers.textio import ImportNotes

DATA = "wmt24-news-systems"
CODES = {"eng": "en", "ces": "cs", "hin": "hi", "zho": "zh", "jpn": "ja", "rus": "ru", "ukr": "uk", "isl": "is",
         "spa": "es"}  # fmt: skip
OWN = {
    "unit": ("{srcLang}/{trgLang}/{system}/{itemID}",),
    "document": ("docID",),
    "languages": ("{srcLang} {trgLang}",),
}


def analyse(run: Run) -> None:
    if not run.has(DATA):
        return
    layout = layouts()["appraise"]
    read = layout.model_copy(update={"columns": {**layout.columns, **OWN}}).reader(read_table, alone=True)
    by_pair: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for wave in range(4):  # the same segment in two waves is judged twice
        path = run.data[DATA] / f"esa_generalMT2024_wave{wave}.csv"
        for record in read(path, Columns(()), ImportNotes(), None):
            languages = (CODES[code] for code in record.values["languages"].split())
            by_pair["-".join(languages)].append(record.values)
    values: dict[str, float] = {}
    for pair, rows in sorted(by_pair.items()):
        for system in _ranked(run, pair, rows):
            for name in ("score", "best", "worst"):
                values[f"{pair}/{system.system}/{name}"] = getattr(system, name)
    for number in run.pack.numbers:
        if number.id in values:
            run.number(number.id, Estimate(values[number.id]))
        else:
            run.missing(number.id, "the files have no judgments of it")


def _ranked(run: Run, pair: str, rows: list[Mapping[str, Any]]) -> list[RankedSystem]:
    texts: defaultdict[str, dict[int, list[int]]] = defaultdict(dict)
    for number, row in enumerate(rows):
        texts[row["system"]].setdefault(int(row["image"]), []).append(number)
    judged = [
        Judged(
            row["worker"],
            {"spans": [], "score": float(row["score"])},
            row["document"],
            _domain(row["document"]),
        )
        for row in rows
    ]
    ranked = rank_systems(score_segments(judged, texts), "greater")
    run.judged(f"{pair}: {len(rows):,} judgments of {len(ranked)} systems, as published.")
    run.section(pair, f"Systems of {pair}", tables=[ranks_table(ranked)])
    return ranked


def _domain(document: str) -> str:
    """Return the domain in a name such as test-en-news_bbc.1."""
    return document.replace("_", "-").split("-")[2]
