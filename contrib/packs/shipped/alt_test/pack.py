"""Test whether language models may replace the experts of MT-Bench (Calderon et al. 2025).

The alternative annotator test compares each model with each expert. The votes, for one of two answers, can be ties.
"""

from pathlib import Path
from typing import Any

import numpy as np

from common.amounts import json_float
from common.incoming.json_documents import TooDeep, load_json
from contrib.packs.reading import ReplicationError
from contrib.packs.running import Run
from evaluation.presentation.content import Estimate
from quorum.statistics.judges import alternative_annotator_test

EPSILON = 0.2  # the epsilon of the test for experts
TIE = "tie"
VOTES = ("model_a", "model_b", TIE)  # for the first answer, the second, or neither, as the files spell them
PEOPLE_FILE, MODELS_FILE = "human_annotations.json", "llm_annotations.json"


def analyse(run: Run) -> None:
    """Compare each model with each expert on the pairs of answers that both judged."""
    if not run.has_data("mtbench"):
        return
    folder = run.data["mtbench"]
    people, models = _read_votes(folder / PEOPLE_FILE), _read_votes(folder / MODELS_FILE)
    votes = [
        (instance, person, vote)
        for person, person_votes in people.items()
        for instance, vote in person_votes.items()
    ]
    ties = [vote for *_, vote in votes].count(TIE)
    pairs = {instance for instance, *_ in votes}
    run.note_judgments(
        f"{len(votes):,} votes of {len(people)} experts on {len(pairs)} pairs, {ties} of them ties."
    )
    rows = []
    for name in dict.fromkeys(number.id.split("/")[0] for number in run.pack.numbers):
        answers_of_model = models.get(name, {})
        common_votes = [
            (instance, person, vote) for instance, person, vote in votes if instance in answers_of_model
        ]
        if not common_votes:
            raise ReplicationError(f"{folder / MODELS_FILE} has no answers of {name} to what people judged.")
        units, raters, answers = (np.array(column) for column in zip(*common_votes, strict=True))
        judge = [answers_of_model[instance] for instance in units.tolist()]
        test = alternative_annotator_test(units, raters, answers, judge, epsilon=EPSILON)
        run.number(f"{name}/winning-rate", Estimate(json_float(test.winning_rate), n=len(test.raters)))
        run.number(f"{name}/advantage", Estimate(json_float(test.advantage), n=test.all_units))
        run.add_signature(name, test.signature)
        interval = Estimate(json_float(test.advantage), json_float(test.low), json_float(test.high))
        rows.append((name, test.winning_rate, interval, list(answers_of_model.values()).count(TIE)))
    columns = (
        ("model", "text"), ("winning rate", "coefficient"), ("advantage [95 %]", "coefficient"),
        ("ties of its own", "count"),
    )  # fmt: skip
    sentence = f"Each model beside {len(people)} experts, with epsilon {EPSILON:g}; a tie is an answer like the others."
    run.add_table_section("models", "Models", sentence, "Models beside experts", columns, rows)


def _read_votes(path: Path) -> dict[str, dict[str, str]]:
    """Return the vote of each expert or model on each instance: ``{NAME: {INSTANCE: "model_a"}}``."""
    content: Any
    try:
        content = load_json(path.read_bytes())
    except (ValueError, TooDeep):
        content = None
    is_complete = isinstance(content, dict) and all(
        isinstance(votes, dict) and all(vote in VOTES for vote in votes.values())
        for votes in content.values()
    )
    if not is_complete:
        raise ReplicationError(
            f"{path} is not what was expected: an object of annotators with their votes, {', '.join(VOTES)}."
        )
    return content
