"""Measure the savings of early stopping, alone and with HITs and people who work at the same time.

    python -m benchmarks.stopping             # the tables of docs/stopping.md
    python -m benchmarks.stopping --pairs 6   # a smaller study on the platform

The platform uses an SQLite database in a temporary folder: triplets of candidate pairs with 48 references, three
judgments, and 20 units per HIT. Each simulated vote is right with the same chance. It depends only on the seed, the
unit and the worker, so the order in which people are asked does not change their answers. Several workers have a
HIT in progress at the same time. At each step a random one of them submits the HIT and takes the next.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from dataclasses import dataclass
from typing import Any

from quorum.statistics.stopping import expected_votes, majority_range, simulate_stopping

ACCURACIES = (0.6, 0.7, 0.8, 0.9)
REFERENCES, VOTES, UNITS = 48, 3, 20


def stop_by_rule(pairs: int) -> None:
    print(
        "| accuracy | 48 references, 3 votes | 5 votes | 5 votes, margin 2 | flipped by it | 20 references, 3 votes |"
    )
    print("|---|---|---|---|---|---|")
    for accuracy in ACCURACIES:
        runs = [
            simulate_stopping(accuracy=accuracy, references=references, votes=votes, pairs=pairs, rule=rule, seed=1)
            for references, votes, rule in (
                (48, 3, "settled"), (48, 5, "settled"), (48, 5, "margin"), (20, 3, "settled"),
            )
        ]  # fmt: skip
        # Run 2 has the rule "margin".
        assert not any(run.flipped for number, run in enumerate(runs) if number != 2)
        cells = [f"{run.share:.1%} ± {1.96 * run.error:.1%}" for run in runs]
        cells.insert(3, f"{runs[2].flipped} of {pairs:,}")
        print(f"| {accuracy} | {' | '.join(cells)} |")
    alone = [f"{expected_votes(majority_range, votes=11, accuracy=one) / 11:.1%}" for one in ACCURACIES]
    print(f"\nA pair with 11 judges (V15 App. I), exact: {', '.join(alone)}.")


@dataclass(frozen=True)
class Run:
    votes: float
    copies: float
    flipped_pairs: int
    milliseconds: float


def on_the_platform(
    *, pairs: int, accuracy: float, rule: str, full_depth: float, at_once: int, seed: int
) -> Run:
    """Fill a study, and compare it with full depth on the same votes."""
    import numpy as np

    from annotation.models import Assignment, Judgment, Participation, Worker
    from annotation.work.claims import claim_assignment
    from annotation.work.sheet.units import page_units_of
    from annotation.work.submissions import submit_assignment
    from evaluation.results.aggregation import compute_aggregation
    from judgments.drawing.draws import rng_for
    from judgments.kinds import KINDS
    from judgments.models import HIT, Study, Unit
    from tests.studies import make_study

    name = f"{rule} {accuracy} {full_depth} {at_once} {seed}"
    study = make_study(
        "triplet", name=name, units_per_hit=UNITS, judgments_per_unit=VOTES, seed=seed,
        controls={"per_hit": 1}, sampling={"pairs": {"HC": pairs}, "references": REFERENCES},
        stopping={"rule": rule, "full_depth": full_depth},
    )  # fmt: skip
    Study.objects.filter(pk=study.pk).update(simulated=True)
    kind = KINDS["triplet"]
    people = [
        Worker.objects.create(name=f"w-{number}", source="rehearsal", study=study)
        for number in range(at_once + 6)
    ]
    Participation.objects.bulk_create(
        Participation(study=study, worker=worker, completion_code="BENCH") for worker in people
    )

    def draw_vote(unit: Any, worker: Any) -> int:
        if unit.control:
            return int(unit.expected)
        return 1 if rng_for(seed, f"{unit.key} {worker.name}").random() < accuracy else 2

    rng = np.random.default_rng(seed)
    waiting = list(people)
    held_assignments: list[tuple[Any, Any]] = []
    spent, submitted = 0.0, 0
    while waiting or held_assignments:
        while waiting and len(held_assignments) < at_once:
            worker = waiting.pop(int(rng.integers(len(waiting))))
            claim = claim_assignment(study=study, worker=worker)
            if claim is not None:
                held_assignments.append((worker, claim.assignment))
        if not held_assignments:
            break
        worker, assignment = held_assignments.pop(int(rng.integers(len(held_assignments))))
        answers = [
            {
                "position": place.position,
                "value": kind.sides.from_canonical(draw_vote(place.unit, worker), side=place.side),
            }
            for place in page_units_of(assignment)
        ]
        start = time.process_time()
        submit_assignment(assignment=assignment, answers=answers)
        spent += time.process_time() - start
        submitted += 1
        waiting.append(worker)
    units = Unit.objects.filter(study=study, control=False).count()
    cast = Judgment.objects.filter(assignment__study=study, unit__control=False).count()
    wanted = HIT.objects.filter(study=study).count() * VOTES
    finished = Assignment.objects.filter(study=study).finished().count()
    return Run(
        votes=cast / (units * VOTES),
        copies=finished / wanted,
        flipped_pairs=_count_flipped_pairs(study, compute_aggregation(study=study), draw_vote, people),
        milliseconds=1000 * spent / submitted,
    )


def _count_flipped_pairs(study: Any, aggregation: Any, vote: Any, people: list[Any]) -> int:
    """Return the number of pairs whose winner differs from the winner at full depth.

    At full depth, other workers give the votes that early stopping did not ask for.
    """
    from annotation.models import Judgment
    from judgments.kinds import KINDS
    from judgments.models import Unit

    units = {unit.pk: unit for unit in Unit.objects.filter(study=study, control=False)}
    cast: dict[int, list[int]] = {pk: [] for pk in units}
    voters_by_unit: dict[int, set[int]] = {pk: set() for pk in units}
    rows = Judgment.objects.filter(assignment__study=study, unit__control=False)
    for pk, value, worker in rows.values_list("unit_id", "value", "assignment__worker_id"):
        cast[pk].append(int(value or 0))
        voters_by_unit[pk].add(worker)
    for pk, votes in cast.items():
        others = (worker for worker in people if worker.pk not in voters_by_unit[pk])
        votes += [vote(units[pk], next(others)) for _ in range(VOTES - len(votes))]
    flat = [(pk, value) for pk, votes in cast.items() for value in votes]
    found = KINDS["triplet"].aggregation.consensus([pk for pk, _ in flat], [value for _, value in flat])
    flipped = 0
    for pair in aggregation.consensus.pairs:
        outcomes = [found[row.pk].value for row in aggregation.consensus.units if row.pair == pair.pk]
        lead = outcomes.count(1) - outcomes.count(2)
        full = 1 if lead > 0 else 2 if lead < 0 else None
        flipped += full != aggregation.consensus.of_pair[pair.pk].value
    return flipped


def run_on_platform(pairs: int) -> None:
    from tests.studies import make_dataset

    make_dataset(images=2 * pairs, references=REFERENCES + 2, systems=0)
    print(
        "| accuracy | at work at once | at full depth | votes used | copies used | flipped | CPU ms a submission |"
    )
    print("|---|---|---|---|---|---|---|")
    runs = [(accuracy, 1, 0.0) for accuracy in ACCURACIES]
    runs += [(0.8, 5, 0.0), (0.8, 20, 0.0), (0.8, 1, 0.1), (0.8, 5, 0.1)]
    for accuracy, at_once, full_depth in runs:
        run = on_the_platform(
            pairs=pairs, accuracy=accuracy, rule="settled", full_depth=full_depth, at_once=at_once, seed=3
        )
        print(
            f"| {accuracy} | {at_once} | {full_depth:.0%} | {run.votes:.1%} | {run.copies:.1%} | {run.flipped_pairs} | "
            f"{run.milliseconds:.1f} |",
            flush=True,
        )
    run = on_the_platform(pairs=pairs, accuracy=0.8, rule="none", full_depth=0.0, at_once=1, seed=3)
    print(
        f"| 0.8, no stopping | 1 | | {run.votes:.1%} | {run.copies:.1%} | {run.flipped_pairs} | "
        f"{run.milliseconds:.1f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="What early stopping saves.")
    parser.add_argument("--pairs", type=int, default=20, help="candidate pairs on the platform")
    given = parser.parse_args()
    stop_by_rule(4_000)
    print()
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"DATA_DIR": folder, "DJANGO_SETTINGS_MODULE": "config.settings"}
        os.environ.pop("DATABASE_URL", None)
        import django
        from django.core.management import call_command

        django.setup()
        call_command("migrate", verbosity=0)
        run_on_platform(given.pairs)


if __name__ == "__main__":
    main()
