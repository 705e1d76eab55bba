"""PASCAL-50S and ABSTRACT-50S (V15): references, candidate pairs, votes and winners."""

import json
from collections import Counter
from pathlib import Path

import pytest

from judgments.importers import ImportProblem, open_dataset, open_judgments
from judgments.importers.records.rows import CandidatePairRow, WinnerRow
from tests.judgments.files import assert_refused, refusal, written
from tests.refusals import assert_names, refuses

PAIR = {
    "pair": 0,
    "image": "a.jpg",
    "kind": "HM",
    "first": " A dog ",
    "second": "cat",
    "first_source": 6,
    "second_source": 3,
    "pairwise_votes": [1, 1, 2],
    "triplet_winner": 2,
}
SCENE = {
    "pair": 0,
    "image": "a.jpg",
    "kind": "HI",
    "first": "Mike runs",
    "second": "Jenny sits",
    "correct": [2],
    "kind_evidence": "graph",
    "triplet_votes": [1, 2],
}
REFERENCES = {"image": "a.jpg", "references": ["One", "Two"]}


def folder(path: Path, *pairs: dict[str, object], references: object = REFERENCES) -> Path:
    written(path, "references.jsonl", json.dumps(references) + "\n")
    written(path, "pairs.jsonl", "".join(json.dumps(pair) + "\n" for pair in pairs))
    return path


def test_pairs_name_their_systems_and_keep_their_text(tmp_path):
    source = open_dataset("pascal-50s", folder(tmp_path, PAIR))
    assert list(source.pairs()) == [
        CandidatePairRow("0", "a.jpg", "HM", " A dog ", "cat", "human", "machine-3", references=None)
    ]


def test_only_the_first_48_references_belong_to_a_pair(tmp_path):
    many = {"image": "a.jpg", "references": [f"Text {n}" for n in range(50)]}
    source = open_dataset("pascal-50s", folder(tmp_path, PAIR, references=many))
    assert [pair.references for pair in source.pairs()] == [48]
    assert [row.position for row in source.references()] == list(range(50))
    assert source.notes["unused-references"] == 2


def test_the_wrong_candidate_of_an_abstract_pair_is_another_images_caption(tmp_path):
    [pair] = open_dataset("abstract-50s", folder(tmp_path, SCENE)).pairs()
    assert (pair.first_system, pair.second_system) == ("human-other", "human")


def test_pairwise_votes_become_anonymous_raters(tmp_path):
    rows = list(open_judgments("pascal-50s", folder(tmp_path, PAIR), protocol="pairwise").judgments())
    assert [(row.worker, row.value) for row in rows] == [("anon-1", 1), ("anon-2", 1), ("anon-3", 2)]
    assert {(row.protocol, row.kind, row.pair, row.first_text, row.anonymous) for row in rows} == {
        ("pairwise", "HM", "0", " A dog ", True)
    }


def test_triplets_of_pascal_are_winners_without_votes(tmp_path):
    source = open_judgments("pascal-50s", folder(tmp_path, PAIR))
    assert list(source.judgments()) == []
    assert list(source.winners()) == [WinnerRow("0", "a.jpg", "HM", " A dog ", "cat", 2)]
    assert (source.notes["published-winners"], len(source.notes.sentences())) == (1, 1)


def test_triplet_votes_of_abstract_are_aggregated_answers_one_a_reference(tmp_path):
    rows = list(open_judgments("abstract-50s", folder(tmp_path, SCENE)).judgments())
    assert [(row.reference, row.reference_text, row.value) for row in rows] == [
        ("a.jpg#0", "One", 1),
        ("a.jpg#1", "Two", 2),
    ]
    assert {(row.worker, row.protocol, row.aggregated) for row in rows} == {("anon-1", "triplet", True)}
    assert len({row.unit for row in rows}) == 2


@pytest.mark.parametrize(
    ("change", "column", "values"),
    [
        ({"image": "b.jpg"}, "image", ['"b.jpg"', "references.jsonl"]),
        ({"kind": "XX"}, "kind", ['"XX"', "HC, HI, HM, MM"]),
        ({"kind": "MM"}, "kind", ['"MM"', "[6, 3]"]),
        ({"first_source": 8}, "first_source", [8, "1 to 7"]),
        ({"second": ""}, "second", ["empty", "candidate"]),
        ({"pairwise_votes": [1, 0]}, "pairwise_votes", ["[1, 0]", "votes", "1 or 2"]),
        ({"pairwise_votes": [True]}, "pairwise_votes", ["[true]", "votes", "1 or 2"]),
        ({"pairwise_votes": None}, "pairwise_votes", ["nothing", "votes", "1 or 2"]),
    ],
)
def test_bad_pairs_are_refused_at_their_column(tmp_path, change, column, values):
    source = open_judgments("pascal-50s", folder(tmp_path, PAIR | change), protocol="pairwise")
    assert_refused(source.judgments(), "pairs.jsonl", 1, column, *values)


def test_a_pair_that_stands_twice_is_refused(tmp_path):
    assert_names(
        refusal(open_dataset("pascal-50s", folder(tmp_path, PAIR, PAIR)).pairs()),
        "pairs.jsonl",
        "line 2",
        "pair",
        "0",
    )


def test_a_winner_that_is_neither_is_refused(tmp_path):
    source = open_judgments("pascal-50s", folder(tmp_path, PAIR | {"triplet_winner": 0}))
    assert_names(refusal(source.winners()), "pairs.jsonl", "line 1", "triplet_winner", "0", "2")


@pytest.mark.parametrize(
    ("kind", "correct"), [("HI", [1, 2]), ("HC", [1]), ("HM", [1]), ("MM", [1, 2]), ("HI", [3])]
)
def test_the_kind_of_an_abstract_pair_must_fit_its_correct_candidates(tmp_path, kind, correct):
    source = open_dataset("abstract-50s", folder(tmp_path, SCENE | {"kind": kind, "correct": correct}))
    assert_names(refusal(source.pairs()), "pairs.jsonl", "line 1", "correct", "[1] or [2] for HI")


def test_votes_must_match_the_references(tmp_path):
    source = open_judgments("abstract-50s", folder(tmp_path, SCENE | {"triplet_votes": [1]}))
    assert_names(refusal(source.judgments()), "pairs.jsonl", "line 1", "triplet_votes", "1 vote", "2")


@pytest.mark.parametrize(
    ("references", "column", "values"),
    [
        ({"image": "a.jpg", "references": []}, "references", ["[]", "list of texts"]),
        ({"image": "a.jpg", "references": ["One", ""]}, "references[1]", ["empty", "text"]),
        ({"image": "a.jpg", "references": ["One", 2]}, "references[1]", [2, "text"]),
    ],
)
def test_bad_references_are_refused(tmp_path, references, column, values):
    source = open_dataset("pascal-50s", folder(tmp_path, PAIR, references=references))
    assert_refused(source.references(), "references.jsonl", 1, column, *values)


def test_pairs_of_an_image_outside_the_data_set_are_refused(tmp_path):
    source = open_judgments("pascal-50s", folder(tmp_path, PAIR), protocol="pairwise")
    assert_names(refusal(source.judgments({"b.jpg"})), "pairs.jsonl", "line 1", "image", "a.jpg")


def test_a_file_in_place_of_the_folder_is_named(tmp_path):
    path = folder(tmp_path, PAIR) / "pairs.jsonl"
    with refuses(ImportProblem, actual="a file"):
        open_dataset("pascal-50s", path)


def test_pascal_50s_is_read_whole(shared):
    source = open_dataset("pascal-50s", shared / "data" / "pascal-50s")
    references = Counter(row.image for row in source.references())
    pairs = list(source.pairs())
    assert (len(references), set(references.values())) == (1_000, {50})
    assert Counter(pair.kind for pair in pairs) == {"HC": 1_000, "HI": 1_000, "HM": 1_000, "MM": 1_000}
    assert {pair.references for pair in pairs} == {48}
    machines = Counter(
        frozenset((pair.first_system, pair.second_system)) for pair in pairs if pair.kind == "MM"
    )
    assert machines[frozenset(("machine-1", "machine-2"))] == 222
    assert len(machines) == 10


def test_the_votes_and_winners_of_pascal_50s_are_read_whole(shared):
    data = shared / "data" / "pascal-50s"
    votes: Counter[str | None] = Counter()
    majority: Counter[str | None] = Counter()
    for row in open_judgments("pascal-50s", data, protocol="pairwise").judgments():
        votes[row.pair] += 1
        majority[row.pair] += 1 if row.value == 1 else -1
    assert Counter(votes.values()) == {11: 3_994, 10: 6}
    agree: Counter[str] = Counter()
    for winner in open_judgments("pascal-50s", data, protocol="triplet").winners():
        agree[winner.kind] += (majority[winner.pair] > 0) == (winner.winner == 1)
    # The shares that the data's notes give: 99.7, 98.4, 81.4 and 64.4 %.
    assert agree == {"HI": 997, "HM": 984, "MM": 814, "HC": 644}


def test_the_triplets_of_abstract_50s_are_read_whole_and_prefer_the_correct_caption(shared):
    data = shared / "data" / "abstract-50s"
    source = open_judgments("abstract-50s", data)
    wins: dict[tuple[str | None, str | None], Counter[object]] = {}
    for row in source.judgments():
        wins.setdefault((row.kind, row.pair), Counter())[row.value] += 1
    drawn = Counter(kind for (kind, _), votes in wins.items() if votes[1] == votes[2])
    assert (len(wins), {votes.total() for votes in wins.values()}) == (400, {48})
    assert drawn == {"HC": 10, "HI": 2}
    assert source.notes["aggregated-votes"] == 19_200
    margins = []
    for pair in open_dataset("abstract-50s", data).pairs():
        if pair.kind == "HI":
            votes = wins["HI", pair.pair]
            ahead = votes[1] - votes[2]
            margins.append(ahead if pair.first_system == "human" else -ahead)
    assert Counter((margin > 0) - (margin < 0) for margin in margins) == {1: 191, 0: 2, -1: 7}
