"""Studies of caption writing, and people who write in them."""

from typing import Any

from annotation.models import Assignment, Worker
from annotation.work.claims import claim_assignment
from annotation.work.submissions import submit_assignment
from judgments.models import Study
from judgments.studies.studies import mark_closed
from tests.annotation.casting import joined, make_dataset, make_study
from tests.annotation.leasing import claimed

COLOURS = ("red", "orange", "yellow", "green", "teal", "navy", "purple", "brown")
BOTH = {"record": True, "hidden_line": True}
TEXTS = (
    "A brown dog runs through a field of tall dry grass",
    "Two girls in red coats wait beside an old blue bus",
    "The cook in the white hat turns a pancake in the air",
)
PASTED = {"pasted": 50, "text": 50, "from_paste": 50, "pastes": 1, "keys": 0}


def writing_study(*, images: int = 6, writers: int = 2, **values: Any) -> Study:
    """An open study in which ``writers`` different people write about each of ``images`` images."""
    dataset = make_dataset(values.pop("dataset_name", "shapes"), images=images + 2, pictures=False)
    return make_study(
        dataset, "caption", judgments_per_unit=writers, units_per_hit=3, controls={"per_hit": 0}, **values
    )


def caption_by(worker: Worker, image: str) -> str:
    """A caption of its own for each writer and image."""
    number = int("".join(sign for sign in image if sign.isdigit()))
    return f"A {COLOURS[number % 8]} shape number {number} is seen by {worker.name} from afar."


def write_all(study: Study, name: str, **values: Any) -> Worker:
    """The person joins and writes about every image they are given."""
    person = joined(study, name, **values)
    while claim := claim_assignment(study=study, worker=person.worker):
        answers = [
            {"position": place.position, "answer": caption_by(person.worker, place.unit.item.name)}
            for place in claim.page_units
        ]
        submit_assignment(assignment=claim.assignment, answers=answers)
    return person.worker


def written_study(*names: str, **values: Any) -> Study:
    """A closed study with a caption of each person for each image."""
    study = writing_study(writers=len(names), **values)
    for name in names:
        write_all(study, name)
    return mark_closed(study=study)


def write(
    study: Study, worker: Worker, texts: tuple[str, ...] = TEXTS, signals: dict[str, int] | None = None
) -> Assignment:
    """The person writes these texts on a page, with these counts of each."""
    claim = claimed(study, worker)
    answers = [
        {"position": place, "answer": text, **({"signals": signals} if signals else {})}
        for place, text in enumerate(texts, start=1)
    ]
    return submit_assignment(assignment=claim.assignment, answers=answers).assignment
