"""Gold standards from a study's answers: keywords that people gave, boxes that descriptions name.

In the form in which ``evaluation.metrics.keywords`` and ``evaluation.metrics.content`` take them, and as JSON lines.
Used judgments count alone; units without any are left out and counted.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from annotation.moments import Moment
from evaluation import loaders
from evaluation.export.moments import take_moment
from judgments.files import HashedFile
from judgments.kinds import KINDS, Consensus
from judgments.kinds.grounding import box_numbers, boxes_named
from judgments.kinds.keywords import stemmed
from judgments.models import Study, Unit
from judgments.streams import batched

UNITS_AT_ONCE = 500


def keyword_gold(study: Study, *, stems: bool = True) -> dict[str, Counter[str]]:
    """Image -> its multiset of tags R_j (MC12 §3.2): keyword -> how many workers gave it; merged by ``stems`` as in the
    paper, or as words."""
    moment = take_moment(study)
    return {
        unit.item.name: Counter(stemmed(found.answer) if stems else found.answer)
        for unit, found in _decided(study, moment)
    }


def content_gold(study: Study) -> dict[str, list[set[int]]]:
    """Image -> for each of its descriptions the boxes it names, as numbers from 0 (the sets G_m of WG15 eq. 1-3)."""
    moment = take_moment(study)
    gold: dict[str, list[set[int]]] = {}
    for unit, found in _decided(study, moment):
        gold.setdefault(unit.item.name, []).append(set(box_numbers(found.answer, unit.content["boxes"])))
    return gold


def write_keywords(study: Study, moment: Moment, file: HashedFile) -> dict[str, int]:
    """JSON lines: image, unit, how many workers, and the counts of keywords as words and with one stem merged."""
    lines = 0
    for unit, found in _decided(study, moment):
        _write(
            file,
            {
                "image": unit.item.name,
                "unit": unit.key,
                "workers": found.n,
                "keywords": found.answer,
                "stems": stemmed(found.answer),
            },
        )
        lines += 1
    return {"images": lines, "left_out": _judged_units(study) - lines}


def write_grounding(study: Study, moment: Moment, file: HashedFile) -> dict[str, int]:
    """JSON lines: a description with its links by majority and the boxes that it names."""
    lines = 0
    for unit, found in _decided(study, moment):
        labels = {box["id"]: box["label"] for box in unit.content["boxes"]}
        caption = unit.first
        assert caption is not None  # every unit of its kind has one
        tokens = caption.text.split()
        _write(
            file,
            {
                "image": unit.item.name,
                "unit": unit.key,
                "caption_id": caption.key,
                "caption": caption.text,
                "workers": found.n,
                "tie": found.tie,
                "links": [
                    {
                        **link,
                        "text": tokens[link["word"]],
                        "label": labels[link["box"]],
                        "votes": found.votes[f"{link['word']}:{link['box']}"],
                    }
                    for link in found.answer
                ],
                "boxes": boxes_named(found.answer),
                "box_numbers": box_numbers(found.answer, unit.content["boxes"]),
            },
        )
        lines += 1
    return {"descriptions": lines, "left_out": _judged_units(study) - lines}


def _decided(study: Study, moment: Moment) -> Iterator[tuple[Unit, Consensus]]:
    """The units with used judgments in their order, each with what these say."""
    kind = KINDS[study.protocol]
    for some in batched(loaders.counted_answers(study, moment), UNITS_AT_ONCE):
        answers = [(unit, given) for unit, own in some for given in own]
        if not answers:
            continue
        found = kind.consensus([unit for unit, _ in answers], [given for _, given in answers])
        units = Unit.objects.select_related("item", "first").in_bulk([unit for unit, _ in some])
        for unit, _ in some:
            if unit in found:
                yield units[unit], found[unit]


def _judged_units(study: Study) -> int:
    return Unit.objects.filter(study=study, control=False).count()


def _write(file: HashedFile, row: dict[str, Any]) -> None:
    file.write_text(json.dumps(row, ensure_ascii=False, separators=(", ", ": ")) + "\n")
