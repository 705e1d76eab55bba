"""A small study for each export format, in several parts."""

from collections.abc import Sequence
from typing import Any

from annotation.models import Demographics, Judgment, Worker
from evaluation.data.export.formats import FORMATS
from judgments.models import Item, Output, System, Unit
from tests.evaluation.studies import StudyOf, candidate, given, make_dataset

FORMS = tuple(FORMATS)
PROTOCOLS = {"captions": "caption", "keywords": "keywords", "grounding": "grounding", "spans": "spans"}
UNITS_PER_PART = 2
# Nine units, two at a time; before them three people two at a time, or captions, and the units
# are read for the signature; after them three systems singly.
PARTS = dict.fromkeys(FORMS, 5) | {"demographics": 2 + 5, "captions": 5 + 5, "mtme": 5 + 3}
IMAGES = {"a.jpg": ["a dog runs", "a brown dog"], "b.jpg": ["a cat"], "c.jpg": ["a red car", "a car"]}
DESCRIBED: dict[str, Any] = {
    "crowd": {"backend": "external", "reward_cents": 100, "demographics": ["age"]},
    "panel": {"preset": "prolific", "api": True},
}
WORDS = ("dog", "barn", "oak")
BOXES = [
    {"id": "b1", "label": "dog", "box": [0, 0, 9, 9]},
    {"id": "b2", "label": "tree", "box": [5, 5, 20, 20]},
]


def study_for(form: str, dataset: str = "toy") -> StudyOf:
    """Nine units on three images in three HITs, three workers, of whom one revised an answer. Set
    ``parts.UNITS_PER_PART`` to the one here."""
    protocol = PROTOCOLS.get(form, "relevance")
    made = StudyOf(make_dataset(dataset, IMAGES), protocol, **(DESCRIBED if form == "demographics" else {}))
    units = [_unit(made, place) for place in range(9)]
    if protocol == "relevance":
        _systems(made, units)
    hits = [made.hit(f"h{at}", units[3 * at : 3 * at + 3]) for at in range(3)]
    for number, worker in enumerate(("zoe", "bela", "Ärni")):
        for at, hit in enumerate(hits):
            made.answer(hit, worker, [_answer(protocol, 3 * at + place, number) for place in range(3)])
    own = Judgment.objects.filter(assignment__worker__name="zoe", unit=units[8]).get()
    if form == "demographics":
        people = Worker.objects.filter(assignments__study=made.study).order_by("pk").distinct()
        Demographics.objects.bulk_create(
            Demographics(study=made.study, worker=one, answers={"age": "31"}) for one in people
        )
    Judgment.objects.create(
        assignment=own.assignment, unit=own.unit, replaces=own, **given(_answer(protocol, 8, 1))
    )
    return made


def _unit(made: StudyOf, place: int) -> Unit:
    shown: dict[str, dict[str, Any]] = {
        "caption": {},
        "keywords": {"content": {"text": "a dog by an oak at a barn", "collocations": []}},
        "grounding": {"first": "a dog under a tree", "content": {"boxes": BOXES}},
        "relevance": {"first": f"text {place}"},
        "spans": {"first": f"text {place}"},
    }
    return made.unit(f"u{place}", list(IMAGES)[place % 3], **shown[made.study.protocol])


def _answer(protocol: str, place: int, number: int) -> Any:
    if protocol == "caption":
        return f"a caption {place} of {number} – “quoted”"
    if protocol == "keywords":
        return sorted({WORDS[place % 3], WORDS[(place + number) % 3]})
    if protocol == "grounding":
        return [{"word": 1, "box": "b1"}, {"word": 4, "box": f"b{1 + (place + number) % 2}"}]
    if protocol == "spans":
        return {"spans": [{"start": 0, "end": 3 + number % 2, "severity": "minor"}], "score": 10 * place}
    return (place + number) % 2


def _systems(made: StudyOf, units: Sequence[Unit]) -> None:
    """Three systems, each with a caption of each image; the last has none of one image."""
    for number in range(3):
        system = System.objects.create(dataset=made.dataset, name=f"system {number}")
        for place in range(3 * number, 3 * number + 3):
            item = Item.objects.get(dataset=made.dataset, name=list(IMAGES)[place % 3])
            if place < 8:
                caption = candidate(made.dataset, f"text {place}")
                Output.objects.create(system=system, item=item, caption=caption)
