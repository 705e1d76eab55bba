"""mt-metrics-eval's folder: read back as its README describes the files, and compared with the study."""

import zipfile
from collections import defaultdict
from pathlib import Path

import pytest

from evaluation.data.export.exporting import export_judgments
from evaluation.data.export.formats import formats_for
from evaluation.errors import ExportError
from judgments.models import Caption, Item, Output, System
from quorum.metrics import score
from tests.evaluation.studies import StudyOf, candidate, make_dataset

pytestmark = pytest.mark.django_db
REFERENCES = {
    "b oat.jpg": ["a boat on the sea", "a ship sails"],
    "a.jpg": ["a dog runs", "a dog\nplays outside"],
    "c.jpg": ["a red car"],
}
CAPTIONS = {
    "good one": {"b oat.jpg": "a boat", "a.jpg": "a dog runs", "c.jpg": "a red car"},
    "v1.5/b": {"b oat.jpg": "a house", "a.jpg": "a dog runs", "c.jpg": "a blue bus"},
    "ref1": {"b oat.jpg": "a cat", "a.jpg": "a tree"},
    "unjudged": {"a.jpg": "nothing"},
}
NAMES = ["good_one", "ref1_2", "v1.5_b"]


class Reader:
    """A test set as the README says its files are read; wrong lengths and names fail."""

    def __init__(self, folder: Path, languages: str) -> None:
        self.folder, self.languages = folder, languages
        self.sources = self.lines("sources", f"{languages}.txt")
        documents = [line.split() for line in self.lines("documents", f"{languages}.docs")]
        self.domains = [domain for domain, _ in documents]
        self.documents = [name for _, name in documents]
        self.references = {
            path.name.split(".")[-2]: self.texts(path)
            for path in (folder / "references").glob(f"{languages}.*.*")
        }
        assert all("-" not in name and name not in ("all", "src") for name in self.references)
        assert self.references  # a set's standard reference is one of them
        self.outputs = {
            path.name.removesuffix(path.suffix): self.texts(path)
            for path in (folder / "system-outputs" / languages).glob("*.*")
        }
        columns = [*self.references.values(), *self.outputs.values()]
        assert {len(self.documents), *(len(one) for one in columns)} == {len(self.sources)}

    def lines(self, *place: str) -> list[str]:
        with self.folder.joinpath(*place).open() as file:
            return [line.rstrip() for line in file]

    def texts(self, path: Path) -> list[str | None]:
        with path.open() as file:
            return [None if line.rstrip() == "[No translation supplied]" else line.rstrip() for line in file]

    def scores(self, *place: str) -> dict[str, list[float | None]]:
        found: defaultdict[str, list[float | None]] = defaultdict(list)
        for line in self.lines(*place):
            system, value = line.split()
            found[system].append(None if value == "None" else float(value))
        long = len(self.sources) if ".seg." in place[-1] else 1
        assert set(found) <= set(self.outputs)
        assert {len(one) for one in found.values()} == {long}
        return dict(found)

    def people(self, name: str, level: str) -> dict[str, list[float | None]]:
        return self.scores("human-scores", f"{self.languages}.{name}.{level}.score")

    def metric(self, name: str, level: str) -> dict[str, list[float | None]]:
        found = self.scores("metric-scores", self.languages, f"{name}-all.{level}.score")
        assert set(found) == set(self.outputs)
        assert not any(None in one for one in found.values())
        return found


def made(protocol: str) -> StudyOf:
    study = StudyOf(make_dataset("toy", REFERENCES, split="test"), protocol)
    for name, captions in CAPTIONS.items():
        system = System.objects.create(dataset=study.dataset, name=name)
        for image, text in captions.items():
            item = Item.objects.get(dataset=study.dataset, name=image)
            Output.objects.create(system=system, item=item, caption=candidate(study.dataset, text))
    return study


def read(study: StudyOf, folder: Path) -> tuple[Reader, dict[str, int]]:
    made = export_judgments(study=study.study, format="mtme", output=folder / "out.zip")
    with zipfile.ZipFile(folder / "out.zip") as archive:
        archive.extractall(folder / "read")
    return Reader(folder / "read" / study.study.slug, "img-en"), made.manifest["counts"]


@pytest.fixture
def graded() -> StudyOf:
    """Five captions on three images, one of two systems; one grade is on a caption of no system of its image."""
    study = made("graded")
    shown = [("b oat.jpg", "a boat"), ("b oat.jpg", "a house"), ("a.jpg", "a dog runs"), ("c.jpg", "a red car"),
             ("a.jpg", "a tree"), ("c.jpg", "a boat")]  # fmt: skip
    hit = study.hit("h1", [study.unit(f"u{n}", image, first=text) for n, (image, text) in enumerate(shown)])
    study.answer(hit, "alma", [4, 1, 3, 4, 1, 1])
    study.answer(hit, "bela", [3, 2, 4, 4, 1, 1])
    return study


def test_a_graded_study_comes_back_as_systems_and_mean_grades(graded: StudyOf, tmp_path: Path) -> None:
    found, counts = read(graded, tmp_path)
    assert found.sources == ["b oat.jpg", "a.jpg", "c.jpg"]
    assert found.documents == ["b_oat.jpg", "a.jpg", "c.jpg"]
    assert found.domains == ["test"] * 3
    assert found.references == {
        "ref1": ["a boat on the sea", "a dog runs", "a red car"],
        "ref2": ["a ship sails", "a dog plays outside", None],
    }
    assert found.outputs == {
        "good_one": ["a boat", "a dog runs", "a red car"],
        "v1.5_b": ["a house", "a dog runs", "a blue bus"],
        "ref1_2": ["a cat", "a tree", None],
    }
    assert found.people("graded", "seg") == {
        "good_one": [3.5, 3.5, 4.0], "ref1_2": [None, 1.0, None], "v1.5_b": [1.5, 3.5, None],
    }  # fmt: skip
    assert found.people("graded", "sys") == {
        "good_one": [pytest.approx(11 / 3)], "ref1_2": [1.0], "v1.5_b": [2.5],
    }  # fmt: skip
    assert counts == {"systems": 3, "segments": 3, "references": 2, "scored": 6, "left_out": 2}


def test_metrics_are_those_that_score_gives(graded: StudyOf, tmp_path: Path) -> None:
    found, _ = read(graded, tmp_path)
    references = [["a boat on the sea", "a ship sails"], ["a dog runs", "a dog plays outside"], ["a red car"]]
    ours = score(["a boat", "a dog runs", "a red car"], references, ["cider-d", "bleu-4"]).scores
    for name, one in ours.items():
        assert found.metric(name, "seg")["good_one"] == one.images.tolist()
        assert found.metric(name, "sys")["good_one"] == [one.corpus]
    two = score(["a cat", "a tree"], references[:2], ["cider-d"], document_corpus=references)
    assert found.metric("cider-d", "seg")["ref1_2"] == [*two.scores["cider-d"].images.tolist(), 0.0]


@pytest.mark.parametrize("protocol", ["pairwise", "triplet"])
def test_a_compared_caption_has_the_share_of_its_votes(protocol: str, tmp_path: Path) -> None:
    study = made(protocol)
    systems = {system.name: system for system in System.objects.all()}
    good, other, last = systems["good one"], systems["v1.5/b"], systems["ref1"]
    pairs = [
        study.pair("p1", "b oat.jpg", "a boat", "a house", first_system=good, second_system=other),
        study.pair("p2", "b oat.jpg", "a cat", "a boat", first_system=last, second_system=good),
        study.pair("p3", "c.jpg", "a red car", "of people", first_system=good),
        study.pair("p4", "c.jpg", "new", "a red car", first_system=last, second_system=good),
    ]
    hit = study.hit("h1", [study.unit(f"u{n}", pair=pair) for n, pair in enumerate(pairs)])
    for worker, given in {"alma": [1, 2, 1, 1], "bela": [1, 1, 2, 1], "clara": [2, 2, 1, 2]}.items():
        study.answer(hit, worker, given)
    found, counts = read(study, tmp_path)
    assert found.sources == ["b oat.jpg", "c.jpg"]
    assert found.outputs["ref1_2"] == ["a cat", "new"]  # as the pair shows it
    assert found.people(protocol, "seg") == {
        "good_one": [pytest.approx(4 / 6), pytest.approx(3 / 6)],
        "ref1_2": [pytest.approx(1 / 3), pytest.approx(2 / 3)],
        "v1.5_b": [pytest.approx(1 / 3), None],
    }
    assert found.people(protocol, "sys")["v1.5_b"] == [pytest.approx(1 / 3)]
    assert counts["left_out"] == 3  # people's caption


@pytest.mark.parametrize("protocol", ["relevance", "slider"])
def test_the_other_kinds_have_means(protocol: str, tmp_path: Path) -> None:
    study = made(protocol)
    hit = study.hit("h1", [study.unit("u1", "a.jpg", first="a dog runs")])
    for worker, given in {"alma": 1, "bela": 0, "clara": 1}.items():
        study.answer(hit, worker, [given])
    found, _ = read(study, tmp_path)
    assert found.people(protocol, "sys") == {
        "good_one": [pytest.approx(2 / 3)], "v1.5_b": [pytest.approx(2 / 3)],
    }  # fmt: skip


def test_what_does_not_fit_is_said_in_a_sentence(tmp_path: Path) -> None:
    dataset = make_dataset("toy", {"a.jpg": ["a dog"], "b.jpg": []})
    graded, captions = StudyOf(dataset, "graded"), StudyOf(dataset, "caption")
    assert "mtme" not in [one.name for one in formats_for(graded.study)]
    with pytest.raises(ExportError, match="'toy' has none"):
        export_judgments(study=graded.study, format="mtme", output=tmp_path / "out")
    with pytest.raises(ExportError, match="systems'"):
        export_judgments(study=captions.study, format="mtme", output=tmp_path / "out")
    system = System.objects.create(dataset=dataset, name="one")
    item = Item.objects.get(name="b.jpg")
    Output.objects.create(system=system, item=item, caption=candidate(dataset, "a cat"))
    with pytest.raises(ExportError, match="answer"):
        export_judgments(study=graded.study, format="mtme", output=tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_without_references_people_are_read_back_and_no_metric_is_there(tmp_path: Path) -> None:
    study = made("graded")
    Caption.objects.filter(dataset=study.dataset, role=Caption.Role.REFERENCE).delete()
    shown = [("a.jpg", "a dog runs"), ("c.jpg", "a red car")]
    hit = study.hit("h1", [study.unit(image, image, first=text) for image, text in shown])
    study.answer(hit, "alma", [3, 4])
    found, counts = read(study, tmp_path)
    assert found.references == {"ref1": [None, None]}  # the reader wants one of each set
    assert found.people("graded", "seg") == {"good_one": [3.0, 4.0], "v1.5_b": [3.0, None]}
    assert not (found.folder / "metric-scores").exists()
    assert counts == {"systems": 2, "segments": 2, "references": 0, "scored": 3, "left_out": 0}


@pytest.mark.parametrize(
    ("answers", "means"),
    [
        ([{"best": 1}, {"best": 1}, {"best": 3}], {"good_one": [2 / 3], "ref1_2": [1 / 3], "v1.5_b": [0.0]}),
        (
            [{"best": 1, "worst": 2}, {"best": 1, "worst": 3}, {"best": 3, "worst": 2}],
            {"good_one": [2 / 3], "ref1_2": [0.0], "v1.5_b": [-2 / 3]},
        ),
    ],
)
def test_the_best_of_several_is_the_share_of_its_showings(
    answers: list[dict[str, int]], means: dict[str, list[float]], tmp_path: Path
) -> None:
    study = made("best-worst")
    texts = [CAPTIONS[name]["b oat.jpg"] for name in ("good one", "v1.5/b", "ref1")]
    options = [{"key": candidate(study.dataset, text).key, "text": text} for text in texts]
    options[1]["key"] = "d1"  # an import's own id
    options.append({"key": "d2", "text": "in no dataset"})
    hit = study.hit("h1", [study.unit("u1", "b oat.jpg", content={"options": options})])
    for worker, answer in zip(("alma", "bela", "clara"), answers, strict=True):
        study.answer(hit, worker, [answer])
    found, counts = read(study, tmp_path)
    assert found.people("best-worst", "sys") == {name: pytest.approx(mean) for name, mean in means.items()}
    assert found.people("best-worst", "seg")["good_one"] == [pytest.approx(2 / 3)]
    assert set(found.metric("cider-d", "sys")) == set(NAMES)
    assert (counts["scored"], counts["left_out"]) == (3, 3)
