"""Signs that a program wrote an answer, on made-up histories."""

from collections.abc import Sequence

import pytest

from annotation.quality.detectors import RULES, make_rule
from annotation.quality.detectors.history import (
    NAN,
    AnswerFormat,
    History,
    OthersText,
    OwnJudgment,
    WrittenAnswer,
    is_pasted,
    make_history,
)
from contrib.honest_answers.detectors import jaccard_similarity
from tests.annotation.test_rules import of

TEXTS = AnswerFormat.from_values(
    (), level="nominal", has_sides=False, is_text=True, records_typing=True, hidden_line=True
)
OURS = (
    "A brown dog runs through a field of tall dry grass",
    "Two girls in red coats wait beside an old blue bus",
    "The cook in the white hat turns a pancake in the air",
    "Several boats with yellow sails cross a grey harbour",
    "An old man reads the paper on a bench by the river",
)

# by hand: 220 ms between keys, half of the gaps from 150 to 300
BY_HAND = {"keys": 60, "bursts": 3, "typing_ms": 57 * 220, "gap_ms": 220, "gap_spread_ms": 150, "text": 50}


def writes(texts: Sequence[WrittenAnswer], others: Sequence[OthersText] = ()) -> History:
    given = [
        OwnJudgment(place // 5, place, NAN, NAN, is_pasted=float(is_pasted(one.signals)), written_answer=one)
        for place, one in enumerate(texts)
    ]
    return make_history(
        given, {}, answer_format=TEXTS, total=len(given), new_count=len(given), others_texts=others
    )


def typed(count: int = 5, **signals: int) -> History:
    return writes([WrittenAnswer(text, BY_HAND | signals) for text in OURS[:count]])


def test_a_hand_is_no_sign() -> None:
    assert make_rule("typing", {}).examine(typed()) is None


@pytest.mark.parametrize(("signals", "said"), [
    # 57 gaps in 1.9 s are 30 keys a second; the record is 18
    ({"typing_ms": 1900, "gap_ms": 33, "gap_spread_ms": 20}, "Typed too fast: 5 (limit in characters per second: 20;"),
    ({"gap_ms": 100, "gap_spread_ms": 2, "typing_ms": 5700}, "With nearly equal times between key presses: 5."),
])  # fmt: skip
def test_keys_that_no_hand_presses_are_found(signals: dict[str, int], said: str) -> None:
    found = make_rule("typing", {}).examine(typed(**signals))
    assert found is not None
    assert said in found.sentence
    assert found.evidence["texts"][0]["own"] == OURS[0]


@pytest.mark.parametrize("signals", [
    {"keys": 12, "bursts": 1, "typing_ms": 100},  # a phone or an input method: hardly a key
    {"gap_ms": 0, "gap_spread_ms": 0},  # a clock too coarse for a rhythm
])  # fmt: skip
def test_what_cannot_be_read_is_no_sign(signals: dict[str, int]) -> None:
    assert make_rule("typing", {}).examine(typed(**signals)) is None


def test_answers_without_counts_neither_clear_nor_accuse() -> None:
    unread = [WrittenAnswer(text) for text in OURS]
    assert make_rule("typing", {"least": 1}).examine(writes(unread)) is None
    fast = [WrittenAnswer(text, BY_HAND | {"typing_ms": 900}) for text in OURS[:3]]
    found = make_rule("typing", {}).examine(writes([*unread, *fast]))
    assert found is not None
    assert found.evidence["n"] == 3


def test_pasted_is_what_makes_half_of_the_text() -> None:
    assert is_pasted({"text": 50, "from_paste": 25, "pasted": 25})
    # a name was pasted, or all of it and then written anew
    assert not is_pasted({"text": 50, "from_paste": 8, "pasted": 8})
    assert not is_pasted({"text": 50, "from_paste": 0, "pasted": 50})
    assert is_pasted({"pasted": 3})  # not recorded: all that is known
    pasted = {"text": 50, "from_paste": 50, "pasted": 50, "away": 1}
    found = make_rule("pasted-text", {}).examine(writes([WrittenAnswer(text, pasted) for text in OURS]))
    assert found is not None
    assert "100\N{NO-BREAK SPACE}% of all characters were pasted" in found.sentence


def test_the_answers_during_which_the_tab_was_left_are_counted_among_the_pasted_ones_only() -> None:
    pasted_and_away = {"text": 50, "from_paste": 50, "pasted": 50, "away": 1}
    pasted_at_once = {"text": 50, "from_paste": 50, "pasted": 50, "away": 0}
    typed_and_away = {"text": 50, "from_paste": 0, "pasted": 0, "away": 2}
    signals = [*[pasted_and_away] * 2, pasted_at_once, *[typed_and_away] * 3]
    found = make_rule("pasted-text", {}).examine(writes([WrittenAnswer(OURS[0], one) for one in signals]))
    assert found is not None
    assert "Written answers that were pasted: 3 of 6." in found.sentence
    assert "left the browser tab during 2 of the pasted answers" in found.sentence


def test_others_sentences_of_other_items_are_found_beside_each_other() -> None:
    own = [WrittenAnswer(text) for text in OURS]
    # others wrote three of them, of other items
    others = [
        OthersText(7, 100, "A brown dog runs through a field of tall, dry grasses."),
        OthersText(8, 101, "two girls in red coats wait beside an old blue bus!"),
        OthersText(8, 102, "The cook in a white hat turns a pancake in the air"),
        OthersText(9, 103, "A plane stands alone on a wet runway at night"),
    ]
    found = make_rule("phrasing", {}).examine(writes(own, others))
    assert found is not None
    assert (found.evidence["alike"], found.evidence["n"], found.evidence["people"]) == (3, 5, 2)
    assert {"own": OURS[1], "other": others[1].text, "by": 8, "similar": 1.0} in found.evidence["texts"]
    assert (
        "Answers that are nearly equal to answers of other participants about other items: 3 of 5"
        in found.sentence
    )


def test_the_same_sentence_about_the_same_item_is_no_sign() -> None:
    others = [OthersText(7, unit, text) for unit, text in enumerate(OURS)]
    assert make_rule("phrasing", {}).examine(writes([WrittenAnswer(text) for text in OURS], others)) is None


def test_nobody_is_flagged_because_others_copied_them() -> None:
    own = [WrittenAnswer(text, position=place) for place, text in enumerate(OURS)]
    later = [OthersText(7, 100 + place, text, position=50) for place, text in enumerate(OURS)]
    assert make_rule("phrasing", {}).examine(writes(own, later)) is None
    earlier = [one._replace(position=0) for one in later]
    assert make_rule("phrasing", {}).examine(writes(own, earlier)) is not None


def test_short_answers_are_alike_without_harm() -> None:
    short = ["A dog runs"] * 5
    others = [OthersText(7, 100 + place, text) for place, text in enumerate(short)]
    assert make_rule("phrasing", {}).examine(writes([WrittenAnswer(text) for text in short], others)) is None


def test_similarity_is_jaccards() -> None:
    # abcd, bcde, cdef and bcde, cdef, defg: two of four
    assert jaccard_similarity(frozenset({"abcd", "bcde", "cdef"}), frozenset({"bcde", "cdef", "defg"})) == 0.5


def test_the_hidden_lines_word_is_found_as_a_word_of_its_own_page() -> None:
    rule = make_rule("canary", {})
    found = rule.examine(
        writes(
            [WrittenAnswer(f"{OURS[0]}, albeit slowly.", {}, "albeit"), WrittenAnswer(OURS[1], {}, "albeit")]
        )
    )
    assert found is not None
    assert "Answers with the word from the hidden line of the page (albeit): 1 of 2." in found.sentence
    assert "(albeit)" in found.sentence
    # the word of another page, and a part of a word
    assert rule.examine(writes([WrittenAnswer(f"{OURS[0]}, albeit slowly.", {}, "cogent")])) is None
    assert rule.examine(writes([WrittenAnswer("A nascentish sun over the sea", {}, "nascent")])) is None


def test_signs_do_not_apply_where_nothing_was_noted() -> None:
    plain = AnswerFormat.from_values((), level="nominal", has_sides=False, is_text=True)
    triplet = AnswerFormat.from_values((1, 2), level="nominal", has_sides=True)
    assert [name for name, rule in RULES.items() if rule.only_flags] == [
        "pasted-text",
        "typing",
        "phrasing",
        "canary",
    ]
    assert [
        name for name in ("pasted-text", "typing", "phrasing", "canary") if RULES[name].applies_to(plain)
    ] == [
        "pasted-text",
        "phrasing",
    ]
    assert not any(
        RULES[name].applies_to(triplet) for name in ("pasted-text", "typing", "phrasing", "canary")
    )


def test_pasted_text_is_found_and_a_single_one_is_not() -> None:
    rule = make_rule("pasted-text", {})
    assert rule.examine(of([NAN] * 4, pasted=[1.0, 1.0, 0.0, 1.0])) is not None
    assert rule.examine(of([NAN] * 4, pasted=[1.0, 0.0, 0.0, 0.0])) is None
