"""Correlate metrics with THumB's scores of MS COCO captions, on the files that the authors published."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from common.amounts import json_float
from contrib.packs.reading import ReplicationError
from contrib.packs.running import Run
from evaluation.presentation.content import Cell, Estimate
from judgments.importers.notes import ImportNotes
from judgments.importers.records.columns import Columns
from judgments.importers.records.json_records import read_json_lines
from judgments.importers.records.record import Record
from judgments.importers.records.values import read_name, read_number, read_text
from quorum.metrics import score
from quorum.numeric.arrays import Flags, Floats
from quorum.statistics.correlation import correlation

HUMAN_SYSTEM = "Human"
# The file's columns of people's scores.
SCORE_COLUMNS = {"precision": "P", "recall": "R", "total": "human_score"}
PEOPLE_COLUMNS = ("SYS", "seg_id", "hyp", *SCORE_COLUMNS.values())
# SacreBLEU cuts words as mteval-v13a does: punctuation marks are separate words, except apostrophes, hyphens that do
# not follow a digit, and points and commas between digits.
_PUNCTUATION = re.compile(r"[!-&(-+/:-@\[-`{-~]|(?<![0-9])[.,]|[.,](?![0-9])|(?<=[0-9])-")


def analyse(run: Run) -> None:
    """Compute Pearson's r of each metric with precision, recall and total, with and without people's captions."""
    if not run.has_data("mscoco"):
        return
    folder = run.data["mscoco"]
    references = _read_references(folder / "mscoco_references.json")
    rows = list(_read_records(folder / "mscoco_THumB-1.0.jsonl", PEOPLE_COLUMNS))
    texts = [str(row.read("hyp", read_text)) for row in rows]
    references_by_row = [_references_of(row, references) for row in rows]
    people = {
        name: np.array([row.read(column, _read_json_number) for row in rows], dtype=np.float64)
        for name, column in SCORE_COLUMNS.items()
    }
    systems = [str(row.read("SYS", read_name)) for row in rows]
    run.note_judgments(
        f"{len(rows):,} captions of {len(set(systems))} systems, graded for precision and recall from 1 to 5."
    )
    run.progress(0.2, "scoring captions")
    scores_by_metric: dict[str, Floats] = {}
    # Texts are prepared for the tokenizer; ``str`` leaves them as they are.
    for name, metric, tokenizer, prepare in (
        ("bleu", "bleu-4|smoothing:nist", "space", _separate_words),
        ("rouge", "rouge-l|beta:1", "ptb", str),
        ("cider", "cider-d", "ptb", str),
    ):
        result = score(
            [prepare(text) for text in texts],
            [[prepare(text) for text in image_texts] for image_texts in references_by_row],
            [metric],
            tokenizer,
            document_corpus=[[prepare(text) for text in image_texts] for image_texts in references.values()],
        ).scores[metric]
        scores_by_metric[name] = result.images  # a score for each caption
        run.add_signature(name, result.signature)
    is_machine = np.array([system != HUMAN_SYSTEM for system in systems])
    for group, is_in_group in (("machines", is_machine), ("all", np.ones(len(rows), dtype=np.bool_))):
        for name, scores in scores_by_metric.items():
            for score_name, grades in people.items():
                r = correlation(scores[is_in_group], grades[is_in_group], "pearson", resamples=0).value
                run.number(f"{group}/{name}/{score_name}", Estimate(json_float(r), n=int(is_in_group.sum())))
    _add_section(run, systems, people | scores_by_metric)


def _add_section(run: Run, systems: list[str], scores: dict[str, Floats]) -> None:
    """Add a table with the mean scores of each system.

    Args:
        systems: the system of each caption.
        scores: the scores of the captions, by name of the score.
    """
    names = list(dict.fromkeys(systems))
    is_by_system: dict[str, Flags] = {name: np.array(systems) == name for name in names}
    means: list[tuple[Cell, ...]] = [
        (name, *(float(column[is_by_system[name]].mean()) for column in scores.values())) for name in names
    ]
    columns = [("system", "text"), *((name, "score") for name in scores)]
    sentence = "What people, and metrics, give the captions of each system on average."
    heading = "Means of each system: people's scores, and metrics"
    run.add_table_section("systems", "Systems", sentence, heading, columns, means)


def _read_json_number(value: Any) -> float:
    return read_number(value, textual=False)


def _separate_words(text: str) -> str:
    """Tokenise as SacreBLEU's 13a does; return the tokens joined by blanks."""
    return " ".join(_PUNCTUATION.sub(r" \g<0> ", text).split())


def _read_records(path: Path, columns: tuple[str, ...]) -> Iterator[Record]:
    # Lenient: other columns are ignored, even if their names look like misspelt ones.
    return read_json_lines(path, Columns(columns, lenient=True), ImportNotes())


def _read_references(path: Path) -> dict[str, list[str]]:
    references: dict[str, list[str]] = {}
    for row in _read_records(path, ("seg_id", "refs")):
        texts = row.values["refs"]
        if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
            raise row.problem("refs", "no list of texts", "one or more")
        references[row.read("seg_id", read_name)] = texts
    return references


def _references_of(row: Record, references: dict[str, list[str]]) -> list[str]:
    segment = row.read("seg_id", read_name)
    if segment not in references:
        raise ReplicationError(f"{row.file}, line {row.line}: segment {segment} has no references.")
    return references[segment]
