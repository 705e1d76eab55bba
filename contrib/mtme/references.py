"""The references of the images that a study judges: text files of mt-metrics-eval, and metrics' scores against them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from common.rows.batches import KEYS_PER_QUERY, batched
from contrib.mtme.judged_systems import JudgedSystems, judged_items
from evaluation.data.judgment_sets import loaders
from evaluation.models import DEFAULT_METRICS
from judgments.models import Caption, Study
from quorum.metrics import score
from quorum.numeric.arrays import Ints
from quorum.numeric.packing import declare

NO_TEXT = "[No translation supplied]"  # what mt-metrics-eval writes for a missing text


@declare  # can be sent to other processes
@dataclass(slots=True)
class SegmentReferences:
    """The references of each segment (image), as lines of text."""

    texts: list[list[str]]

    @classmethod
    def for_study(cls, study: Study, table: JudgedSystems) -> SegmentReferences:
        texts: list[list[str]] = [[] for _ in table.segments]
        rows = (
            Caption.objects.filter(item__in=judged_items(study).values("pk"), role=Caption.Role.REFERENCE)
            .order_by("item__position", "item_id", "position", "pk")
            .values_list("item_id", "text")
        )
        for item, text in rows.iterator(loaders.ROWS_PER_BATCH):
            if item in table.segments:
                texts[table.segments[item]].append(single_line(text))
        return cls(texts)

    @property
    def has_texts(self) -> bool:
        return any(self.texts)

    def write(self, folder: Path, languages: str) -> int:
        """Write one file for each position of references; return the number of files. ``languages`` is, say, img-en."""
        folder.mkdir()
        file_count = max(1, *map(len, self.texts))
        for number in range(file_count):
            with open_text(folder / f"{languages}.ref{number + 1}.txt") as file:
                for references in self.texts:
                    file.write(f"{references[number] if number < len(references) else NO_TEXT}\n")
        return file_count

    def scores(self, table: JudgedSystems, system_id: int) -> dict[str, Any]:
        """Return ``corpus`` and ``images``: the scores of a system and of its images against all references, by metric.

        CIDEr's documents are the images. An image without a caption, or whose references are all ``NO_TEXT``, scores 0.
        """
        captions = table.caption[table.systems[system_id]]  # row ids by segment; 0 for none
        references_by_segment = [[line for line in lines if line != NO_TEXT] for lines in self.texts]
        segments = np.flatnonzero(
            (captions != 0) & np.array([bool(lines) for lines in references_by_segment])
        )
        documents = [lines for lines in references_by_segment if lines]
        # No text is None, since the row ids are not 0 here.
        texts = [text or "" for text in texts_of(captions[segments])]
        references = [references_by_segment[segment] for segment in segments.tolist()]
        # Images without a caption count as documents, too.
        document_corpus = None if len(segments) == len(documents) else documents
        result = score(texts, references, DEFAULT_METRICS, document_corpus=document_corpus)
        image_scores = {name: np.zeros(len(references_by_segment)) for name in DEFAULT_METRICS}
        for name, metric_score in result.scores.items():
            image_scores[name][segments] = metric_score.images
        return {
            "corpus": {name: float(metric_score.corpus) for name, metric_score in result.scores.items()},
            "images": {name: values.tolist() for name, values in image_scores.items()},
        }


def texts_of(captions: Ints) -> Iterator[str | None]:
    """Yield the texts of captions, given by row id; None for the row id 0."""
    for batch in batched(captions.tolist(), KEYS_PER_QUERY):
        texts = dict(Caption.objects.filter(pk__in=set(batch)).values_list("pk", "text"))
        yield from (texts.get(pk) for pk in batch)


def single_line(text: str | None) -> str:
    """Return a text on one line with single blanks; ``NO_TEXT`` for None."""
    return NO_TEXT if text is None else " ".join(text.split())


def open_text(path: Path) -> TextIO:
    return path.open("w", encoding="utf-8", newline="\n")
