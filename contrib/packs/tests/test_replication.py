"""`replicate`: packs run from files to a report with a verdict for every published number."""

import csv
import json
import math
import re
import sys
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy
from django.core.management import CommandError, call_command

from contrib.packs.estimates import format_per_cent, share_by_image
from contrib.packs.fifty_sentences import ABSTRACT, PASCAL, read_fifty_sentence_data
from contrib.packs.reading import Pack, pack_named, shipped_packs
from contrib.packs.rehearsal import rehearse_votes
from contrib.packs.running import Replication, run_pack
from contrib.packs.verdict_tables import COLUMNS, rows_in_full
from contrib.packs.verdicts import DIFFERS, MATCHED, NEAR, NOT_REPRODUCIBLE, verdict_of
from evaluation.presentation.content import DASH, Estimate
from quorum.metrics.meteor.table_files import DATA as METEOR_DATA
from quorum.statistics.meta import halves_of_votes
from tests.marks import long_except
from tests.refusals import refuses

DOCS = Path(__file__).resolve().parents[3] / "docs"
WORDS = [
    "a",
    "dog",
    "cat",
    "man",
    "woman",
    "child",
    "horse",
    "runs",
    "sleeps",
    "jumps",
    "near",
    "over",
    "by",
    "the",
    "red",
    "old",
    "tall",
    "tree",
    "house",
    "lake",
]
OWN_TOML = """
title = "Heights"
paper = "Somebody 2020"
design = "Three people measured."

[data.heights]
what = "heights in metres"
source = "our cupboard"
files = ["heights.txt"]

[data.weights]
what = "weights"
source = "the scales"
files = ["weights.txt"]
optional = true

[[number]]
id = "mean"
value = 1.50
what = "mean height"
place = "Table 1"

[[number]]
id = "tall"
value = 33.4
unit = "%"
what = "share above 1.60"
place = "Table 1"
drawn = "three people"

[[number]]
id = "least"
value = 1.39
what = "smallest"
place = "Table 2"
drawn = "three people"

[[number]]
id = "weight"
value = 60
what = "mean weight"
place = "Table 3"
data = "weights"
"""
OWN_MODULE = '''"""Compute heights."""

from evaluation.presentation.content import Column, Estimate, Table


def analyse(run):
    """Read and count."""
    found = [float(line) for line in (run.data["heights"] / "heights.txt").read_text().split()]
    run.note_judgments(f"{len(found)} heights.")
    run.number("mean", Estimate(sum(found) / len(found), 1.4, 1.6))
    others = {"from 1.50 on": 2 / 3, "with shoes": 0.334, "lying": None}
    run.number("tall", Estimate(sum(one > 1.6 for one in found) / len(found), 0.0, 0.332), others=others)
    run.number("least", Estimate(min(found), 1.3, 1.5))
    rows = tuple((f"{one:g}",) for one in found)
    run.add_section("all", "All heights", tables=[Table("heights", "Heights", (Column("m"),), rows)])
'''


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A pack that somebody wrote for their own paper, with its data."""
    folder = tmp_path / "my_heights"
    folder.mkdir()
    (folder / "pack.toml").write_text(OWN_TOML, encoding="utf-8")
    (folder / "pack.py").write_text(OWN_MODULE, encoding="utf-8")
    (tmp_path / "data" / "heights").mkdir(parents=True)
    (tmp_path / "data" / "heights" / "heights.txt").write_text("1.4\n1.5\n1.61\n", encoding="utf-8")
    return folder


def replicate(*arguments: Any, **options: Any) -> str:
    said = StringIO()
    call_command("replicate", *map(str, arguments), stdout=said, stderr=StringIO(), **options)
    return said.getvalue()


def test_a_pack_of_ones_own_gives_a_report_and_a_verdict_for_each_number(own: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    said = replicate(own, data=tmp_path / "data", output=output)
    assert "4 published numbers: 1 matched, 1 near, 1 differs, 1 not reproducible" in said
    mean, tall, least, weight = json.loads((output / "verdicts.json").read_text(encoding="utf-8"))
    assert list(mean) == ["pack", "number", "published", "ours", "low", "high", "verdict", "why"]
    assert (mean["pack"], mean["number"], mean["verdict"], mean["low"]) == (
        "my-heights",
        "mean",
        "matched",
        None,
    )
    assert mean["ours"] == pytest.approx(1.5033, abs=1e-4)
    assert (tall["verdict"], tall["why"]) == ("differs", "met by 33.40 (with shoes)")
    assert (tall["published"], tall["ours"], tall["high"]) == pytest.approx((33.4, 33.333, 33.2), abs=1e-3)
    assert (least["verdict"], least["ours"], least["low"]) == ("near", 1.4, 1.3)
    assert weight["verdict"] == "not reproducible"
    assert weight["ours"] is None
    assert "weights/weights.txt" in weight["why"]
    page = (output / "report.html").read_text(encoding="utf-8")
    assert all(words in page for words in ("Heights", "3 heights.", "Met by 33.40 (with shoes)", "1.61"))
    assert (output / "tables" / "my-heights-heights.csv").read_text(encoding="utf-8") == "m\n1.4\n1.5\n1.61\n"
    verdicts = (output / "verdicts.md").read_text(encoding="utf-8")
    assert "| Table 1 | mean height | 1.50 | 1.50 |" in verdicts
    assert "mean weight: 60" in verdicts.partition("Not reproducible:")[2]
    replicate(own, data=tmp_path / "data", output=output)  # an earlier report is replaced


def test_without_its_data_a_pack_writes_nothing_and_the_list_says_what_it_needs(
    own: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out"
    missing = tmp_path / "data" / "heights" / "heights.txt"
    missing.unlink()
    with refuses(CommandError, missing):
        replicate(own, data=tmp_path / "data", output=output)
    assert not output.exists()
    listed = replicate(own, "--list", data=tmp_path / "data")
    assert "heights.txt; NOT THERE" in listed
    assert "weights.txt; not there, and not required" in listed
    every = replicate("--list", data=tmp_path / "data")
    assert all(f"{pack.name}: " in every for pack in shipped_packs())


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('id = "tall"', 'id = "mean"', "mean"),
        ('data = "weights"', 'data = "heights"', "optional"),
        ("value = 60", 'value = "many"', r"pack.toml, number\.3\.value"),
        ('title = "Heights"', 'titel = "Heights"', r"pack\.toml"),
        ('[data.weights]', "[data.weights", "TOML"),
        ('id = "least"', 'id = "smallest"', "least"),
        ('data = "weights"', '[[number]]\nid = "more"\nvalue = 1\nwhat = "x"\nplace = "y"', "states nothing about"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_pack_is_one_sentence(
    own: Path, tmp_path: Path, old: str, new: str, sentence: str
) -> None:
    (own / "pack.toml").write_text(OWN_TOML.replace(old, new), encoding="utf-8")
    with pytest.raises(CommandError, match=sentence):
        replicate(own, data=tmp_path / "data", output=tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("module", "sentence"),
    [
        ("def analyse(run", "never closed"),
        ("import no_such_module", "no_such_module"),
        ("size = heights", "heights"),
        ("size = 1 / 0", "division by zero"),
    ],
)
def test_a_module_that_cannot_be_loaded_is_one_sentence_and_leaves_nothing_behind(
    own: Path, tmp_path: Path, module: str, sentence: str
) -> None:
    (own / "pack.py").write_text(module, encoding="utf-8")
    with pytest.raises(CommandError, match=f"pack.py cannot be loaded: .*{sentence}"):
        replicate(own, data=tmp_path / "data", output=tmp_path / "out")
    assert "replication_pack_my_heights" not in sys.modules


def test_a_number_that_no_convention_meets_says_so(own: Path, tmp_path: Path) -> None:
    (own / "pack.toml").write_text(OWN_TOML.replace("value = 33.4", "value = 40.0"), encoding="utf-8")
    replicate(own, data=tmp_path / "data", output=tmp_path / "out")
    verdicts = json.loads((tmp_path / "out" / "verdicts.json").read_text(encoding="utf-8"))
    assert verdicts[1]["why"] == "not met either by 66.67 (from 1.50 on), 33.40 (with shoes)"


def test_an_unknown_pack_and_a_folder_of_other_files_are_refused(tmp_path: Path) -> None:
    with refuses(CommandError, "v16", "alt-test", "graded-sets"):
        replicate("v16", output=tmp_path / "out")
    with refuses(CommandError, "--output"):
        replicate("v15-accuracy")


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (Estimate(0.9159, 0.8971, 0.932), "91.6 % [89.7, 93.2]"),
        (Estimate(0.9159, math.nan, math.nan), "91.6 %"),
        (Estimate(0.0, None, None), "0.0 %"),
        (Estimate(None), "–"),
    ],
)
def test_an_interval_without_ends_is_left_out_of_a_sentence(found: Estimate, words: str) -> None:
    assert format_per_cent(found) == words


def test_the_rehearsal_crowd_judges_by_its_own_accuracy() -> None:
    truth = np.repeat([1, 2, 3, 4], 500)
    found = rehearse_votes(truth, [1, 2, 3, 4], 3)
    assert len(found.unit) == 6000
    assert max(np.bincount(found.unit)) == 3
    assert not any(len(set(found.worker[found.unit == unit])) < 3 for unit in range(20))
    right = float(np.mean(found.value == truth[found.unit]))
    assert 0.7 < right < 0.88  # careful workers at 85 %, a tenth of spammers


def sentence(rng: np.random.Generator) -> str:
    return " ".join(rng.choice(WORDS, size=int(rng.integers(4, 9))))


@pytest.fixture(scope="module")
def fifty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small data sets in the files of PASCAL-50S, ABSTRACT-50S and Flickr8k: invented sentences and votes."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(3)
    images = [f"{number}.jpg" for number in range(12)]
    for name, references in (("pascal-50s", 50), ("abstract-50s", 48)):
        (folder / name).mkdir()
        lines = [
            {"image": image, "references": [sentence(rng) for _ in range(references)]} for image in images
        ]
        write_lines(folder / name / "references.jsonl", lines)
    sources = {"HC": (6, 6), "HI": (6, 7), "HM": (6, 2)}
    machines = [(one, two) for one in range(1, 6) for two in range(one + 1, 6)]
    pairs = [(kind, sources[kind]) for kind in sources for _ in range(4)] + [
        ("MM", both) for both in machines * 2
    ]
    write_lines(
        folder / "pascal-50s" / "pairs.jsonl",
        [
            {
                "pair": place, "image": images[place % 12], "kind": kind,
                "first": sentence(rng), "second": sentence(rng),
                "first_source": both[0], "second_source": both[1], "pairwise_votes": rng.integers(1, 3, 11).tolist(),
                "triplet_winner": int(rng.integers(1, 3)),
            }
            for place, (kind, both) in enumerate(pairs)
        ],
    )  # fmt: skip
    write_lines(
        folder / "abstract-50s" / "pairs.jsonl",
        [
            {
                "pair": place, "image": images[place], "kind": "HC" if place % 2 else "HI", "first": sentence(rng),
                "second": sentence(rng), "correct": [1, 2] if place % 2 else [1],
                "triplet_votes": [1, 2] * 24 if place == 3 else rng.integers(1, 3, 48).tolist(),
            }
            for place in range(12)
        ],
    )  # fmt: skip
    write_triplets(folder / "pascal-50s-votes", rng)
    flickr = folder / "flickr8k"
    flickr.mkdir()
    captions = [f"{image}#{n}\t{sentence(rng)} ." for image in images for n in range(5)]
    (flickr / "Flickr8k.token.txt").write_text("\n".join(captions) + "\n", encoding="utf-8")
    judged = [(one, other) for one in images for other in images[:6]]
    experts = [
        f"{one}\t{other}#2\t{grades}"
        for (one, other), grades in zip(judged, ["1\t1\t2", "2\t3\t4"] * 36, strict=True)
    ]
    crowd = [
        f"{one}\t{other}#2\t{votes}"
        for (one, other), votes in zip(judged, ["0\t0\t3", "1\t3\t0"] * 36, strict=True)
    ]
    (flickr / "ExpertAnnotations.txt").write_text("\n".join(experts) + "\n", encoding="utf-8")
    (flickr / "CrowdFlowerAnnotations.txt").write_text("\n".join(crowd) + "\n", encoding="utf-8")
    for name, file in (("composite", "en_test_composite_da2.csv"), ("polaris", "polaris_test.csv")):
        (folder / name).mkdir()
        rows = [
            f"{sentence(rng)},\"['{sentence(rng)}', '{sentence(rng)}']\",{place % 5},{place // 3}.jpg"
            for place in range(30)
        ]
        (folder / name / file).write_text("\n".join(["mt,refs,score,imgid", *rows]) + "\n", encoding="utf-8")
    return folder


def write_triplets(folder: Path, rng: np.random.Generator, *, last: str = "") -> None:
    """The layout of the authors' consensus_pascal.mat: for each pair 48 triplets of A, B, C and 1 (B) or -1 (C)."""
    pairs = [
        json.loads(line)
        for line in (folder.parent / "pascal-50s" / "pairs.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    fields = [(name, object) for name in ("A", "B", "C", "winner")]
    triplets = np.empty((1, 48 * len(pairs)), dtype=fields)
    for place in range(triplets.size):
        pair = pairs[place // 48]
        for name, text in (("A", "a dog"), ("B", f"{pair['first']} "), ("C", last or pair["second"])):
            triplets[name][0, place] = np.array([[text]], dtype=object)
        triplets["winner"][0, place] = rng.choice([1, -1])
    folder.mkdir(exist_ok=True)
    scipy.io.savemat(folder / "consensus_pascal.mat", {"triplets": triplets})


def write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def run(name: str, folder: Path) -> Replication:
    return run_pack(pack_named(name), folder, lambda share, words: None)


@pytest.mark.parametrize(
    "name",
    long_except(["v15-systems", "graded-sets", "v15-accuracy", "v15-appendix"], "graded-sets"),
)
def test_a_shipped_pack_runs_on_a_small_stand_in(name: str, fifty: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    replicate(name, data=fifty, output=output)
    verdicts = json.loads((output / "verdicts.json").read_text(encoding="utf-8"))
    assert [one["number"] for one in verdicts] == [number.id for number in pack_named(name).numbers]
    computed = [one for one in verdicts if one["ours"] is not None]
    assert len(computed) >= len(verdicts) / 2
    drawn = {number.id for number in pack_named(name).numbers if number.drawn}
    ranges = [one for one in computed if one["low"] is not None]
    assert {one["number"] for one in ranges} == drawn & {one["number"] for one in computed}
    assert all(one["low"] <= one["ours"] <= one["high"] for one in ranges)
    assert list(output.glob("figures/*.svg"))


@pytest.mark.parametrize(
    "name",
    long_except(
        ["v15-accuracy", "v15-systems", "v15-appendix", "graded-sets"], "v15-accuracy", "graded-sets"
    ),
)
def test_without_its_tables_meteor_alone_is_missing(
    name: str, fifty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(METEOR_DATA, "none")
    verdicts = run(name, fifty).verdicts
    missing = {one.number.id: one.why for one in verdicts if one.ours.value is None}
    meteor = {one.number.id for one in verdicts if "meteor" in one.number.id.split("/")}
    assert meteor <= missing.keys()
    assert all("pip install -r requirements-meteor.txt" in missing[name] for name in meteor)
    assert len(missing) < len(verdicts)


def test_people_and_metrics_are_measured_on_the_same_halves(fifty: Path) -> None:
    """A pair that is drawn in every half counts for nobody, and no metric knows more than the votes."""
    found = run("v15-systems", fifty)
    tables = {table.name: table for section in found.sections for table in section.tables}
    table = tables["v15-systems-halves-abstract-50s"]
    counted = {
        row[0]: row[-1].n for row in table.rows if not isinstance(row[-1], (str, int, float, type(None)))
    }
    assert len(set(counted.values())) == 1
    assert {"people", "cider"} <= counted.keys()
    votes = read_fifty_sentence_data(ABSTRACT, fifty / ABSTRACT).votes
    exact = halves_of_votes((votes == 1).sum(axis=1), (votes == 2).sum(axis=1), np.zeros(len(votes)))
    people = next(row[-1] for row in table.rows if row[0] == "people")
    assert isinstance(people, Estimate)
    assert people.value == pytest.approx(exact.agree.sum() / exact.decided_chances.sum())


@pytest.mark.long
def test_the_published_votes_of_pascal_are_read_when_they_are_there(fifty: Path, tmp_path: Path) -> None:
    verdicts = {one.number.id: one for one in run("v15-systems", fifty).verdicts}
    raw = scipy.io.loadmat(fifty / "pascal-50s-votes" / "consensus_pascal.mat")["triplets"]["winner"][0]
    first = (np.array([int(one[0, 0]) for one in raw]).reshape(-1, 48) == 1).sum(axis=1)
    exact = halves_of_votes(first, 48 - first, np.zeros(len(first)))
    people = verdicts["section-7.4/pascal-50s/people"].ours.value
    assert people == pytest.approx(100 * exact.agree.sum() / exact.decided_chances.sum())
    for name in ("pascal-50s", "abstract-50s"):
        (tmp_path / name).symlink_to(fifty / name)
    verdicts = {one.number.id: one for one in run("v15-systems", tmp_path).verdicts}
    assert "published: vrama91.github.io/cider" in verdicts["section-7.4/pascal-50s/people"].why
    write_triplets(tmp_path / "pascal-50s-votes", np.random.default_rng(1), last="another sentence")
    with refuses(CommandError, "consensus_pascal.mat", "0", "another sentence"):
        replicate("v15-systems", data=tmp_path, output=tmp_path / "out")


def test_who_lacks_the_tables_of_meteor_is_told_how_to_get_them(
    fifty: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(METEOR_DATA, "none")
    said = replicate("graded-sets", data=fifty, output=tmp_path / "out")
    assert "5 numbers more with METEOR's tables: pip install -r requirements-meteor.txt" in said


def test_the_interval_of_a_share_is_by_image(fifty: Path) -> None:
    """Pairs of an image that agree tell no more than one of them."""
    data = read_fifty_sentence_data(PASCAL, fifty / PASCAL)
    twice = replace(data, pairs=data.pairs * 2)
    right = np.arange(len(data.pairs)) % 2 == 0
    once = share_by_image(right, data.clusters, np.ones(len(data.pairs), dtype=np.bool_))
    again = share_by_image(np.tile(right, 2), twice.clusters, np.ones(len(twice.pairs), dtype=np.bool_))
    assert (again.value, again.low, again.high) == pytest.approx((once.value, once.low, once.high))
    assert share_by_image(right, data.clusters, np.zeros(len(data.pairs), dtype=np.bool_)) == Estimate(None)


def test_optional_data_that_are_absent_are_named_and_the_rest_is_computed(
    fifty: Path, tmp_path: Path
) -> None:
    (tmp_path / "flickr8k").symlink_to(fifty / "flickr8k")
    verdicts = {one.number.id: one for one in run("graded-sets", tmp_path).verdicts}
    assert verdicts["composite/cider-d"].kind == "not reproducible"
    assert "composite/en_test_composite_da2.csv" in verdicts["composite/cider-d"].why
    assert verdicts["flickr8k-expert/cider-d"].ours.value is not None


def test_a_damaged_table_of_grades_is_refused_with_its_line(fifty: Path, tmp_path: Path) -> None:
    (tmp_path / "flickr8k").symlink_to(fifty / "flickr8k")
    (tmp_path / "composite").mkdir()
    (tmp_path / "composite" / "en_test_composite_da2.csv").write_text(
        "mt,refs,score,imgid\na dog,oops(,3,1\n", encoding="utf-8"
    )
    with refuses(CommandError, "en_test_composite_da2.csv", "2"):
        replicate("graded-sets", data=tmp_path, output=tmp_path / "out")


@pytest.mark.parametrize("pack", list(shipped_packs()), ids=lambda pack: pack.name)
def test_the_documented_table_is_that_of_the_pack(pack: Pack) -> None:
    """`replicate all` writes it (tables). Its published side is compared, and every difference is explained."""
    with (DOCS / "figures" / "papers" / f"{pack.name}-numbers.csv").open(
        encoding="utf-8", newline=""
    ) as file:
        head, *cells = csv.reader(file)
    assert tuple(head) == COLUMNS
    rows = list(rows_in_full(cells))
    published = [verdict_of(pack, number, None) for number in pack.numbers]
    assert [row[:3] for row in rows] == [
        (one.number.place, one.number.what, one.published_text) for one in published
    ]
    kinds = [row[5] for row in rows]
    assert set(kinds) <= {MATCHED, NEAR, DIFFERS, NOT_REPRODUCIBLE}
    for number, row in zip(pack.numbers, rows, strict=True):
        assert row[6] or row[5] == MATCHED
        assert (row[4] != DASH) == bool(number.drawn) or row[5] == NOT_REPRODUCIBLE
        assert (row[2] == row[3]) == (row[5] == MATCHED)
    (counts,) = re.findall(
        rf"^\| \[`{pack.name}`\].*?\| (\d+) \| (\d+) \| (\d+) \| (\d+) \| (\d+)",
        (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8"),
        re.M,
    )
    assert [int(one) for one in counts] == [
        len(rows), kinds.count(MATCHED), kinds.count(NEAR), kinds.count(DIFFERS), kinds.count(NOT_REPRODUCIBLE)
    ]  # fmt: skip
