"""The rules by which simulated people answer each kind: what the page would take, and which answers are right."""

from math import exp
from types import SimpleNamespace

import numpy as np
import pytest

from contrib.rehearsals.answers.base import find_rehearsal
from contrib.rehearsals.answers.captions import CARELESS_CAPTIONS, CaptionRehearsal
from contrib.rehearsals.answers.keywords import KeywordRehearsal
from contrib.rehearsals.answers.links import GroundingRehearsal
from contrib.rehearsals.answers.pairs import (
    PairRehearsal,
    TripletRehearsal,
    answer_probabilities,
    side_probabilities,
)
from contrib.rehearsals.answers.ratings import ScaleRehearsal
from judgments.kinds import KINDS, UnavailableKind
from judgments.kinds.graded import Graded
from tests.judgments import test_caption_kind as captions
from tests.judgments import test_grounding as grounding
from tests.judgments import test_keywords as keywords


class Likelihood(Graded):
    """A kind of another package, which derives from one of the platform."""

    name = "likelihood"


def test_a_kind_is_answered_like_the_nearest_of_its_base_classes() -> None:
    assert isinstance(find_rehearsal(Likelihood()), ScaleRehearsal)
    assert type(find_rehearsal(KINDS["pairwise"])) is PairRehearsal
    assert type(find_rehearsal(KINDS["triplet"])) is TripletRehearsal


def test_a_kind_that_is_off_has_no_simulated_answers() -> None:
    assert find_rehearsal(UnavailableKind("slider", "slider")) is None


def test_a_side_is_as_probable_as_its_quality_says() -> None:
    assert side_probabilities([0.0, 0.0]) == [0.5, 0.5]
    assert side_probabilities([2.0, 0.0])[0] == pytest.approx(1 / (1 + exp(-2)))
    assert sum(side_probabilities([3.0, 1.5])) == pytest.approx(1)


def test_answers_follow_davidsons_model() -> None:
    # first, no difference, second: exp(d / 2), nu and exp(-d / 2), with nu = 0.4
    weights = [exp(0.5), 0.4, exp(-0.5)]
    assert answer_probabilities([1, 0, 2], [1.0, 0.0]) == pytest.approx(
        [weight / sum(weights) for weight in weights]
    )
    much, little, neither, none = answer_probabilities([11, 1, 3, 0], [1.0, 0.0])
    assert (much / little, none / neither) == (pytest.approx(exp(0.5)), pytest.approx(4))
    assert answer_probabilities([101, 201, 301], [5.0, 0.0]) == pytest.approx([1 / 3] * 3)


def written(right: bool | None, references: list[str], times: int = 40) -> list[str]:
    unit = SimpleNamespace()
    rng = np.random.default_rng(1)
    rehearsal = CaptionRehearsal(captions.KIND)
    return [rehearsal.draw_answer(unit, references, right=right, rng=rng) for _ in range(times)]


def test_simulated_people_write_what_the_server_takes() -> None:
    references = [
        "A dog is running in the snow .",
        "dogs racing",
        "Hi. Two sentences here.",
        "A man on a bike and a boy .",
    ]
    for right in (True, False, None):
        assert all(captions.check(text) == text for text in written(right, references))
    assert set(written(None, references)) <= set(CARELESS_CAPTIONS)
    assert len(set(written(True, references))) > 4
    assert all(captions.check(text) for text in written(True, []))


def test_a_rehearsal_tells_captions_of_the_image_from_copied_ones() -> None:
    references = ["Two dogs run through the snow .", "Brown dogs play in snow ."]
    careful = captions.KIND.aggregation.consensus([1] * 40, written(True, references))[1]
    careless = captions.KIND.aggregation.consensus([1] * 40, written(None, references))[1]
    assert CaptionRehearsal(captions.KIND).matches(careful, references)
    assert not CaptionRehearsal(captions.KIND).matches(careless, references)


def test_a_simulated_crowd_gives_keywords_that_the_page_would_take() -> None:
    kind, unit, rng = keywords.KEYWORDS, keywords.unit(), np.random.default_rng(5)
    rehearsal = KeywordRehearsal(kind)
    truth = rehearsal.draw_truth(unit, [], rng)
    for right in (True, False, None):
        for _ in range(30):
            given = rehearsal.draw_answer(unit, truth, right=right, rng=rng)
            assert kind.clean_answer(given, unit=unit, design=keywords.design()) == given
    careful = [rehearsal.draw_answer(unit, truth, right=True, rng=rng) for _ in range(15)]
    assert rehearsal.matches(kind.aggregation.consensus([1] * 15, careful)[1], truth)
    wrong = [rehearsal.draw_answer(unit, truth, right=False, rng=rng) for _ in range(15)]
    assert not rehearsal.matches(kind.aggregation.consensus([1] * 15, wrong)[1], truth)


@pytest.mark.parametrize("control", [False, True])
def test_a_simulated_crowd_gives_links_that_the_page_would_take(control: bool) -> None:
    kind, rng, one = grounding.GROUNDING, np.random.default_rng(5), grounding.unit(control=control)
    rehearsal = GroundingRehearsal(kind)
    truth = grounding.PRINTED if control else rehearsal.draw_truth(one, [4.0], rng)
    assert kind.clean_answer(truth, unit=one, design=grounding.design()) == truth
    for right in (True, False, None):
        for _ in range(30):
            given = rehearsal.draw_answer(one, truth, right=right, rng=rng)
            assert kind.clean_answer(given, unit=one, design=grounding.design()) == given
            if right is not None and control:
                assert kind.is_right(given, truth) is right
    careful = [rehearsal.draw_answer(one, truth, right=True, rng=rng) for _ in range(15)]
    assert rehearsal.matches(kind.aggregation.consensus([1] * 15, careful)[1], truth)
