"""Score the systems that translated TED talks by the errors that experts marked (MQM)."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, cast

from contrib.error_spans.kind.mqm import MQM
from contrib.error_spans.results.scores import system_scores
from contrib.error_spans.results.segments import TextJudgment, score_segments
from contrib.packs.running import Run
from evaluation.presentation.content import Estimate
from judgments.importers import open_judgments

RATINGS_FILE = "mqm_ted_zhen.tsv"
PRINTED_NAMES = {"ref": "ref-A", "refB": "ref-B"}  # the names in the paper's tables, by name in the file
NO_JUDGMENT = "the file has no judgment of it"
# The README prints two digits of most systems and three of SMU, so it may have rounded twice: 2.1546, 2.155, 2.16.
DOUBLE_ROUNDING = "rounded to three digits first, as that of SMU is printed"
WEIGHTS = {"source issue": {"minor": 1.0, "major": 5.0}}  # by category and severity; at WMT, both are 0


def analyse(run: Run) -> None:
    if not run.has_data("mqm-ted"):
        return
    text_judgments: list[TextJudgment] = []
    # Indices of the judgments in `text_judgments`, by system and by number of the segment.
    texts: defaultdict[str, dict[int, list[int]]] = defaultdict(dict)
    for row in open_judgments("google-mqm", run.data["mqm-ted"] / RATINGS_FILE).judgments():
        system, _, segment = row.unit.partition("/")  # such as refB/17
        texts[PRINTED_NAMES.get(system, system)].setdefault(int(segment), []).append(len(text_judgments))
        text_judgments.append(TextJudgment(row.worker, cast(Mapping[str, Any], row.stored), segment))
    segments = score_segments(text_judgments, texts, MQM.with_weights(WEIGHTS))
    scores = system_scores(segments)
    run.note_judgments(f"{len(text_judgments):,} judgments of {len(scores)} systems, as published.")
    # The paper prints penalties, which are scores with the opposite sign.
    penalties = {score.system: -score.score for score in scores}
    for number in run.pack.numbers:
        _, _, system = number.id.partition("/")  # such as readme/ref-B
        if system in penalties:
            penalty = penalties[system]
            run.number(number.id, Estimate(penalty), others={DOUBLE_ROUNDING: round(penalty, 3)})
        else:
            run.missing(number.id, NO_JUDGMENT)
