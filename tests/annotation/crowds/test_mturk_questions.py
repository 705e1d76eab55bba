"""The XML of a HIT's question: what the service would refuse is refused here, by name."""

import pytest
from defusedxml.ElementTree import fromstring
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.crowds.mturk.pages import (
    MOST_BYTES,
    QuestionProblem,
    external_question,
    html_question_of,
    storable,
)

# "Data Structure Schema Locations", Mechanical Turk API Reference
EXTERNAL = (
    "{http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2006-07-14/ExternalQuestion.xsd}"
)
HTML = "{http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2011-11-11/HTMLQuestion.xsd}"


def content_of(question: str) -> str:
    return fromstring(question).findtext(f"{HTML}HTMLContent") or ""


def test_a_frame_holds_the_address_with_all_its_parameters() -> None:
    url = "https://quorum.example.org/mturk/?study=a&hit=b%26c"
    question = external_question(url=url, hit="h1")
    assert "study=a&amp;hit=b%26c" in question
    found = fromstring(question)
    assert found.tag == f"{EXTERNAL}ExternalQuestion"
    assert [(part.tag, part.text) for part in found] == [
        (f"{EXTERNAL}ExternalURL", url),
        (f"{EXTERNAL}FrameHeight", "0"),
    ]


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://quorum.example.org/", "https addresses only"),
        ("//quorum.example.org/", "https addresses only"),
        ("https:///work", "https addresses only"),
        ("https://[::1/", "no address"),
        ("https://host:port/", "no address"),
        ("https://example.org/a b", "blanks"),
        ("https://example.org/?a=\x00", "blanks or control"),
        ("https://ada:secret@example.org/", "a name or a fragment"),
        ("https://example.org/#top", "a name or a fragment"),
        ("https://example.org/?assignmentId=1", "'assignmentId'"),
        ("https://example.org/?a=1&hitId", "'hitId'"),
        ("https://example.org/?turkSubmitTo=", "'turkSubmitTo'"),
        ("https://example.org/?WORKERID=1", "'workerId'"),
    ],
)
def test_an_address_that_mechanical_turk_would_not_show_is_refused_with_its_hit(url: str, why: str) -> None:
    with pytest.raises(QuestionProblem, match=why) as refused:
        external_question(url=url, hit="hit-0042")
    assert "hit-0042" in str(refused.value)


def test_a_machine_s_own_address_may_do_without_https_where_that_is_said() -> None:
    assert "http://127.0.0.1:8000/" in external_question(url="http://127.0.0.1:8000/", hit="h", loopback=True)
    with pytest.raises(QuestionProblem):
        external_question(url="http://192.0.2.1:8000/", hit="h", loopback=True)
    with pytest.raises(QuestionProblem):
        external_question(url="http://127.0.0.1:8000/", hit="h")


def test_a_page_stands_in_cdata_and_may_hold_its_end() -> None:
    page = "<!doctype html><p>]]></p><p>]]]]>></p><script>a[b[0]]>1</script>]]"
    question = html_question_of(page, hit="h1")
    assert "<HTMLContent><![CDATA[<!doctype html>" in question
    assert content_of(question) == page
    assert fromstring(question).findtext(f"{HTML}FrameHeight") == "0"


@settings(deadline=None)
@given(st.text(st.sampled_from("]><![CDATA&quorum-content é🐕\n\x00\ud800"), max_size=60))
def test_any_page_comes_out_as_it_went_in_but_for_what_xml_cannot_hold(page: str) -> None:
    assert content_of(html_question_of(page, hit="h")) == storable(page)


def test_the_limit_is_one_of_bytes_and_names_the_hit_and_its_size() -> None:
    most = MOST_BYTES - len(html_question_of("", hit="h").encode())
    assert len(html_question_of("é" * (most // 2) + "e" * (most % 2), hit="h").encode()) == 65_535
    with pytest.raises(QuestionProblem, match=r"HIT hit-9: its question is 65,5\d\d bytes .* takes 65,535"):
        html_question_of("é" * (most // 2 + 1), hit="hit-9")
