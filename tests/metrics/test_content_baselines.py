"""The baselines of content selection: by chance, size, place, what is usually named, and two of them together."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from quorum.metrics.content import content_selection
from quorum.metrics.content_baselines import (
    CALLS,
    BigramPrior,
    BoxRanks,
    UnigramPrior,
    bigram_ranks,
    centre_ranks,
    mean_ranks,
    mentions_of,
    random_ranks,
    size_ranks,
    unigram_ranks,
)
from quorum.metrics.signatures import call_of_measure
from quorum.numeric.signatures import BadSignature
from tests.metrics import plain_annotation as plainly
from tests.refusals import refuses

# Two training pictures in the manner of WG15 figure 2.
TRAINING = [
    ["woman", "dress", "boot", "car"],
    ["woman", "car"],
    ["woman", "boot", "car"],
    ["car"],
    ["dog", "dog"],
    [],
]
BOXES = [[[0, 0, 10, 10], [40, 40, 20, 20], [0, 90, 100, 10]], [], [[45, 45, 10, 10]]]
SIZES = [[100, 100], [50, 50], [100, 100]]
LABELS = st.lists(st.sampled_from(["dog", "cat", "man", "car", "owl"]), max_size=7)
TEXTS = st.lists(st.lists(st.sampled_from(["dog", "cat", "man", "car"]), max_size=5), max_size=8)


def test_larger_boxes_come_first() -> None:
    assert size_ranks(BOXES).selections(2) == [[2, 1], [], [0]]


def test_boxes_nearer_to_the_centre_come_first() -> None:
    ranks = centre_ranks(BOXES, SIZES)
    assert ranks.selections(3) == [[1, 2, 0], [], [0]]  # 0, 45 and 63.6 away
    assert ranks.ranks.tolist() == [3, 1, 2, 1]


def test_boxes_with_the_label_that_people_name_most_come_first() -> None:
    prior = UnigramPrior.fit(TRAINING)
    assert dict(prior.counts) == {"woman": 3, "dress": 1, "boot": 2, "car": 4, "dog": 2}
    assert prior.descriptions == 6
    ranks = unigram_ranks([["owl", "boot", "woman", "car", "car"]], prior)
    assert ranks.selections(9) == [[3, 4, 2, 1, 0]]


def test_the_bigram_prior_counts_who_follows_whom_at_once() -> None:
    prior = BigramPrior.fit(TRAINING)
    assert dict(prior.first) == {"woman": 3, "car": 1, "dog": 1}
    assert dict(prior.following) == {
        ("woman", "dress"): 1,
        ("dress", "boot"): 1,
        ("boot", "car"): 2,
        ("woman", "car"): 1,
        ("woman", "boot"): 1,
        ("dog", "dog"): 1,
    }


def test_the_walk_stops_where_nothing_left_ever_followed() -> None:
    prior = BigramPrior.fit(TRAINING)
    ranks = bigram_ranks([["car", "boot", "woman", "owl", "woman"]], prior)
    # woman (box 2), then car before boot: both followed once, and the lower number is taken; nothing follows car.
    assert ranks.selections(5) == [[2, 0]]
    assert ranks.selections(1) == [[2]]
    assert ranks.is_selected.tolist() == [True, False, True, False, False]
    assert ranks.ranks.tolist() == [2, 4, 1, 4, 4]


def test_boxes_of_one_label_may_follow_each_other() -> None:
    # WG15 figure 5: "[Dog]5 against [dog]0 beside the [dog]6".
    assert bigram_ranks([["dog", "hat", "dog", "dog"]], BigramPrior.fit(TRAINING)).selections(3) == [
        [0, 2, 3]
    ]


def test_unselected_boxes_share_the_rank_of_the_papers_example() -> None:
    # "if only 3 out of 9 bounding boxes are selected, the remaining 6 are all assigned equal rank 6.5"
    prior = BigramPrior.fit([["a", "b", "c"]])
    ranks = bigram_ranks([["x", "c", "x", "b", "x", "a", "x", "x", "x"]], prior)
    assert ranks.ranks.tolist() == [6.5, 3, 6.5, 2, 6.5, 1, 6.5, 6.5, 6.5]


def test_a_picture_of_unknown_labels_gets_no_box_and_one_shared_rank() -> None:
    ranks = bigram_ranks([["x", "y", "z"], []], BigramPrior.fit([]))
    assert ranks.selections(2) == [[], []]
    assert ranks.ranks.tolist() == [2.0, 2.0, 2.0]


def test_two_baselines_are_combined_by_the_mean_of_their_ranks() -> None:
    prior = BigramPrior.fit([["a", "b"]])
    words = bigram_ranks([["x", "b", "a", "x"]], prior)  # ranks 3.5, 2, 1, 3.5
    places = size_ranks([[[0, 0, 4, 1], [0, 0, 1, 1], [0, 0, 2, 1], [0, 0, 3, 1]]])  # ranks 1, 4, 3, 2
    both = mean_ranks(words, places)  # 2.25, 3, 2, 2.75
    assert both.selections(4) == [[2, 0, 3, 1]]
    assert both.is_selected.all()


def test_boxes_are_drawn_at_random_and_again_with_the_same_seed() -> None:
    first, second = random_ranks([4, 0, 30], seed=7), random_ranks([4, 0, 30], seed=7)
    assert first.selections(30) == second.selections(30)
    assert [sorted(own) for own in first.selections(99)] == [list(range(n)) for n in (4, 0, 30)]
    assert first.selections(30) != random_ranks([4, 0, 30], seed=8).selections(30)
    drawn = random_ranks([30], seed=np.random.default_rng(7))
    assert drawn.signature == "content-random|seed:given|v:1.0"
    assert drawn.selections(30) == random_ranks([30], seed=7).selections(30)


def test_every_box_is_as_likely_as_another() -> None:
    taken = np.array(random_ranks([4] * 4000, seed=1).selections(1)).ravel()
    assert np.abs(np.bincount(taken) - 1000).max() < 4 * np.sqrt(4000 * 0.25 * 0.75)


def test_ties_go_to_the_lower_number_or_are_drawn() -> None:
    prior = UnigramPrior.fit(TRAINING)
    labels = [["dog"] * 20]
    assert unigram_ranks(labels, prior).selections(20) == [list(range(20))]
    drawn = unigram_ranks(labels, prior, ties=3)
    assert drawn.selections(20) == unigram_ranks(labels, prior, ties=3).selections(20)
    assert drawn.selections(20) != [list(range(20))]
    greedy = BigramPrior.fit([["dog", "dog"]])
    walked = bigram_ranks(labels, greedy, ties=3).selections(20)
    assert sorted(walked[0]) == list(range(20)) != walked[0]
    assert bigram_ranks(labels, greedy, ties=3).selections(20) == walked


@settings(max_examples=40)
@given(st.lists(LABELS, max_size=5), TEXTS)
def test_the_walk_is_the_one_written_down_plainly(labels: list[list[str]], texts: list[list[str]]) -> None:
    prior = BigramPrior.fit(texts)
    ranks = bigram_ranks(labels, prior)
    walked = [plainly.walk(own, prior.first, prior.following) for own in labels]
    assert ranks.selections(99) == walked
    for image, (own, chosen) in enumerate(zip(labels, walked, strict=True)):
        expected = [0.5 * ((len(own) + 1) - len(chosen)) + len(chosen)] * len(own)
        for rank, box in enumerate(chosen, start=1):
            expected[box] = rank
        assert ranks.ranks[ranks.starts[image] : ranks.starts[image + 1]].tolist() == expected
        # Ranks add up to those of a full order, however many are shared.
        assert sum(expected) == len(own) * (len(own) + 1) / 2


def test_a_baseline_is_scored_as_a_system_is() -> None:
    gold = [[[1], [1, 2]], [], [[0]]]
    found = content_selection(centre_ranks(BOXES, SIZES).selections(1), gold)
    assert found.precision.images[[0, 2]].tolist() == [1.0, 1.0]
    assert found.f1.undefined == 1


def test_labels_of_descriptions_come_in_the_order_of_the_words() -> None:
    assert mentions_of([["dress", "car", "woman"], ["dog"]], [[[2, 0], []], [(0, 0)]]) == [
        ["woman", "dress"],
        [],
        ["dog", "dog"],
    ]


def test_no_images_give_no_selections() -> None:
    for ranks in (size_ranks([]), random_ranks([], seed=0), unigram_ranks([], UnigramPrior.fit([]))):
        assert ranks.selections(3) == []


def test_signatures_lead_back_to_the_call() -> None:
    labels = [["car", "boot", "woman", "woman"]]
    prior = BigramPrior.fit(TRAINING)
    first = bigram_ranks(labels, prior, ties=4)
    assert first.signature == "content-bigram|ties:4|v:1.0"
    second = size_ranks([[[0, 0, 1, 1]] * 4])
    both = mean_ranks(first, second, ties=5)
    for ranks, data in (
        (first, (labels, prior)),
        (second, ([[[0, 0, 1, 1]] * 4],)),
        (both, (first, second)),
        (random_ranks([5], seed=2), ([5],)),
        (centre_ranks(BOXES, SIZES), (BOXES, SIZES)),
        (unigram_ranks(labels, UnigramPrior.fit(TRAINING)), (labels, UnigramPrior.fit(TRAINING))),
    ):
        again: BoxRanks = call_of_measure(ranks.signature, CALLS)(*data)
        assert again.signature == ranks.signature
        assert again.ranks.tolist() == ranks.ranks.tolist()


def test_a_running_stream_is_left_to_the_caller() -> None:
    call = call_of_measure(random_ranks([5], seed=np.random.default_rng(1)).signature, CALLS)
    with refuses(BadSignature, "seed"):
        call([5])
    assert call([5], seed=1).selections(5) == random_ranks([5], seed=1).selections(5)
