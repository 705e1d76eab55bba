"""What a written caption is refused for, rule by rule, and what people wrote for the published datasets."""

import re

import pytest

from judgments.kinds.caption_rules import RULES, CaptionRule, broken_rules, count_words, rules_for, tidy_text

HARD = [rule for rule in RULES if rule.hard]
SOFT = [rule for rule in RULES if not rule.hard]


def name(rule: CaptionRule) -> str:
    return rule.id


def language_of(rule: CaptionRule) -> str:
    unspaced = ("far-too-long", "several-sentences-elsewhere")  # their examples are written without blanks
    return rule.languages[0] if rule.languages else "ja" if rule.id in unspaced else "en"


@pytest.mark.parametrize("rule", RULES, ids=name)
def test_a_rule_finds_its_own_example(rule: CaptionRule) -> None:
    assert rule in broken_rules(rule.bad_example, language_of(rule))


@pytest.mark.parametrize("rule", RULES, ids=name)
def test_the_better_example_of_a_rule_breaks_no_rule_at_all(rule: CaptionRule) -> None:
    assert [found.id for found in broken_rules(rule.good_example, language_of(rule)) if found.hard] == []
    assert rule not in broken_rules(rule.good_example, language_of(rule))


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.pattern], ids=name)
def test_patterns_keep_to_what_python_and_javascript_read_alike(rule: CaptionRule) -> None:
    # shorthand classes differ in Unicode, lookbehind is missing in older browsers, named groups are written apart
    assert not re.search(r"\\[a-zA-Z]|\(\?<|\(\?P|\(\?i|\(\?#", rule.pattern)


def test_ids_are_used_once_and_hard_rules_come_first() -> None:
    assert len({rule.id for rule in RULES}) == len(RULES)
    assert [rule.hard for rule in RULES] == [True] * len(HARD) + [False] * len(SOFT)


@pytest.mark.parametrize(
    "text",
    [
        "Two dogs run through the snow .",
        "A man wearing a U.S. Navy cap waves to a St. Bernard.",
        'A boy holds a sign that reads "STOP" in front of a school.',
        "A u-shaped pipe lies next to a moped.",
        "A woman with no shoes stands in 2 ft. of water.",
        "كلب أبيض يركض على الشاطئ.",
        "Ein Hund läuft durch den Schnee.",
        "Jenny is kicking a football to Mike.",
    ],
)
def test_a_plain_description_is_never_refused(text: str) -> None:
    assert [rule.id for rule in broken_rules(text, "en") if rule.hard] == []


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("A man is running. A dog follows him.", "several-sentences"),
        ("A man is running . A dog follows", "several-sentences"),
        ("“Look at that cat!”", "dialogue"),
        ("Mike: look at this bird over there", "dialogue"),
        ("a a dog is in the water", "twice"),
        ("A boy called Tom eats an ice cream.", "named"),
        ("What a beautiful picture of a lake", "comment"),
        ("I don't know what this is", "comment"),
        ("THE DOG RUNS FAST", "capitals"),
        ("looooool this is a dog", "gibberish"),
        ("<b>A dog</b> runs through the snow", "address"),
        ("", "too-short"),
        ("\u200b \u200e ... !!! ???", "too-short"),
    ],
)
def test_what_the_papers_turn_down_is_refused(text: str, rule: str) -> None:
    assert rule in [found.id for found in broken_rules(text, "en") if found.hard]


def test_a_language_without_blanks_is_not_asked_for_three_words() -> None:
    text = "两只狗在雪地里奔跑。"
    assert [rule.id for rule in broken_rules(text, "zh-Hans") if rule.hard] == []
    assert "too-short" in [rule.id for rule in broken_rules(text, "en")]


def test_rules_about_english_words_are_for_english_captions_alone() -> None:
    english = {rule.id for rule in rules_for("en-GB")} - {rule.id for rule in rules_for("de")}
    assert {"twice", "a-or-an", "chat", "capital"} <= english
    assert {"too-short", "dialogue", "address"} <= {rule.id for rule in rules_for("de")}


def test_only_white_space_is_changed() -> None:
    assert tidy_text("  Zwei\u00a0Hunde\n\trennen ,  e\u0301 ") == "Zwei Hunde rennen , e\u0301"


def test_words_hold_a_letter_or_a_digit() -> None:
    assert count_words("A dog - 2 m tall - runs .") == 6
