"""Small studies written down by hand: rows as the services store them, answers as people gave them."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from annotation.models import Assignment, Judgment, Worker
from annotation.work.claims import claim_assignment
from annotation.work.submissions import submit_assignment
from judgments.design.reading.checking import make_design
from judgments.drawing.keys import candidate_key
from judgments.models import HIT, CandidatePair, Caption, Dataset, HITUnit, Item, Study, Unit
from judgments.studies.studies import create_study
from tests.annotation.casting import joined, make_study
from tests.annotation.scenes import make_scenes

START = datetime(2026, 1, 1, 10, 0, tzinfo=UTC)


def make_dataset(name: str, images: Mapping[str, Sequence[str]], split: str = "") -> Dataset:
    """Images with their reference captions, keyed ``image#n``."""
    dataset = Dataset.objects.create(
        name=name, source_format="jsonl", fingerprint="0" * 64, sharing="installation"
    )
    items = Item.objects.bulk_create(
        Item(dataset=dataset, name=image, position=position, split=split)
        for position, image in enumerate(images)
    )
    Caption.objects.bulk_create(
        Caption(
            dataset=dataset,
            item=item,
            key=f"{item.name}#{number}",
            text=text,
            position=number,
            role="reference",
        )
        for item in items
        for number, text in enumerate(images[item.name])
    )
    return dataset


def candidate(dataset: Dataset, text: str) -> Caption:
    """A candidate caption, stored once."""
    key = candidate_key(text)
    made = Caption.objects.filter(dataset=dataset, key=key).first()
    return made or Caption.objects.create(dataset=dataset, key=key, text=text, role="candidate")


def given(answer: Any) -> dict[str, Any]:
    """The fields of a judgment that hold an answer."""
    return {"value": answer} if isinstance(answer, int) else {"answer": answer}


class StudyOf:
    """A study with one HIT per call of ``hit``; answers are added per worker and HIT."""

    def __init__(self, dataset: Dataset, protocol: str, *, imported: bool = False, **design: Any) -> None:
        values = {
            "name": f"{dataset.name} {protocol}",
            "dataset": dataset.name,
            "protocol": protocol,
        } | design
        self.dataset = dataset
        if controls := values.get("controls"):  # few items: the rule applies from the first on
            values["controls"] = {"least": 1, **controls}
        self.study = create_study(design=make_design(values))
        self.study.state = Study.State.CLOSED
        if imported:
            self.study.source = Study.Source.IMPORTED
        self.study.save()
        self.units = 0
        self.items: dict[str, Item] = {}

    def item(self, image: str) -> Item:
        if image not in self.items:
            self.items[image] = Item.objects.get(dataset=self.dataset, name=image)
        return self.items[image]

    def pair(
        self, key: str, image: str, first: str, second: str, *, kind: str = "HM", **extra: Any
    ) -> CandidatePair:
        """A candidate pair against all references of its image."""
        item = self.item(image)
        keys = list(Caption.objects.filter(item=item).order_by("position").values_list("key", flat=True))
        return CandidatePair.objects.create(
            study=self.study, key=key, position=self.study.pairs.count(), kind=kind, item=item,
            first=candidate(self.dataset, first), second=candidate(self.dataset, second),
            **{"references": keys, **extra},
        )  # fmt: skip

    def unit(self, key: str, image: str = "", **values: Any) -> Unit:
        """A unit; ``first`` may be a text. Units of a pair take its candidates, image and kind."""
        pair = values.get("pair")
        item = pair.item if pair else self.item(image)
        if pair:
            values = {"first": pair.first, "second": pair.second, "kind": pair.kind, **values}
        if isinstance(values.get("first"), str):
            values["first"] = candidate(self.dataset, values["first"])
        self.units += 1
        return Unit.objects.create(study=self.study, key=key, position=self.units - 1, item=item, **values)

    def hit(self, key: str, units: Sequence[Unit], *, required: int = 3) -> HIT:
        """A HIT that holds ``units`` in this order."""
        hit = HIT.objects.create(
            study=self.study,
            key=key,
            position=self.study.hits.count(),
            required=required,
            open_slots=required,
        )
        HITUnit.objects.bulk_create(
            HITUnit(hit=hit, unit=unit, position=position) for position, unit in enumerate(units, start=1)
        )
        return hit

    def worker(self, name: str, *, anonymous: bool = False) -> Worker:
        """A worker: local, or of the import when anonymous."""
        if anonymous:
            made, _ = Worker.objects.get_or_create(
                name=name, study=self.study, source=Worker.Source.IMPORTED, defaults={"anonymous": True}
            )
        else:
            made, _ = Worker.objects.get_or_create(name=name, source=Worker.Source.LOCAL)
        return made

    def answer(
        self, hit: HIT, name: str, values: Sequence[Any], *, anonymous: bool = False, simulated: bool = False,
        presented: Sequence[str] = (), seconds: Sequence[float | None] = (), set_aside: bool = False,
        minutes: int = 5,
    ) -> Assignment:  # fmt: skip
        """A finished assignment: one answer a unit, in the order of the HIT; what is no whole number is an open one."""
        taken = hit.required - hit.open_slots
        assignment = Assignment.objects.create(
            study=self.study, hit=hit, worker=self.worker(name, anonymous=anonymous), slot=taken,
            state=Assignment.State.SUBMITTED, accepted_at=START, submitted_at=START + timedelta(minutes=minutes),
            simulated=simulated,
        )  # fmt: skip
        hit.open_slots -= 1
        hit.save(update_fields=["open_slots"])
        places = list(hit.places.order_by("position").select_related("unit"))
        Judgment.objects.bulk_create(
            Judgment(
                assignment=assignment, unit=place.unit, set_aside=set_aside, **given(value),
                presented=presented[index] if presented else "",
                seconds=seconds[index] if seconds else None,
            )
            for index, (place, value) in enumerate(zip(places, values, strict=True))
        )  # fmt: skip
        return assignment

    def judge_texts(self, texts: Sequence[str], answers: Mapping[str, Sequence[Any]]) -> None:
        """One HIT of texts of a.jpg, and what each person answers to them."""
        hit = self.hit("h1", [self.unit(f"u{n}", "a.jpg", first=text) for n, text in enumerate(texts)])
        for name, values in answers.items():
            self.answer(hit, name, values)


def answered(study: Study, *given: Any) -> Study:
    """One worker for each of ``given``, who says the same of everything."""
    for number, answer in enumerate(given):
        person = joined(study, f"worker-{number}")
        while (claim := claim_assignment(study=study, worker=person.worker)) is not None:
            answers = [{"position": place.position, "answer": answer} for place in claim.page_units]
            submit_assignment(assignment=claim.assignment, answers=answers)
    return study


def keyword_study() -> Study:
    """Keywords of two images by three people."""
    study = make_study(
        make_scenes(images=4), "keywords", judgments_per_unit=3, controls={"per_hit": 0}, units_per_hit=2
    )
    return answered(study, ["Dog", "barn", "visitors"], ["dog", "oak"], ["dog", "barn", "Red Barn"])


def link_study() -> Study:
    """Links of two captions of each of two images by three people."""
    study = make_study(
        make_scenes(images=4),
        "grounding",
        judgments_per_unit=3,
        controls={"per_hit": 0},
        units_per_hit=4,
    )
    dog, barn, wrong = {"word": 1, "box": "1"}, {"word": 5, "box": "0"}, {"word": 1, "box": "2"}
    return answered(study, [dog, barn], [dog], [wrong, barn])


def pets_judged(images: Mapping[str, Sequence[str]], disagreeing: Sequence[int]) -> StudyOf:
    """Two pairs and a control item judged by w-1, w-2, and w-3, whose answers are the last ones."""
    made = StudyOf(make_dataset("pets", images), "pairwise", controls={"per_hit": 1, "threshold": 0.7})
    one = made.pair("p1", "a.jpg", "A brown dog is running .", "Blue cars ahead", kind="HM")
    two = made.pair("p2", "b.jpg", "A sleeping cat .", "Green hills far away", kind="HM")
    units = [made.unit("u1", pair=one), made.unit("u2", pair=two)]
    control = made.unit("c1", "a.jpg", first="A dog runs", control=True, expected=1)
    hit = made.hit("h1", [*units, control])
    for name, values in (("w-1", [1, 2, 1]), ("w-2", [1, 2, 1]), ("w-3", disagreeing)):
        made.answer(hit, name, values, presented=["first-left"] * 3, seconds=[2.0, 4.0, 9.0])
    return made


def three_pairs(thing: str, ben: Sequence[int]) -> StudyOf:
    """Three pairs of things and cats, judged by ada and ben."""
    made = StudyOf(make_dataset("toy", {"a.jpg": ["a dog runs"]}), "pairwise", controls={"per_hit": 0})
    pairs = [made.pair(f"p{n}", "a.jpg", f"{thing} {n}", f"cat {n}") for n in range(3)]
    hit = made.hit("h", [made.unit(f"u{n}", pair=pair) for n, pair in enumerate(pairs)])
    made.answer(hit, "ada", [1, 2, 1])
    made.answer(hit, "ben", ben)
    return made
