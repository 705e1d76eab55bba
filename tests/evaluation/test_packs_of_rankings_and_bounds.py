"""The packs of H13, WG16, WG15 and MC12 on small stand-ins for their data."""

import json
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from evaluation.errors import EvaluationError
from evaluation.presentation.content import Estimate
from evaluation.reports.replication.packs import pack_named
from evaluation.reports.replication.running import Replication, run_pack

THINGS, DOING, PLACES = (
    ("dog", "cat", "man", "child"),
    ("runs", "sleeps", "jumps"),
    ("snow", "grass", "water"),
)
SCENES = [" ".join(words) for words in product(THINGS, DOING, PLACES)]


def ran(pack: str, data: Path) -> Replication:
    return run_pack(pack_named(pack), data, lambda share, words: None)


def kinds(replication: Replication) -> dict[str, str]:
    return {verdict.number.id: verdict.kind for verdict in replication.verdicts}


def captions(scene: str, count: int = 5) -> list[str]:
    thing, doing, place = scene.split()
    made = [
        f"A {thing} {doing} in the {place} .",
        f"The {thing} {doing} on {place} .",
        f"{thing} {doing} near white {place}",
        f"One brown {thing} in the {place} .",
        f"A {thing} that {doing}",
    ]
    return [
        f"{text} {'again ' * (place_of // 5)}".strip() for place_of, text in enumerate((made * count)[:count])
    ]


def write_lines(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")


def test_h13_runs_from_the_released_files(tmp_path: Path) -> None:
    folder = tmp_path / "flickr8k"
    folder.mkdir()
    images = [f"{number}.jpg" for number in range(len(SCENES))]
    token = [
        f"{image}#{place}\t{text}"
        for image, scene in zip(images, SCENES, strict=True)
        for place, text in enumerate(captions(scene))
    ]
    (folder / "Flickr8k.token.txt").write_text("\n".join(token))
    for split, own in (("train", images[:2]), ("dev", images[2:4]), ("test", images[4:])):
        (folder / f"Flickr_8k.{split}Images.txt").write_text("\n".join(own))
    experts, crowd = [], []
    for (i, one), (j, other) in product(list(enumerate(SCENES))[4:16], list(enumerate(SCENES))[4:]):
        shared = len({*one.split()} & {*other.split()})
        low = 1 + shared
        experts.append(f"{i}.jpg\t{j}.jpg#2\t{max(1, low - 1)}\t{low}\t{low}")
        yes = {3: 3, 2: 1}.get(shared, 0)
        crowd.append(f"{i}.jpg\t{j}.jpg#2\t{yes / 3:.4f}\t{yes}\t{3 - yes}")
    (folder / "ExpertAnnotations.txt").write_text("\n".join(experts))
    (folder / "CrowdFlowerAnnotations.txt").write_text("\n".join(crowd))
    found = ran("h13", tmp_path)
    by_id = {verdict.number.id: verdict for verdict in found.verdicts}
    assert by_id["crowd/kappa"].ours.value == pytest.approx(1.0)
    assert by_id["table-4/tri5sem/search/s@10"].kind == "not reproducible"
    tables = {table.name: table.rows for section in found.sections for table in section.tables}
    alphas = {what: alpha for what, _, alpha in reversed(tables["h13-alpha"])}
    assert by_id["alpha"].ours.value == alphas["all pairs"]
    assert {"without own captions", *(f"yes from a grade of {cut} on" for cut in (2, 3, 4))} < alphas.keys()
    kappas = [
        row[2].value or 0.0
        for row in tables["h13-kappas-at"]
        if row[0] == "Bleu" and str(row[1]).startswith("caption") and isinstance(row[2], Estimate)
    ]
    kappa = by_id["kappa/bleu/other"].ours
    assert [kappa.value, kappa.low, kappa.high] == pytest.approx([np.mean(kappas), min(kappas), max(kappas)])
    assert len({row[0] for row in tables["h13-filter"]}) == 5
    assert {section.name for section in found.sections} >= {
        "h13-kappas",
        "h13-filter",
        "h13-controls",
        "h13-rankings-search",
    }
    ranks = next(
        table for section in found.sections for table in section.tables if table.name == "h13-original-search"
    )
    assert [row[0] for row in ranks.rows] == ["random", "bow4", "tri4", "tri4-idf"]


def test_wg16_holds_captions_against_each_other(tmp_path: Path) -> None:
    pair = {"pair": "1", "image": "0.jpg", "kind": "HC", "first": "a dog", "second": "a cat"}
    extra: tuple[tuple[str, dict[str, object]], ...] = (
        ("pascal-50s", {"first_source": 6, "second_source": 6, "pairwise_votes": [1], "triplet_winner": 1}),
        ("abstract-50s", {"correct": [1, 2], "triplet_votes": [1]}),
    )
    for name, more in extra:
        rows = [{"image": f"{n}.jpg", "references": captions(scene, 6)} for n, scene in enumerate(SCENES[:8])]
        write_lines(tmp_path / name / "references.jsonl", rows)
        write_lines(tmp_path / name / "pairs.jsonl", [{**pair, **more}])
    rows = [
        {"image": f"{n}.jpg", "caption": text}
        for n, scene in enumerate(SCENES[8:12])
        for text in captions(scene, 2 if n else 3)
    ]
    write_lines(tmp_path / "vlt2k" / "captions.jsonl", rows)
    scenes = tmp_path / "AbstractScenes_v1.1" / "SimpleSentences"
    scenes.mkdir(parents=True)
    for file in (1, 2):  # the published layout: scene, number of the sentence, sentence; and empty lines
        lines = [
            f"{n}\t{k}\t{text} "
            for n, one in enumerate(SCENES[:4])
            for k, text in enumerate(captions(one, 3))
        ]
        (scenes / f"SimpleSentences{file}_10020.txt").write_text("\n\n".join(lines) + "\n")
    (tmp_path / "brown").mkdir()
    for name in ("ca01", "cr09"):
        (tmp_path / "brown" / name).write_text(
            "The/at jury/nn said/vbd that/cs no/at evidence/nn was/bedz found/vbn ./."
        )
    found = ran("wg16", tmp_path)
    assert kinds(found)["imageclef-2015/cider/upper"] == "not reproducible"
    assert kinds(found)["vlt2k/rouge-1/other-dataset"] != "not reproducible"
    by_id = {verdict.number.id: verdict.ours for verdict in found.verdicts}
    assert by_id["abstract-50s/rouge-1/upper"].low is None  # every caption is left out: nothing is drawn
    drawn = by_id["vlt2k/rouge-1/other-image"]
    assert drawn.low is not None
    assert drawn.value is not None
    assert drawn.low < drawn.value
    assert by_id["abstract-scenes/rouge-1/upper"].n == 24  # four scenes, three sentences in each of two files
    bounds = next(
        table for section in found.sections for table in section.tables if table.name == "wg16-bounds-vlt2k"
    )
    assert [column.name for column in bounds.columns][-7:] == [
        *(
            "other-image",
            "other-dataset",
            "corpus",
            "words-10",
            "words-mean",
            "corpus-words-10",
            "corpus-words-mean",
        )
    ]


def test_wg15_runs_on_boxes_by_path_and_on_rehearsed_ones(tmp_path: Path) -> None:
    assert kinds(ran("wg15", tmp_path))["upper/f1"] == "not reproducible"
    # The paper's figure 2: 0 dress, 1 wheel, 2 woman, 3 car, 4 hair, 5 boot, 6 signboard.
    labels = ("dress", "wheel", "woman", "car", "hair", "boot", "signboard")
    boxes = [
        {"label": label, "x": 10 * n, "y": 10, "width": 30 - n, "height": 40}
        for n, label in enumerate(labels)
    ]
    described = [[2, 0, 5, 3], [2, 3], [2, 5, 3], [2, 3], [2, 3], [2, 5, 3], [2, 5, 0, 3]]
    row = {"width": 100, "height": 60, "boxes": boxes, "descriptions": described}
    rows = [{"image": f"{n}.jpg", "split": split, **row} for n, split in enumerate(("train", "test", "test"))]
    write_lines(tmp_path / "imageclef-2015" / "boxes.jsonl", rows)
    found = ran("wg15", tmp_path)
    by_id = {verdict.number.id: verdict.ours.value for verdict in found.verdicts}
    assert by_id["shared-rank"] == 6.5
    assert by_id["mean-boxes"] == pytest.approx(sum(map(len, described)) / 7)
    # Woman opens every description, car follows as often as boot and comes first, and nothing follows car.
    sizes = [len(boxes) for boxes in described]
    assert by_id["bigram/3/precision"] == 1
    assert by_id["bigram/3/recall"] == pytest.approx(sum(2 / size for size in sizes) / 7)
    assert found.simulated
    bare = {"image": "bare.jpg", "split": "test", "width": 90, "height": 60, "boxes": [], "descriptions": []}
    write_lines(tmp_path / "imageclef-2015" / "boxes.jsonl", [*rows, bare])
    assert kinds(ran("wg15", tmp_path))["size/3/f1"] != "not reproducible"
    write_lines(tmp_path / "imageclef-2015" / "boxes.jsonl", rows[1:])
    with pytest.raises(EvaluationError, match=r"no described images whose split is train"):
        ran("wg15", tmp_path)


def test_mc12_meets_the_scorer_and_reads_keywords_by_path(tmp_path: Path) -> None:
    folder = tmp_path / "semeval-2007-task10"
    folder.mkdir()
    (folder / "lst_test.gold").write_text("bright.a 1 :: clever 3;smart 1;\nbright.a 2 :: shiny 2;light 2;\n")
    for name, mark, answers in (
        ("baseline.best", "::", ("clever", "shiny")),
        ("baseline-two.best", "::", ("clever;smart", "shiny;dull")),
        ("baseline.oot", ":::", ("clever;smart", "light;dull")),
    ):
        lines = [f"bright.a {item} {mark} {text}" for item, text in enumerate(answers, 1)]
        (folder / name).write_text("\n".join(lines))
    row = {
        "title": "Army tank found",
        "text": "A tank of the army stood there .\nThe tank was old .",
        "keywords": [["tank", "army"], ["tank"]],
    }
    rows = [
        {"image": f"{n}.jpg", "split": split, **row} for n, split in enumerate(["train"] * 5 + ["test"] * 2)
    ]
    write_lines(tmp_path / "unt" / "pages.jsonl", rows)
    write_lines(tmp_path / "bbc" / "articles.jsonl", rows)
    found = ran("mc12", tmp_path)
    by_id = {verdict.number.id: verdict.ours.value for verdict in found.verdicts}
    assert by_id["semeval/baseline.best/best"] == pytest.approx(100 * (3 / 4 + 2 / 4) / 2)
    assert by_id["semeval/baseline.oot/oot"] == pytest.approx(100 * (4 / 4 + 2 / 4) / 2)
    assert (by_id["semeval/items"], by_id["semeval/modes"]) == (2, 1)
    assert by_id["unt/term-frequency/best"] == pytest.approx(100 * 2 / 3)
    assert by_id["unt/term-frequency/best-mode"] == 100
    assert by_id["bbc/standard/title/recall"] == 100
