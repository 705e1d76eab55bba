"""Packs on made-up files in the layouts of THumB, MT-Bench, MQM, ESA, H13, WG16, WG15 and MC12."""

import json
from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings
from scipy.stats import pearsonr, ttest_1samp

from annotation.models import Judgment
from contrib.error_spans.results.ranks import rank_systems
from contrib.error_spans.results.scores import system_scores
from contrib.error_spans.results.segments import segments_of
from contrib.error_spans.tests.test_weights import SCORES
from contrib.packs.reading import pack_named
from contrib.packs.running import Replication, run_pack
from evaluation.errors import EvaluationError
from evaluation.presentation.content import Estimate
from judgments.models import Item, Study
from quorum.metrics import score
from tests.refusals import refuses

SYSTEMS = ("Up-Down", "VinVL-base", "Human")
MODELS = ("gemini_flash", "gemini_pro", "gpt-4o", "llama-31", "gpt-4o-mini", "mistral-v03")


def replicate(pack: str, data: Path) -> list[dict[str, Any]]:
    output = data / "out"
    call_command("replicate", pack, data=data, output=output)
    verdicts: list[dict[str, Any]] = json.loads((output / "verdicts.json").read_text(encoding="utf-8"))
    return verdicts


@pytest.fixture
def thumb(tmp_path: Path) -> list[dict[str, Any]]:
    """Twelve images, three systems, grades whose means are half points, four references."""
    rng = np.random.default_rng(5)
    terms = ["a", "dog", "man", "runs", "by", "the", "red", "lake", "tree's", "U.S.", "3.5", "well-known"]

    def text() -> str:
        return " ".join(rng.choice(terms, size=int(rng.integers(5, 10)))).capitalize() + "."

    images = [str(number) for number in range(12)]
    rows = []
    for image in images:
        for system in SYSTEMS:
            precision, recall = (float(grade) for grade in rng.integers(1, 6, 2))
            rows.append(
                {"SYS": system, "seg_id": image, "set_id": 1, "hyp": text(), "image": f"{image}.jpg", "P": precision,
                 "R": recall, "Fl": -0.0, "Inc": -0.0, "Con": -0.0, "human_score": (precision + recall) / 2}
            )  # fmt: skip
    folder = tmp_path / "mscoco"
    folder.mkdir()
    references = [{"seg_id": image, "set_id": 1, "refs": [text() for _ in range(4)]} for image in images]
    for name, lines in (("mscoco_THumB-1.0.jsonl", rows), ("mscoco_references.json", references)):
        (folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    of_image = {line["seg_id"]: line["refs"] for line in references}
    return [row | {"references": of_image[row["seg_id"]]} for row in rows]


def test_thumb_correlates_metrics_with_and_without_people_s_captions(
    thumb: list[dict[str, Any]], tmp_path: Path
) -> None:
    ours = {verdict["number"]: verdict["ours"] for verdict in replicate("thumb", tmp_path)}
    assert len(ours) == 18
    documents = list({row["seg_id"]: row["references"] for row in thumb}.values())
    scored = score(
        [row["hyp"] for row in thumb],
        [row["references"] for row in thumb],
        ["cider-d", "rouge-l|beta:1"],
        document_corpus=documents,
    ).scores

    # mteval-v13a's words, by hand: "3.5" and "tree's" stay whole, "U.S." and the last point come apart
    def tokenize(text: str) -> str:
        return text.replace("3.5", "3_5").replace(".", " . ").replace("3_5", "3.5")

    bleu = score(
        [tokenize(row["hyp"]) for row in thumb],
        [[tokenize(text) for text in row["references"]] for row in thumb],
        ["bleu-4|smoothing:nist"],
        tokenizer="space",
    ).scores
    columns = {
        "bleu": bleu["bleu-4|smoothing:nist"].images,
        "rouge": scored["rouge-l|beta:1"].images,
        "cider": scored["cider-d"].images,
    }
    for among, keep in (("machines", [row["SYS"] != "Human" for row in thumb]), ("all", [True] * len(thumb))):
        for part, key in (("precision", "P"), ("recall", "R"), ("total", "human_score")):
            grades = np.array([row[key] for row in thumb])[keep]
            for metric, scores in columns.items():
                r = pearsonr(scores[keep], grades).statistic
                assert ours[f"{among}/{metric}/{part}"] == pytest.approx(r), (among, metric, part)


@pytest.mark.usefixtures("thumb")
@pytest.mark.parametrize(
    ("file", "line", "sentence"),
    [
        ("mscoco_THumB-1.0.jsonl", {"SYS": "x", "seg_id": "99", "hyp": "A.", "P": 1, "R": 1, "human_score": 1},
         r"\b99\b.*references"),
        ("mscoco_THumB-1.0.jsonl", {"SYS": "x", "seg_id": "1", "hyp": "A.", "P": "high", "R": 1, "human_score": 1},
         r"\b1\b.*\bP\b.*high"),
        ("mscoco_references.json", {"seg_id": "1", "refs": "A dog."}, r"\b1\b.*refs"),
    ],
)  # fmt: skip
def test_a_damaged_file_of_thumb_is_one_sentence(
    file: str, line: dict[str, Any], sentence: str, tmp_path: Path
) -> None:
    (tmp_path / "mscoco" / file).write_text(json.dumps(line) + "\n", encoding="utf-8")
    with pytest.raises(CommandError, match=sentence):
        replicate("thumb", tmp_path)


@pytest.fixture
def bench(tmp_path: Path) -> tuple[dict[str, dict[str, str]], dict[str, dict[str, str]]]:
    """Three experts on forty pairs with many ties, and models of which one repeats the first expert."""
    rng = np.random.default_rng(7)
    votes = ["model_a", "model_b", "tie"]
    pairs = [f"{number}__a__b__1" for number in range(40)]
    people = {f"expert_{n}": {pair: str(rng.choice(votes)) for pair in pairs[: 40 - 3 * n]} for n in range(3)}
    models = {name: {pair: str(rng.choice(votes)) for pair in pairs} for name in MODELS[1:]}
    models[MODELS[0]] = people["expert_0"]
    folder = tmp_path / "mtbench"
    folder.mkdir()
    for name, content in (("human_annotations", people), ("llm_annotations", models)):
        (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    return people, models


def test_a_tie_is_an_answer_to_the_alternative_annotator_test(
    bench: tuple[dict[str, dict[str, str]], dict[str, dict[str, str]]], tmp_path: Path
) -> None:
    """The paper's definition, written out: a model and a person are scored by the share of the others who agree."""
    people, models = bench
    ours = {verdict["number"]: verdict["ours"] for verdict in replicate("alt-test", tmp_path)}
    for name, answers in models.items():
        advantages, p = [], []
        for person, votes in people.items():
            ahead, behind = [], []
            for pair, vote in votes.items():
                others = [other[pair] for who, other in people.items() if who != person and pair in other]
                if others:
                    model, left_out = others.count(answers[pair]), others.count(vote)
                    ahead.append(float(model >= left_out))
                    behind.append(float(left_out >= model))
            advantages.append(np.mean(ahead))
            p.append(ttest_1samp(np.subtract(behind, ahead), 0.2, alternative="less").pvalue)
        assert ours[f"{name}/advantage"] == pytest.approx(np.mean(advantages))
        ranked = sorted(p)
        harmonic = sum(1 / rank for rank in range(1, 4))
        passed = [n for n, value in enumerate(ranked, 1) if value <= 0.05 * n / (3 * harmonic)]
        assert ours[f"{name}/winning-rate"] == pytest.approx(max(passed, default=0) / 3)


def test_votes_that_are_none_are_refused(bench: Any, tmp_path: Path) -> None:
    (tmp_path / "mtbench" / "llm_annotations.json").write_text('{"gpt-4o": {"1": "both"}}', encoding="utf-8")
    with refuses(CommandError, "llm_annotations.json", "model_b", "tie"):
        replicate("alt-test", tmp_path)
    (tmp_path / "mtbench" / "llm_annotations.json").write_text("{}", encoding="utf-8")
    with refuses(CommandError, "gemini_flash"):
        replicate("alt-test", tmp_path)


@pytest.mark.parametrize("pack", ["thumb", "alt-test"])
def test_without_the_download_every_number_names_the_file_that_is_missing(pack: str, tmp_path: Path) -> None:
    for verdict in replicate(pack, tmp_path):
        assert verdict["verdict"] == "not reproducible"
        assert "github.com/" in verdict["why"]


WEIGHTS = '[[spans.weights]]\ncategory = "source issue"\nweights = { minor = 1, major = 5 }\n'
MQM = """\
system\tdoc\tdoc_id\tseg_id\trater\tsource\ttarget\tcategory\tseverity
SMU\ttalk.2\t1\t84\trater3\t这是 "光"\tThis is <v>"lights"</v>.\tAccuracy/Mistranslation\tMajor
SMU\ttalk.2\t1\t84\trater3\t这是 "光"\tThis is "lights"<v>.</v>\tFluency/Punctuation\tMinor
MiSS\ttalk.2\t1\t84\trater3\t<v>这是</v> "光"\tThis is "lights".\tSource error\tMajor
MiSS\ttalk.2\t1\t85\trater3\t完\tDone.\tNo-error\tNo-error
SMU\ttalk.2\t1\t85\trater3\t完\tDone<v></v>.\tAccuracy/Omission\tMinor
"""


@pytest.fixture
def ted(tmp_path: Path) -> Path:
    folder = tmp_path / "wmt-mqm-human-evaluation" / "ted" / "zhen"
    folder.mkdir(parents=True)
    (folder / "mqm_ted_zhen.tsv").write_text(MQM, encoding="utf-8")
    return folder / "mqm_ted_zhen.tsv"


def numbers(name: str, folder: Path) -> dict[str, Any]:
    verdicts = run_pack(pack_named(name), folder, lambda share, message: None).verdicts
    return {verdict.number.id: verdict.ours.value for verdict in verdicts if verdict.ours.value is not None}


def test_a_segment_loses_the_weights_of_its_errors_and_those_of_the_source(ted: Path, tmp_path: Path) -> None:
    assert numbers("mqm-ted", tmp_path) == pytest.approx(
        {"readme/SMU": 3.05, "readme/MiSS": 2.5, "mean/SMU": 3.05, "mean/MiSS": 2.5}
    )


@pytest.mark.django_db
def test_commands_read_the_same_file_and_say_the_same(ted: Path, tmp_path: Path) -> None:
    (tmp_path / "design.toml").write_text(WEIGHTS)
    call_command("import_dataset", "google-mqm", str(ted), name="ted", stdout=StringIO())
    assert list(Item.objects.values_list("name", "text", "fields")) == [
        ("84", '这是 "光"', [["document", "talk.2"]]), ("85", "完", [["document", "talk.2"]]),
    ]  # fmt: skip
    call_command("import_judgments", "google-mqm", str(ted), dataset="ted", study="ted",
                 design=tmp_path / "design.toml", stdout=StringIO())  # fmt: skip
    call_command("error_spans", "ted", output=tmp_path / "scores.json", stdout=StringIO())
    result = json.loads((tmp_path / "scores.json").read_text())
    assert [(row["system"], row["score"]) for row in result["systems"]] == [("MiSS", -2.5), ("SMU", -3.05)]
    assert result["weights"] == {"source issue": {"minor": 1, "major": 5}}


NAMES = {"a": "refA", "b": "GPT-4", "c": "IKUN-C"}


def esa() -> Iterator[str]:
    """Yield each answer with an earlier one, and lines that are no work."""
    yield "engjpn1,ende-tutorial1,1000001,TGT,eng,jpn,0,ende-tutorial1,False,[],1711317201.0,1711317201.0\n"
    for system, scores in SCORES.items():
        for line, points in enumerate(scores):
            document = "test-en-news_bbc.1" if line < 6 else "test-en-speech_x_000"
            start = f"engjpn1,{NAMES[system]},{line},TGT,eng,jpn"
            yield f"{start},{points},{document},False,[],1711317220.5,1711317221.5\n"
            yield f"{start},0,{document},False,[],1711317210.5,1711317211.5\n"
            yield f"{start},0,{document}#dup,False,[],1711317230.5,1711317231.5\n"
            yield f"{start.replace('TGT', 'BAD')},0,{document}#bad,False,[],1711317230.5,1711317231.5\n"


def test_ranks_are_those_of_wmt_s_script_on_the_same_lines(tmp_path: Path) -> None:
    """The values are those of humeval/tools.py of 13 September 2024 (commit 71cc027)."""
    folder = tmp_path / "wmt24-news-systems" / "humeval"
    folder.mkdir(parents=True)
    for wave in range(4):  # the other waves are of another pair
        lines = "".join(line if wave == 2 else line.replace("jpn", "zho") for line in esa())
        (folder / f"esa_generalMT2024_wave{wave}.csv").write_text(lines)
    ours = numbers("wmt24-esa", tmp_path)
    assert {name: value for name, value in ours.items() if name.startswith("en-ja/")} == pytest.approx(
        {"en-ja/refA/score": 84.666667, "en-ja/refA/best": 1, "en-ja/refA/worst": 1,
         "en-ja/GPT-4/score": 72.5, "en-ja/GPT-4/best": 2, "en-ja/GPT-4/worst": 3,
         "en-ja/IKUN-C/score": 66.833333, "en-ja/IKUN-C/best": 2, "en-ja/IKUN-C/worst": 3}
    )  # fmt: skip


@pytest.mark.django_db
def test_the_layout_of_wmt_s_lines_makes_a_dataset_and_a_study(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"langs": "en-ja", "line_id": line, "src": f"line {line}", "tgt": f"{system} {line}", "doc_id": "d",
         "domain": "news" if line < 6 else "speech", "esa_spans": [], "esa_score": str(score), "system": system,
         "annotator": "engjpn1", "times": [f"17241086{at}.0", f"17241086{at}.5"]}
        for system, scores in SCORES.items()
        for line, last in enumerate(scores)
        for score, at in ((last, 20), (0, 10))
    ]  # fmt: skip
    after = {"start_i": 3, "end_i": 4, "severity": "minor"}  # what is missing stands after the text
    rows[0] |= {"esa_spans": [after, {"start_i": 2, "end_i": 3, "severity": "undecided"}]}
    rows[2] |= {"tgt": "", "esa_spans": [{"start_i": "missing", "end_i": "missing", "severity": "major"}]}
    rows[4] |= {"tgt": "abcd", "esa_spans": [{"start_i": 2, "end_i": 4, "severity": "major"}]}
    path = tmp_path / "wmt24_esa.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    call_command("import_dataset", "wmt-esa", str(path), name="esa", stdout=StringIO())
    call_command("import_judgments", "wmt-esa", str(path), dataset="esa", study="esa", stdout=StringIO())
    segments = segments_of(Study.objects.get(slug="esa"))
    answers = Judgment.objects.order_by("pk").values_list("answer__spans", "unit__first__text")[:3]
    assert list(answers) == [
        ([{"start": None, "end": None, "severity": "minor"}], "a 0"),
        ([{"start": None, "end": None, "severity": "major"}], ""),
        ([{"start": 2, "end": 4, "severity": "major"}], "abcd"),
    ]
    assert [row.score for row in system_scores(segments)] == pytest.approx([84.6667, 72.5, 66.8333], abs=1e-4)
    ranked = rank_systems(segments)
    assert [(row.system, row.best, row.worst) for row in ranked] == [("a", 1, 1), ("b", 2, 3), ("c", 2, 3)]
    assert ranked[0].domains == pytest.approx({"news": 85.6667, "speech": 83.6667}, abs=1e-4)


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


def write_flickr8k(folder: Path) -> None:
    """Captions of all scenes, with grades and answers by how many words the scenes share."""
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


def test_h13_runs_from_the_released_files(tmp_path: Path) -> None:
    write_flickr8k(tmp_path / "flickr8k")
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
    # all captions of the best system have the mean grade 11/3, and one of twelve random ones
    random, best, *_ = tables["h13-first-captions"]
    assert (random[0], random[3], best[3]) == ("random", "8.3***", "100.0")
    assert {section.name for section in found.sections} >= {
        "h13-kappas",
        "h13-filter",
        "h13-controls",
        "h13-rankings-search",
    }
    ranks = next(
        table for section in found.sections for table in section.tables if table.name == "h13-original-search"
    )
    assert [row[0] for row in ranks.rows][:2] == ["random", "f1-idf"]
    orders = tables["h13-orders-annotation"]
    assert [row[:2] for row in orders[2:4]] == [("S@10", "R@10"), ("R-precision", "R@1")]
    assert all(
        isinstance(cell, float) and abs(cell) <= 1 for row in orders for cell in row[2:] if cell is not None
    )


@pytest.mark.long
def test_h13_has_the_same_numbers_without_ranking_systems(tmp_path: Path, settings: Settings) -> None:
    write_flickr8k(tmp_path / "flickr8k")
    whole = ran("h13", tmp_path)
    settings.FEATURES = {
        name: feature for name, feature in settings.FEATURES.items() if name != "ranking_systems"
    }
    found = ran("h13", tmp_path)
    assert found.verdicts == whole.verdicts
    missing = {section.name for section in whole.sections} - {section.name for section in found.sections}
    assert {"h13-rankings-annotation", "h13-rankings-search"} <= missing
    assert all("controls" not in name for name in missing)


@pytest.mark.long
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


@pytest.mark.long
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
    assert found.is_simulated
    bare = {"image": "bare.jpg", "split": "test", "width": 90, "height": 60, "boxes": [], "descriptions": []}
    write_lines(tmp_path / "imageclef-2015" / "boxes.jsonl", [*rows, bare])
    assert kinds(ran("wg15", tmp_path))["size/3/f1"] != "not reproducible"
    write_lines(tmp_path / "imageclef-2015" / "boxes.jsonl", rows[1:])
    with refuses(EvaluationError, "train"):
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
    # All articles have the same words, and two of the topics' are keywords.
    assert by_id["bbc/standard/text-lda/recall"] == 100
    assert kinds(found)["bbc/standard/mix-lda/recall"] == "not reproducible"
