"""Small datasets and studies for tests, made through the services people use."""

from typing import Any

from annotation.models import Assignment, Worker
from annotation.work.claims import claim_assignment
from annotation.work.joining import join_study
from annotation.work.submissions import submit_assignment
from judgments.design.reading.checking import make_design
from judgments.models import Caption, Dataset, Item, Output, Study, System
from judgments.studies.generation.hits import generate_hits
from judgments.studies.studies import create_study, mark_open

# a distinct word per caption, so that a leak of another sentence would be seen
ANIMALS = ("dog", "cat", "horse", "bird", "cow", "sheep", "zebra", "bear", "giraffe", "goat", "fox", "hen")


def make_dataset(
    name: str = "animals", *, images: int = 12, references: int = 4, systems: int = 2
) -> Dataset:
    """Images with references and systems' captions; the second half is the split ``dev``."""
    dataset = Dataset.objects.create(name=name, source_format="jsonl", fingerprint="", sharing="installation")
    rows = System.objects.bulk_create(
        System(dataset=dataset, name=f"system-{number}") for number in range(systems)
    )
    items = Item.objects.bulk_create(
        Item(
            dataset=dataset,
            name=f"{number:03d}.jpg",
            position=number,
            split="test" if number < images / 2 else "dev",
            url=f"https://pictures.example/{number}.jpg",
        )
        for number in range(images)
    )
    captions, outputs = [], []
    for number, item in enumerate(items):
        animal = f"{ANIMALS[number % len(ANIMALS)]} {number}"
        captions += [
            Caption(
                dataset=dataset,
                item=item,
                key=f"{item.name}#{index}",
                text=f"A {animal} seen in way {index} .",
                role="reference",
                position=index,
            )
            for index in range(references)
        ]
        for system in rows:
            text = f"The {animal} as {system.name} says ."
            caption = Caption(dataset=dataset, key=f"c-{system.name}-{number}", text=text, role="candidate")
            captions.append(caption)
            outputs.append(Output(system=system, item=item, caption=caption))
    Caption.objects.bulk_create(captions)
    Output.objects.bulk_create(outputs)
    return dataset


def make_study(protocol: str = "triplet", *, opened: bool = True, **values: Any) -> Study:
    """A generated (and opened) study of the protocol; the dataset ``animals`` is made where it is missing."""
    if not Dataset.objects.filter(name="animals").exists():
        make_dataset()
    all_sizes: dict[str, dict[str, Any]] = {
        "triplet": {"units_per_hit": 5, "sampling": {"pairs": {"HC": 2, "HI": 2, "MM": 2}, "references": 2}},
        "pairwise": {"units_per_hit": 4, "sampling": {"pairs": {"HC": 4, "HI": 4, "MM": 4}}},
        "relevance": {"images_per_hit": 3, "captions_per_image": 4},
        "graded": {"units_per_hit": 4},
        "slider": {"units_per_hit": 6},
        "best-worst": {"units_per_hit": 5},
    }
    sizes = all_sizes.get(protocol, {})
    controls = {"controls": {"per_hit": 1, "least": 1}}
    design = make_design(
        {"name": f"A {protocol} study", "dataset": "animals", "protocol": protocol, "seed": 3}
        | controls
        | sizes
        | values
    )
    study = create_study(design=design)
    if opened:
        generate_hits(study=study)
        mark_open(study=study)
    return study


def make_worker(study: Study, name: str = "w-0007") -> tuple[Worker, dict[str, str]]:
    """A worker who joined, and the headers their client sends."""
    joined = join_study(study=study, name=name, consent=True)
    return joined.worker, {"Authorization": f"Token {joined.token}"}


def with_worker(study: Study, name: str = "w-0007") -> tuple[Study, Worker]:
    return study, make_worker(study, name)[0]


def hand_in(study: Study, name: str = "w-1") -> Assignment:
    """Join as a worker, take a HIT, always choose the first, and submit."""
    worker, _ = make_worker(study, name)
    claim = claim_assignment(study=study, worker=worker)
    assert claim is not None
    assert claim.assignment.hit is not None
    count = claim.assignment.hit.places.count()
    answers = [{"position": number, "value": 1} for number in range(1, count + 1)]
    return submit_assignment(assignment=claim.assignment, answers=answers).assignment
