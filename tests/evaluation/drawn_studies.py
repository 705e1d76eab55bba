"""Small random studies, by every door: written by hand, imported, or answered by a simulated crowd."""

import itertools
import json
import random
from io import StringIO
from pathlib import Path
from typing import Any

from django.core.management import call_command

from annotation.models import Judgment, Worker
from annotation.quality.exclusions import exclude_worker
from contrib.rehearsals.simulation.crowd import RehearsalCrowd
from contrib.rehearsals.simulation.run import rehearse
from judgments.models import Dataset, Output, Study, System
from judgments.studies.studies import find_study
from tests.annotation import casting
from tests.evaluation.studies import StudyOf, candidate, make_dataset

PROTOCOLS = ("pairwise", "triplet", "graded", "relevance", "slider")
WORDS = ("a", "dog", "cat", "runs", "sleeps", "on", "the", "grass", "chair", "brown", "small", "car", "hill")
SYSTEMS = ("alpha", "beta", "gamma")
ANSWERS = {"graded": (1, 2, 3, 4), "relevance": (0, 1), "slider": (0, 20, 50, 100)}
RIGHT = {"graded": "3-4", "relevance": 1, "slider": "51-100"}


def sentence(draw: random.Random) -> str:
    return " ".join(draw.choices(WORDS, k=draw.randint(2, 6)))


def drawn_study(seed: int, folder: Path) -> Study:
    """One study of the seed; what is rare in use is common here: nobody, one person, ties, exclusions, no checks."""
    draw = random.Random(seed)
    way = draw.choices(("hand", "file", "crowd", "tournament"), (5, 3, 2, 2))[0]
    if way == "tournament":
        return tournament(seed, draw)
    if way == "crowd":
        return simulated_study(seed, draw)
    return imported_study(seed, draw, folder) if way == "file" else answered_study(seed, draw)


def simulated_study(seed: int, draw: random.Random) -> Study:
    dataset = casting.make_dataset(f"d-{seed}", images=draw.randint(4, 6), pictures=False)
    protocol = draw.choice(PROTOCOLS[:4])
    design: dict[str, Any] = {"controls": {"per_hit": draw.choice((0, 1)), "least": draw.choice((1, 20))}}
    if protocol in ("pairwise", "triplet"):
        design["sampling"] = {"pairs": {"MM": draw.randint(1, 3)}, "references": 1}
        add_system(dataset, "captioner-z")
    study = casting.make_study(
        dataset, protocol, opened=False, slug=f"s-{seed}", judgments_per_unit=draw.randint(1, 3), **design
    )
    rehearse(
        study=study,
        crowd=RehearsalCrowd(workers=draw.randint(3, 5), spammers=draw.choice((0.0, 0.5)), seed=seed),
    )
    return find_study(study.slug)


def add_system(dataset: Dataset, name: str) -> None:
    """A further system with a caption for each image."""
    system = System.objects.create(dataset=dataset, name=name)
    for item in dataset.items.order_by("position"):
        caption = candidate(dataset, f"{item.position} things by {name}.")
        Output.objects.create(system=system, item=item, caption=caption)


def votes(draw: random.Random, protocol: str) -> Any:
    """A habit of answering: at random, alike, or each item its own way."""
    values = ANSWERS.get(protocol, (1, 2))
    habit = draw.choice(("any", "alike", "mostly"))
    first = draw.choice(values)
    return lambda own: (
        first
        if habit == "alike"
        else own
        if habit == "mostly" and draw.random() < 0.8
        else draw.choice(values)
    )


def answered_study(seed: int, draw: random.Random) -> Study:
    protocol = draw.choice(PROTOCOLS)
    pairs = protocol in ("pairwise", "triplet")
    few = draw.choice((0, 1, 1, 1, 1))
    items = [f"{number}.jpg" for number in range(draw.randint(1, 6))]
    texts = {item: [sentence(draw) for _ in range(draw.randint(1, 2) * few)] for item in items}
    made = StudyOf(
        make_dataset(f"d-{seed}", texts), protocol, slug=f"s-{seed}", name=f"Study {seed}",
        controls={"per_hit": 1, "threshold": draw.choice((0.5, 0.7)), "least": draw.choice((1, 1, 3, 20))},
    )  # fmt: skip
    kinds = draw.sample(("HC", "HI", "HM", "MM"), draw.choice((1, 1, 2)))
    several = draw.choice((1, 2, 3, 3, 3)) if pairs else draw.randint(1, 3)
    systems = [System.objects.create(dataset=made.dataset, name=name) for name in SYSTEMS[:several]]
    units = []
    more = draw.choice((1, 2, 3)) if pairs else 1
    for number, item in enumerate(items * more):
        one, other = (f"{sentence(draw)} {number} {side}" for side in "ab")
        credited = [draw.choice(systems) for _ in "ab"]
        if pairs:
            named: dict[str, Any] = dict(zip(("first_system", "second_system"), credited, strict=True))
            pair = made.pair(f"p{number}", item, one, other, kind=draw.choice(kinds), **named)
            units += [made.unit(f"u{number}-{part}", pair=pair) for part in range(draw.choice((1, 1, 2)))]
        else:
            units += [
                made.unit(f"u{number}-{side}", item, first=text) for side, text in (("a", one), ("b", other))
            ]
        ranks = itertools.count(1 + 2 * (number // len(items)))
        for rank, system, text in zip(ranks, credited, (one, other), strict=False):
            row, caption = made.dataset.items.get(name=item), candidate(made.dataset, text)
            Output.objects.create(system=system, item=row, caption=caption, rank=rank)
    control = {"first": "a right one", "control": True, "expected": 1 if pairs else RIGHT[protocol]}
    controls = [made.unit(f"c{number}", items[0], **control) for number in range(draw.choice((0, 1, 3)))]
    size = draw.randint(1, len(units))
    people = [f"p{seed}-{number}" for number in range(draw.choice((0, 1, 2, 2, 3, 4, 5)))]
    hits = [
        made.hit(f"h{start}", [*units[start : start + size], *controls], required=max(len(people), 1))
        for start in range(0, len(units), size)
    ]
    truth = [draw.choice(ANSWERS.get(protocol, (1, 2))) for _ in units]
    for person in people:
        vote, careless = votes(draw, protocol), draw.random() < 0.3
        for number, hit in enumerate(hits):
            if draw.random() < 0.2:
                continue
            said = [vote(own) for own in truth[number * size : (number + 1) * size]]
            checks = [0 if careless and draw.random() < 0.8 else 1 for _ in controls]
            wrong, right = (2, 1) if pairs else (min(ANSWERS[protocol]), max(ANSWERS[protocol]))
            said += [right if one else wrong for one in checks]
            sides = [draw.choice(("first-left", "second-left")) for _ in said] if pairs else []
            made.answer(
                hit, person, said, presented=sides, set_aside=draw.random() < 0.1,
                seconds=[draw.choice((2.0, 5.0, None)) for _ in said], minutes=draw.randint(1, 90),
            )  # fmt: skip
    out = people if draw.random() < 0.1 else [person for person in people if draw.random() < 0.15]
    for worker in Worker.objects.filter(name__in=out, assignments__study=made.study).distinct():
        exclude_worker(study=made.study, worker=worker, why="careless", rule=draw.choice(("", "pace")))
    return made.study


def tournament(seed: int, draw: random.Random) -> Study:
    """Three systems that met on each item twice or more, as they hardly do in other studies."""
    items = [f"{number}.jpg" for number in range(draw.randint(1, 8))]
    made = StudyOf(
        make_dataset(f"d-{seed}", {item: [sentence(draw)] for item in items}), "pairwise", slug=f"s-{seed}"
    )
    systems = [System.objects.create(dataset=made.dataset, name=name) for name in SYSTEMS]
    units, second_is_later = [], []
    for number, item in enumerate(items * draw.choice((2, 3))):
        one, other = (f"{sentence(draw)} {number} {side}" for side in "ab")
        met: dict[str, Any] = dict(
            zip(("first_system", "second_system"), draw.sample(systems, 2), strict=True)
        )
        second_is_later.append(met["first_system"].name < met["second_system"].name)
        units.append(made.unit(f"u{number}", pair=made.pair(f"p{number}", item, one, other, **met)))
        ranks = itertools.count(1 + 2 * (number // len(items)))
        for rank, system, text in zip(ranks, met.values(), (one, other), strict=False):
            row, caption = made.dataset.items.get(name=item), candidate(made.dataset, text)
            Output.objects.create(system=system, item=row, caption=caption, rank=rank)
    people = [f"p{seed}-{number}" for number in range(draw.randint(1, 7))]
    hit = made.hit("h", units, required=len(people))
    better = draw.choice((0.5, 0.6, 0.75))  # how often people choose the system of the later name
    for person in people:
        said = [1 + (later == (draw.random() < better)) for later in second_is_later]
        sides = [draw.choice(("first-left", "second-left")) for _ in said]
        made.answer(hit, person, said, presented=sides)
    return made.study


def imported_study(seed: int, draw: random.Random, folder: Path) -> Study:
    protocol = draw.choice(PROTOCOLS[:4])
    pairs = protocol in ("pairwise", "triplet")
    few = draw.choice((0, 1, 1, 1))
    items = [f"{number}.jpg" for number in range(draw.randint(1, 5))]
    texts = {item: [sentence(draw) for _ in range(2 * few or int(protocol == "triplet"))] for item in items}
    dataset = make_dataset(f"d-{seed}", texts)
    people = [f"p{number}" for number in range(draw.randint(1, 4))]
    rows: list[dict[str, Any]] = []
    for number, item in enumerate(items):
        vote = votes(draw, protocol)
        own = draw.choice(ANSWERS.get(protocol, (1, 2)))
        one, other = (f"{sentence(draw)} {number} {side}" for side in "ab")
        for side, text in (("a", one), ("b", other)):
            row: dict[str, Any] = {"image": item, "first_text": text, "unit": f"u{number}{side}"}
            if pairs:
                row |= {"unit": f"u{number}", "second_text": other, "first_text": one, "kind": "HM"}
                row |= {"pair": f"p{number}"} | (
                    {"reference_text": texts[item][0]} if protocol == "triplet" else {}
                )
                if side == "b":
                    continue
            rows += [
                row
                | {"protocol": protocol, "worker": person, "value": vote(own), "used": draw.random() < 0.95}
                for person in people
                if draw.random() < 0.8 or (not rows and person == people[0])
            ]
    path = folder / f"{seed}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    options = {"workers": "anonymous"} if draw.random() < 0.4 else {}
    call_command(
        "import_judgments",
        "jsonl",
        path,
        dataset=dataset.name,
        study=f"s-{seed}",
        stdout=StringIO(),
        **options,
    )
    assert Judgment.objects.filter(assignment__study__slug=f"s-{seed}").count() == len(rows)
    return find_study(f"s-{seed}")
