"""A small dataset with real pictures, studies of it in any state, and a browser per person."""

import io
from dataclasses import dataclass
from functools import cache
from itertools import cycle
from typing import Any

from django.core.files.base import ContentFile
from django.test import Client
from PIL import Image

from annotation.models import Participation, Worker
from annotation.views.visitors import WORKER_COOKIE
from annotation.work.joining import join_study
from judgments.design.reading.checking import make_design
from judgments.models import Caption, Dataset, Item, Output, Study, System
from judgments.studies.generation.hits import generate_hits
from judgments.studies.studies import create_study, mark_open

COLOURS = ("red", "orange", "yellow", "green", "teal", "navy", "purple", "brown")


@cache
def picture_bytes(colour: str = "navy", size: tuple[int, int] = (320, 240)) -> bytes:
    """A small JPEG."""
    stream = io.BytesIO()
    Image.new("RGB", size, colour).save(stream, "JPEG")
    return stream.getvalue()


def make_dataset(name: str = "shapes", *, images: int = 8, pictures: bool = True) -> Dataset:
    """``images`` images with five references each, the last two of them in the split of control items, and two
    systems with a caption for each image."""
    dataset = Dataset.objects.create(
        name=name, source_format="jsonl", fingerprint="0" * 64, sharing="installation"
    )
    systems = System.objects.bulk_create(
        System(dataset=dataset, name=f"captioner-{letter}") for letter in "xy"
    )
    items = [
        Item(
            dataset=dataset,
            name=f"secret-file-{number:02}.jpg",
            position=number,
            split="dev" if number >= images - 2 else "test",
        )
        for number in range(images)
    ]
    if pictures:
        for item, colour in zip(items, cycle(COLOURS), strict=False):
            item.picture.save(item.name, ContentFile(picture_bytes(colour)), save=False)
    Item.objects.bulk_create(items)
    captions, outputs = [], []
    for number, (item, colour) in enumerate(zip(items, cycle(COLOURS), strict=False)):
        captions += [
            Caption(
                dataset=dataset,
                item=item,
                key=f"capkey-{number}-{index}",
                text=f"Person {index} says that shape number {number} is {colour}.",
                role=Caption.Role.REFERENCE,
                position=index,
            )
            for index in range(5)
        ]
        for system in systems:
            caption = Caption(
                dataset=dataset,
                key=f"candkey-{number}-{system.name}",
                text=f"A {colour} shape, numbered {number}, as seen {len(system.name) * ('x' in system.name)}.",
                role=Caption.Role.CANDIDATE,
            )
            captions.append(caption)
            outputs.append(Output(system=system, item=item, caption=caption))
    Caption.objects.bulk_create(captions)
    Output.objects.bulk_create(outputs)
    return dataset


def make_study(dataset: Dataset, protocol: str = "triplet", *, opened: bool = True, **values: Any) -> Study:
    """A generated study of the dataset with small HITs; ``values`` are keys of the study file."""
    wanted: dict[str, Any] = {
        "name": f"Shapes by {protocol}",
        "dataset": dataset.name,
        "protocol": protocol,
        "seed": 7,
        "judgments_per_unit": 2,
        "units_per_hit": 4,
        "images_per_hit": 3,
        "captions_per_image": 4,
        "sampling": {"pairs": {"MM": 6}, "references": 2} if protocol in ("triplet", "pairwise") else {},
        "controls": {"per_hit": 1},
    }
    study = create_study(design=make_design(wanted | values))
    generate_hits(study=study)
    return mark_open(study=study) if opened else study


@dataclass
class Person:
    """Somebody with a browser."""

    client: Client
    worker: Worker
    participation: Participation
    token: str
    resume: str


def joined(study: Study, name: str = "ada", **values: Any) -> Person:
    """A person who joined the study, with the cookie in their browser."""
    found = join_study(study=study, name=name, **values)
    client = Client()
    client.cookies[WORKER_COOKIE] = found.token
    return Person(client, found.worker, found.participation, found.token, found.resume or "")


def with_person(study: Study, name: str = "ada") -> tuple[Study, Person]:
    return study, joined(study, name)
