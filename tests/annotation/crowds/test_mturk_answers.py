"""QuestionFormAnswers: what workers send is read whole, or refused by name; it never does anything."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.crowds.mturk.pages import (
    AnswersUnreadable,
    FieldAnswer,
    fields_of,
    read_answers,
)

SCHEMA = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2005-10-01/QuestionFormAnswers.xsd"
# letters, signs of XML, what XML cannot hold, halves of a pair
SIGNS = st.sampled_from("ab1 é🐕\n\r\t\x00\x1f\ufffe\ud83d\udc15&#;x<>/!?[]\"'=|")
# the example of "QuestionFormAnswers", Mechanical Turk API Reference
DOCUMENTED = f"""<QuestionFormAnswers xmlns="{SCHEMA}">
  <Answer>
    <QuestionIdentifier>nextmove</QuestionIdentifier>
    <FreeText>C3</FreeText>
  </Answer>
  <Answer>
    <QuestionIdentifier>likelytowin</QuestionIdentifier>
    <SelectionIdentifier>notlikely</SelectionIdentifier>
  </Answer>
</QuestionFormAnswers>"""


def document(*answers: str, root: str = "QuestionFormAnswers", schema: str = SCHEMA) -> str:
    inside = "".join(f"<Answer>{answer}</Answer>" for answer in answers)
    return f'<?xml version="1.0" encoding="ASCII"?><{root} xmlns="{schema}">{inside}</{root}>'


def answer(name: str, *values: str) -> str:
    return f"<QuestionIdentifier>{name}</QuestionIdentifier>" + "".join(
        f"<FreeText>{value}</FreeText>" for value in values
    )


def test_the_documented_example_is_read() -> None:
    assert read_answers(DOCUMENTED) == (
        FieldAnswer("nextmove", ("C3",)),
        FieldAnswer("likelytowin", ("notlikely",)),
    )


def test_a_prefix_for_the_namespace_changes_nothing() -> None:
    prefixed = DOCUMENTED.replace("xmlns=", "xmlns:q=").replace("<", "<q:").replace("<q:/", "</q:")
    assert read_answers(prefixed) == read_answers(DOCUMENTED)


def test_references_and_empty_fields_are_text() -> None:
    given = document(
        answer("a", "caf&#233; &lt;b&gt; &#x1F415;"),
        answer("b", ""),
        "<QuestionIdentifier>c</QuestionIdentifier>",
    )
    assert fields_of(read_answers(given)) == {"a": "café <b> 🐕", "b": "", "c": ""}


def test_several_answers_of_one_name_are_joined_and_equal_ones_count_once() -> None:
    given = read_answers(document(answer("u1", "1"), answer("u1", "2"), answer("u2", "1"), answer("u2", "1")))
    assert [one.name for one in given] == ["u1", "u1", "u2", "u2"]
    assert fields_of(given) == {"u1": "1|2", "u2": "1"}
    assert fields_of(read_answers(document(answer("box", "a|b")))) == {"box": "a|b"}
    several = "<QuestionIdentifier>s</QuestionIdentifier><SelectionIdentifier>a</SelectionIdentifier>"
    assert fields_of(read_answers(document(f"{several}<SelectionIdentifier>b</SelectionIdentifier>"))) == {
        "s": "a|b"
    }


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("&#0;", "\ufffd"),
        ("a\x00b", "a\ufffdb"),
        ("&#x1F;", "\ufffd"),
        ("&#xD83D;&#xDC15;", "🐕"),
        ("&#55357;&#56341;", "🐕"),
        ("&#xD83D;", "\ufffd"),
        ("&#99999999999999999999;", "\ufffd"),
        ("&#13;&#10;", "\r\n"),
    ],
)
def test_letters_that_no_xml_may_hold_do_not_lose_the_rest(sent: str, kept: str) -> None:
    assert fields_of(read_answers(document(answer("a", f"x{sent}y"), answer("b", "2")))) == {
        "a": f"x{kept}y",
        "b": "2",
    }


BOMB = (
    '<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY a "ha">'
    + "".join(f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefgh", "bcdefghi", strict=True))
    + f']><QuestionFormAnswers xmlns="{SCHEMA}">&i;</QuestionFormAnswers>'
)
OUTSIDE = (
    '<!DOCTYPE q [<!ENTITY f SYSTEM "file:///etc/passwd">]>'
    f'<QuestionFormAnswers xmlns="{SCHEMA}">&f;</QuestionFormAnswers>'
)


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        ("", "no XML"),
        ("u1=1&u2=2", "no XML"),
        (DOCUMENTED[:-9], "no XML"),
        (document(answer("a", "&nbsp;")), "no XML"),
        (BOMB, "document type or entities"),
        (OUTSIDE, "document type or entities"),
        ("<" * 2_000_001, "2,000,001 bytes"),
        (document(answer("a", "é" * 5_000_000)), "bytes long; expected at most 2,000,000"),
        (document(*[answer("a", "")] * 5_001), "5,001 fields"),
        (document(root="HTMLQuestion"), "expected QuestionFormAnswers"),
        (document(schema="http://example.org/QuestionFormAnswers.xsd"), "expected QuestionFormAnswers"),
        (DOCUMENTED.replace(f' xmlns="{SCHEMA}"', ""), "expected QuestionFormAnswers"),
        (document("<FreeText>1</FreeText>"), "Answer 1 names no field"),
        (document(answer("a", "1"), answer(" ", "1")), "Answer 2 names no field"),
        (document(answer("a", "1") + answer("b", "1")), "Answer 1 names no field"),
        (DOCUMENTED.replace("Answer>", "Other>"), "Answer 1 names no field"),
        ("<a>" * 100_000, "no XML"),
    ],
)  # fmt: skip
def test_what_is_no_such_document_is_refused_by_name(sent: str, why: str) -> None:
    with pytest.raises(AnswersUnreadable, match=why):
        read_answers(sent)


def test_what_stands_inside_a_value_is_text_and_other_elements_are_left_out() -> None:
    given = document(answer("a", "x<b>y</b>z") + "<Extra>no</Extra>")
    assert read_answers(given) == (FieldAnswer("a", ("xyz",)),)
    deep = document(answer("a", "<b>" * 100_000 + "1" + "</b>" * 100_000))
    assert fields_of(read_answers(deep)) == {"a": "1"}


@settings(deadline=None)
@given(st.text(SIGNS, max_size=100))
def test_no_text_does_anything_but_be_read_or_refused(sent: str) -> None:
    for whole in (sent, document(answer("a", sent))):
        try:
            read_answers(whole)
        except AnswersUnreadable as refused:
            assert str(refused)  # noqa: PT017  # nothing else may be raised
