"""Score and rank the systems of WMT24 by people's scores from error span annotation (ESA)."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from contrib.error_spans.results.ranks import rank_systems
from contrib.error_spans.results.segments import JudgedText, score_segments
from contrib.packs.running import Run
from evaluation.presentation.content import Estimate
from judgments.importers import read_layouts
from judgments.importers.records.columns import Columns
from judgments.importers.tables.files import read_table
from judgments.importers.textio import ImportNotes

DATA, WAVES = "wmt24-news-systems", 4
LANGUAGE_CODES = {
    "eng": "en", "ces": "cs", "hin": "hi", "zho": "zh", "jpn": "ja", "rus": "ru", "ukr": "uk", "isl": "is", "spa": "es"
}  # fmt: skip
# Columns of the files beside those of the layout "appraise".
ADDED_COLUMNS = {
    "unit": ("{trgLang}/{system}/{itemID}",),
    "document": ("docID",),
    "to": ("trgLang",),
    "from": ("srcLang",),
}


def analyse(run: Run) -> None:
    if not run.has(DATA):
        return
    layout = read_layouts()["appraise"]
    read_file = layout.model_copy(update={"columns": {**layout.columns, **ADDED_COLUMNS}}).reader(
        read_table, mapped_only=True
    )
    rows_by_languages: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for wave in range(WAVES):  # a segment that is in two waves is judged twice
        path = run.data[DATA] / f"esa_generalMT2024_wave{wave}.csv"
        for record in read_file(path, Columns(()), ImportNotes(), None):
            codes = (LANGUAGE_CODES[record.values[side]] for side in ("from", "to"))
            rows_by_languages["-".join(codes)].append(record.values)
    values: dict[str, float] = {}
    for languages, rows in sorted(rows_by_languages.items()):
        # By system and segment, the indices of the judgments in `rows`.
        texts: defaultdict[str, dict[int, list[int]]] = defaultdict(dict)
        for index, row in enumerate(rows):
            texts[row["system"]].setdefault(int(row["image"]), []).append(index)
        systems = rank_systems(score_segments(list(map(_read_judgment, rows)), texts), "greater")
        run.judged(f"{languages}: {len(rows):,} judgments of {len(systems)} systems, as published.")
        for system in systems:
            for name in ("score", "best", "worst"):
                values[f"{languages}/{system.system}/{name}"] = getattr(system, name)
    for number in run.pack.numbers:
        if number.id in values:
            run.number(number.id, Estimate(values[number.id]))
        else:
            run.missing(number.id, "the files have no judgments of it")


def _read_judgment(row: Mapping[str, Any]) -> JudgedText:
    """Read a judgment from a row. The names of documents contain their domain, as in test-en-news_bbc.1."""
    domain = row["document"].replace("_", "-").split("-")[2]
    return JudgedText(row["worker"], {"spans": [], "score": float(row["score"])}, row["document"], domain)
