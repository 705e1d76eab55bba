"""Score and rank the systems of WMT24 by people's scores from error span annotation (ESA)."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from contrib.error_spans.results.ranks import rank_systems
from contrib.error_spans.results.segments import TextJudgment, score_segments
from contrib.packs.running import Run
from evaluation.presentation.content import Estimate
from judgments.importers import read_layouts
from judgments.importers.mapped.mapped_records import mapped_reader
from judgments.importers.notes import ImportNotes
from judgments.importers.records.columns import Columns
from judgments.importers.tables.files import read_table

DATA, WAVES = "wmt24-news-systems", 4  # name of the data set, and number of its files, one for each wave
LANGUAGE_CODES = {
    "eng": "en", "ces": "cs", "hin": "hi", "zho": "zh", "jpn": "ja", "rus": "ru", "ukr": "uk", "isl": "is", "spa": "es"
}  # fmt: skip
# Columns of the files beside, or instead of, those of the layout "appraise", by their names in Quorum. Each has a
# tuple of sources, of which the first that is not empty counts. That of the unit is put together from three columns.
ADDED_COLUMNS = {
    "unit": ("{trgLang}/{system}/{itemID}",),
    "document": ("docID",),
    "to": ("trgLang",),
    "from": ("srcLang",),
}


def analyse(run: Run) -> None:
    if not run.has_data(DATA):
        return
    layout = read_layouts()["appraise"]
    mapping = layout.model_copy(update={"columns": {**layout.columns, **ADDED_COLUMNS}})
    read_file = mapped_reader(mapping, read_table, mapped_only=True)
    rows_by_languages: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for wave in range(WAVES):  # a segment that is in two waves is judged twice
        path = run.data[DATA] / f"esa_generalMT2024_wave{wave}.csv"
        for record in read_file(path, Columns(()), ImportNotes(), None):
            codes = (LANGUAGE_CODES[record.values[side]] for side in ("from", "to"))
            rows_by_languages["-".join(codes)].append(record.values)
    system_figures: dict[str, float] = {}  # by id of the published number
    for languages, rows in sorted(rows_by_languages.items()):
        # Indices of the judgments in `rows`, by system and by number of the segment.
        indices: defaultdict[str, dict[int, list[int]]] = defaultdict(dict)
        for index, row in enumerate(rows):
            indices[row["system"]].setdefault(int(row["image"]), []).append(index)  # "image" is the segment
        segments = score_segments(list(map(_read_judgment, rows)), indices)
        systems = rank_systems(segments, "greater")  # one-sided, as in the script for WMT24's tables
        run.note_judgments(f"{languages}: {len(rows):,} judgments of {len(systems)} systems, as published.")
        for system in systems:
            for name in ("score", "best", "worst"):
                system_figures[f"{languages}/{system.system}/{name}"] = getattr(system, name)
    for number in run.pack.numbers:
        if number.id in system_figures:
            run.number(number.id, Estimate(system_figures[number.id]))
        else:
            run.missing(number.id, "the files have no judgments of it")


def _read_judgment(row: Mapping[str, Any]) -> TextJudgment:
    """Read a judgment from a row. The third part of a document's name is its domain: news in test-en-news_bbc.1."""
    domain = row["document"].replace("_", "-").split("-")[2]
    return TextJudgment(row["worker"], {"spans": [], "score": float(row["score"])}, row["document"], domain)
