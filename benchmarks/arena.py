"""Simulate adaptive sampling of pairs: bias and coverage with and without weights, and the time to draw a page.

    python -m benchmarks.arena [--runs 100] [--pages 400] [--judgments 1000000] [--systems 5]

Systems differ by item, and people differ in taste. "Even" draws all pairs of systems with the same chance, and "live"
draws them as an arena does.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
import uuid
from itertools import combinations

import numpy as np

from benchmarks.export import set_up
from quorum.numeric.arrays import Floats
from quorum.statistics.aggregation import preference_strengths
from quorum.statistics.drawing import PairDraws, prior_strengths

SYSTEMS, ITEMS, PEOPLE, PAGE = 5, 60, 30, 5
PAIRS = np.array(list(combinations(range(SYSTEMS), 2)))
LADDER = np.array([1.0, 0.5, 0.4, -0.3, -1.6])  # strengths, of which two are hard to distinguish
TIE = 0.6  # Davidson's nu
# numbers added to the difference of some pairs, so that no strengths have these chances
TWISTED_DIFFERENCES = {(0, 4): -2.0, (1, 2): 1.2, (2, 3): -1.0}


def _strength_differences(twisted: bool) -> Floats:
    found = LADDER[PAIRS[:, 0]] - LADDER[PAIRS[:, 1]]
    if twisted:
        for place, pair in enumerate(map(tuple, PAIRS.tolist())):
            found[place] += TWISTED_DIFFERENCES.get(pair, 0.0)
    return found


def _chances(difference: Floats) -> Floats:
    """Return (N, 3) chances that the second wins, that there is a tie, and that the first wins."""
    weights = np.stack(
        [np.exp(-difference / 2), np.full_like(difference, TIE), np.exp(difference / 2)], axis=-1
    )
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def _strengths(rows: list[tuple[int, ...]], weights: Floats | None = None) -> tuple[Floats, Floats, Floats]:
    pair, answer, item, person = np.array(rows).T
    found = preference_strengths(
        PAIRS[pair, 0], PAIRS[pair, 1], answer - 1, weights=weights, clusters={"item": item, "rater": person}
    )
    return found.log_strength, found.low, found.high


def one_run(differences: Floats, seed: int, pages: int, even: float) -> tuple[list[tuple[int, ...]], Floats]:
    """Simulate a study. Return (pair, answer, item, person) of each judgment, and the chances of the judged pairs."""
    rng = np.random.default_rng(seed)
    of_item = rng.normal(0, 0.6, (ITEMS, SYSTEMS))
    of_person = rng.normal(0, 0.3, (PEOPLE, SYSTEMS))
    counts = np.zeros((len(PAIRS), 3))
    rows: list[tuple[int, ...]] = []
    chances: list[float] = []
    for _ in range(pages):
        theta = prior_strengths(PAIRS[:, 0], PAIRS[:, 1], counts[:, ::-1], items=SYSTEMS)
        drawing = PairDraws.from_comparisons(PAIRS[:, 0], PAIRS[:, 1], counts.sum(axis=1), theta, even=even)
        person = int(rng.integers(PEOPLE))
        for _ in range(PAGE):
            pair, chance = drawing.draw(np.ones(len(PAIRS), dtype=bool), rng)
            item = int(rng.integers(ITEMS))
            own = of_item[item] + of_person[person]
            difference = differences[pair] + own[PAIRS[pair, 0]] - own[PAIRS[pair, 1]]
            answer = int(rng.choice(3, p=_chances(np.array(difference))))
            rows.append((pair, answer, item, person))
            chances.append(chance)
        answered = np.array(rows[-PAGE:])
        np.add.at(counts, (answered[:, 0], answered[:, 1]), 1)
    return rows, np.array(chances, dtype=np.float64)


def _target(differences: Floats) -> Floats:
    """Return the strengths that a study of infinite size with equally probable pairs would give."""
    rng = np.random.default_rng(0)
    spread = rng.normal(0, np.sqrt(2 * (0.6**2 + 0.3**2)), 200_000)
    table = np.array([_chances(one + spread).mean(axis=0) for one in differences])
    first, second = np.repeat(PAIRS[:, 0], 3), np.repeat(PAIRS[:, 1], 3)
    answers = np.tile([-1, 0, 1], len(PAIRS))
    return preference_strengths(first, second, answers, weights=table.ravel()).log_strength


def simulate_arena(runs: int, pages: int, even: float = 0.2) -> None:
    for name, twisted in (("strengths hold", False), ("no strengths hold", True)):
        differences = _strength_differences(twisted)
        target = _target(differences)
        strengths_by_draw: dict[str, list[tuple[Floats, Floats, Floats]]] = {
            "even": [],
            "live": [],
            "live, weighted": [],
        }
        for seed in range(runs):
            strengths_by_draw["even"].append(_strengths(one_run(differences, seed, pages, 1.0)[0]))
            rows, chances = one_run(differences, seed, pages, even)
            strengths_by_draw["live"].append(_strengths(rows))
            strengths_by_draw["live, weighted"].append(_strengths(rows, (1 / chances) / (1 / chances).mean()))
        print(f"{name}: {runs} runs of {pages * PAGE:,} judgments, {SYSTEMS} systems")
        for words, results in strengths_by_draw.items():
            values, lows, highs = map(np.array, zip(*results, strict=True))
            bias = np.abs(values.mean(axis=0) - target).max()
            covered = ((lows <= target) & (target <= highs)).mean()
            close = (values[:, 1] - values[:, 2]).std()
            print(f"  {words:15} largest bias {bias:.3f}, coverage {100 * covered:.1f} %, ", end="")
            print(f"standard error {values.std(axis=0).mean():.3f}, of the closest two {close:.3f}")


def print_draw_time(
    judgments: int, systems: int, items: int = 400, workers: int = 5000, draws: int = 200
) -> None:
    """Fill an arena in a new SQLite database, and measure the processor time of drawing the next pages.

    Answers are counted by pair of systems, as submissions count them. All pages that were taken are in the database
    with their judgments, because a draw reads the worker's earlier pages.
    """
    with tempfile.TemporaryDirectory() as folder:
        os.environ["DATA_DIR"] = folder
        set_up()
        from django.core.management import call_command
        from django.db import transaction
        from django.utils import timezone

        from annotation.models import Assignment, Judgment, Participation, Worker
        from annotation.work import claims, system_pairs
        from common.rows.writing import insert_rows
        from contrib.arena.drawing import draw_missing_units
        from judgments.design.reading.checking import make_design
        from judgments.models import HIT, Caption, Dataset, DrawState, HITUnit, Item, Output, System
        from judgments.studies.generation.hits import generate_hits
        from judgments.studies.studies import create_study, mark_open

        call_command("migrate", verbosity=0)
        taken, rng = judgments // 10, np.random.default_rng(0)
        dataset = Dataset.objects.create(
            name="large", source_format="jsonl", fingerprint="", sharing="installation"
        )
        made = [
            System.objects.create(dataset=dataset, name=f"system-{number:03}") for number in range(systems)
        ]
        Item.objects.bulk_create(Item(dataset=dataset, name=f"{one}", position=one) for one in range(items))
        transaction.set_autocommit(False)  # no commit after each step, because a commit waits for the disk
        for item in Item.objects.filter(dataset=dataset):
            Caption.objects.create(
                dataset=dataset, item=item, key=f"{item.name}#0", text="A dog .", role="reference"
            )
            captions = [
                Caption(
                    dataset=dataset,
                    key=f"c-{one.name}-{item.name}",
                    text=f"{one.name} {item.name}",
                    role="candidate",
                )
                for one in made
            ]
            Caption.objects.bulk_create(captions)
            Output.objects.bulk_create(
                Output(system=one, item=item, caption=caption)
                for one, caption in zip(made, captions, strict=True)
            )
        values = {"name": "arena", "dataset": "large", "protocol": "pairwise", "units_per_hit": 10}
        design = make_design(values | {"judgments_per_unit": 1, "arena": {"pages": taken + 2 * draws}})
        study = create_study(design=design)
        generate_hits(study=study)
        mark_open(study=study)
        people = Worker.objects.bulk_create(Worker(name=f"w-{one:04}") for one in range(workers))
        Participation.objects.bulk_create(Participation(study=study, worker=one) for one in people)
        hits = list(HIT.objects.filter(study=study).order_by("position").values_list("pk", flat=True))[:taken]
        units = np.array(study.units.filter(control=False).values_list("pk", flat=True))
        state = DrawState.objects.create(study=study, number=0, answers=0, counts=[], strengths=[])
        now, size = timezone.now(), 10
        drawn = [rng.choice(units, size, replace=False).tolist() for _ in hits]
        insert_rows(
            HITUnit,
            ("hit_id", "unit_id", "position", "chance"),
            (
                (hit, unit, at, 0.1)
                for hit, own in zip(hits, drawn, strict=True)
                for at, unit in enumerate(own, 1)
            ),
        )
        HIT.objects.filter(pk__in=HIT.objects.filter(study=study, position__lt=taken).values("pk")).update(
            open_slots=0, drawn_from=state, version=1
        )
        keys = [uuid.uuid4() for _ in hits]
        insert_rows(
            Assignment,
            ("id", "study_id", "hit_id", "worker_id", "state", "accepted_at", "submitted_at", "expires_at"),
            (
                (key, study.pk, hit, people[at % workers].pk, "submitted", now, now, now)
                for at, (key, hit) in enumerate(zip(keys, hits, strict=True))
            ),
        )
        insert_rows(
            Judgment,
            ("assignment_id", "unit_id", "value", "made_at"),
            ((key, unit, 1 + unit % 2, now) for key, own in zip(keys, drawn, strict=True) for unit in own),
        )
        DrawState.objects.filter(study=study).update(number=1)
        system_pairs.recount_system_pairs(study)
        study.draw_states.model.objects.create(
            study=study,
            number=2,
            answers=judgments,
            counts=[
                list(row)
                for row in study.system_pairs.order_by("position").values_list("wins", "ties", "losses")
            ],
            strengths=np.linspace(-1, 1, systems).tolist(),
        )
        transaction.commit()
        transaction.set_autocommit(True)
        whole, alone, submitted = [], [], []
        for number in range(draws):
            worker = people[number % workers]
            start = time.process_time()
            claim = claims.claim_assignment(study=study, worker=worker)
            whole.append(time.process_time() - start)
            assert claim is not None
            hit = HIT.objects.filter(study=study, drawn_from=None).order_by("-position")[0]
            start = time.process_time()
            with transaction.atomic():
                draw_missing_units(study=study, hit=hit, worker=worker, own_captions=())
            alone.append(time.process_time() - start)
            start = time.process_time()
            with transaction.atomic():
                system_pairs.count_answers_to_pairs(
                    study=study, answers=[(page_unit.unit, 1) for page_unit in claim.page_units]
                )
            submitted.append(time.process_time() - start)
        words = f"{judgments:,} judgments, {systems} systems, {len(units):,} units"
        for name, times in (("page drawn", alone), ("page claimed", whole), ("answers counted", submitted)):
            low, high = 1000 * np.quantile(times, [0.5, 0.95])
            print(
                f"{words}: {name} in {low:.1f} ms of processor ({high:.1f} ms at the 95th percentile)",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--pages", type=int, default=400)
    parser.add_argument("--judgments", type=int, default=1_000_000)
    parser.add_argument("--systems", type=int, default=5)
    options = parser.parse_args()
    if options.judgments:
        print_draw_time(options.judgments, options.systems)
    if options.runs:
        simulate_arena(options.runs, options.pages)


if __name__ == "__main__":
    main()
