"""Mechanical Turk's documents: questions, answers, pages and tests, and what the service would refuse."""

from __future__ import annotations

import json
import re
import urllib.request
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.stub import Stubber
from defusedxml.ElementTree import fromstring
from django.utils.translation import gettext, override
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.crowds.mturk.answers import AnswersUnreadable, FieldAnswer, fields_of, parse_answer_document
from annotation.crowds.mturk.notifications.messages import Subscription, read_sns, read_sqs
from annotation.crowds.mturk.pages import answers_of_page, html_question
from annotation.crowds.mturk.questions import (
    MAX_BYTES,
    QuestionProblem,
    external_question,
    html_question_of,
    replace_forbidden,
)
from annotation.crowds.mturk.requirements import qualification_requirements, require_masters, score_at_least
from annotation.crowds.opening import close_study, open_study
from annotation.models import Assignment, Judgment, Participation
from annotation.work.claims import claim_assignment
from annotation.work.sheet.units import units_of_hit
from annotation.work.submissions import submit_assignment
from common.errors import WrongState
from judgments.design.countries import COUNTRIES
from judgments.design.reading.checking import make_design
from judgments.design.requirements import Workers
from judgments.models import Item, Study
from judgments.studies.designs import design_of
from judgments.studies.generation.hits import generate_hits
from judgments.studies.studies import create_study
from tests.annotation.casting import joined, make_dataset, make_study
from tests.annotation.crowds.framing import make_hit
from tests.annotation.crowds.turking import CROWD, kinds_of, same_money, sync, up
from tests.fakes.mturk import Clock, MTurkEmulator
from tests.fakes.mturk.questions import answers_document
from tests.fakes.mturk.sns import certificate
from tests.fakes.turking import NOON, mturk_client, put_up, sqs_client
from tests.refusals import refuses

if TYPE_CHECKING:
    from mypy_boto3_mturk import MTurkClient

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
    assert content_of(html_question_of(page, hit="h")) == replace_forbidden(page)


def test_the_limit_is_one_of_bytes_and_names_the_hit_and_its_size() -> None:
    most = MAX_BYTES - len(html_question_of("", hit="h").encode())
    assert len(html_question_of("é" * (most // 2) + "e" * (most % 2), hit="h").encode()) == 65_535
    with refuses(QuestionProblem, "hit-9", "65,535"):
        html_question_of("é" * (most // 2 + 1), hit="hit-9")


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
    assert parse_answer_document(DOCUMENTED) == (
        FieldAnswer("nextmove", ("C3",)),
        FieldAnswer("likelytowin", ("notlikely",)),
    )


def test_a_prefix_for_the_namespace_changes_nothing() -> None:
    prefixed = DOCUMENTED.replace("xmlns=", "xmlns:q=").replace("<", "<q:").replace("<q:/", "</q:")
    assert parse_answer_document(prefixed) == parse_answer_document(DOCUMENTED)


def test_references_and_empty_fields_are_text() -> None:
    given = document(
        answer("a", "caf&#233; &lt;b&gt; &#x1F415;"),
        answer("b", ""),
        "<QuestionIdentifier>c</QuestionIdentifier>",
    )
    assert fields_of(parse_answer_document(given)) == {"a": "café <b> 🐕", "b": "", "c": ""}


def test_several_answers_of_one_name_are_joined_and_equal_ones_count_once() -> None:
    given = parse_answer_document(
        document(answer("u1", "1"), answer("u1", "2"), answer("u2", "1"), answer("u2", "1"))
    )
    assert [one.name for one in given] == ["u1", "u1", "u2", "u2"]
    assert fields_of(given) == {"u1": "1|2", "u2": "1"}
    assert fields_of(parse_answer_document(document(answer("box", "a|b")))) == {"box": "a|b"}
    several = "<QuestionIdentifier>s</QuestionIdentifier><SelectionIdentifier>a</SelectionIdentifier>"
    assert fields_of(
        parse_answer_document(document(f"{several}<SelectionIdentifier>b</SelectionIdentifier>"))
    ) == {"s": "a|b"}


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
    assert fields_of(parse_answer_document(document(answer("a", f"x{sent}y"), answer("b", "2")))) == {
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
        (BOMB, "document type"),
        (OUTSIDE, "document type"),
        ("<" * 2_000_001, "2,000,001 bytes"),
        (document(answer("a", "é" * 5_000_000)), "bytes.*2,000,000"),
        (document(*[answer("a", "")] * 5_001), "5,001 fields"),
        (document(root="HTMLQuestion"), "expected QuestionFormAnswers"),
        (document(schema="http://example.org/QuestionFormAnswers.xsd"), "expected QuestionFormAnswers"),
        (DOCUMENTED.replace(f' xmlns="{SCHEMA}"', ""), "expected QuestionFormAnswers"),
        (document("<FreeText>1</FreeText>"), "Answer 1 names"),
        (document(answer("a", "1"), answer(" ", "1")), r"\b2\b.*names"),
        (document(answer("a", "1") + answer("b", "1")), "Answer 1 names"),
        (DOCUMENTED.replace("Answer>", "Other>"), "Answer 1 names"),
        ("<a>" * 100_000, "no XML"),
    ],
)  # fmt: skip
def test_what_is_no_such_document_is_refused_by_name(sent: str, why: str) -> None:
    with pytest.raises(AnswersUnreadable, match=why):
        parse_answer_document(sent)


def test_what_stands_inside_a_value_is_text_and_other_elements_are_left_out() -> None:
    given = document(answer("a", "x<b>y</b>z") + "<Extra>no</Extra>")
    assert parse_answer_document(given) == (FieldAnswer("a", ("xyz",)),)
    deep = document(answer("a", "<b>" * 100_000 + "1" + "</b>" * 100_000))
    assert fields_of(parse_answer_document(deep)) == {"a": "1"}


@settings(deadline=None)
@given(st.text(SIGNS, max_size=100))
def test_no_text_does_anything_but_be_read_or_refused(sent: str) -> None:
    for whole in (sent, document(answer("a", sent))):
        try:
            parse_answer_document(whole)
        except AnswersUnreadable as refused:
            assert str(refused)  # noqa: PT017  # nothing else may be raised


def page_study(**values: object) -> Study:
    dataset = make_dataset(pictures=False)
    for item in Item.objects.all():
        item.url = f"https://pictures.example/{item.position}.jpg"
        item.save()
    wanted = {
        "name": "Pages", "dataset": dataset.name, "protocol": "triplet", "judgments_per_unit": 2, "units_per_hit": 4,
        "sampling": {"pairs": {"MM": 4}, "references": 1}, "controls": {"per_hit": 0},
        "crowd": CROWD | {"question": "html"}, "question": "Which is closer?",
    }  # fmt: skip
    study = create_study(design=make_design(wanted | values))
    generate_hits(study=study)
    return study


def answers_on(turk: MTurkEmulator, external_id: str, *, layout: str = "0", leave: int = 0) -> dict[str, str]:
    """The first answer to every question of the page as the service holds it."""
    page = turk.world.hits[external_id].question.xml
    fields: dict[str, str] = {}
    for name, value in re.findall(r'<input type="radio" name="([^"]+)" value="([^"]+)"', page):
        fields.setdefault(name, value)
    kept = dict(list(fields.items())[: len(fields) - leave])
    return kept | {"layout": layout}


def test_answers_become_judgments_as_they_were_shown(turk: MTurkEmulator) -> None:
    study = page_study()
    open_study(study=study)
    (publication,) = up(study)
    for name, layout in (("ada", "0"), ("ben", "1")):
        turk.turker(f"A{name.upper()}").work(
            publication.external_id, answers_on(turk, publication.external_id, layout=layout)
        )
    assert sync(study).discrepancies == []
    assert set(Assignment.objects.values_list("state", flat=True)) == {"submitted"}
    drawn, mirrored = Assignment.objects.order_by("session__pk")
    assert drawn.order == mirrored.order
    assert [not side for side in drawn.flips] == mirrored.flips
    # the same place was pressed on the page and on its mirror
    pairs = zip(
        Judgment.objects.filter(assignment=drawn).order_by("unit"),
        Judgment.objects.filter(assignment=mirrored).order_by("unit"),
        strict=True,
    )
    assert all({first.value, second.value} == {1, 2} for first, second in pairs)
    assert sync(study, thorough=True).assignments_by_state == {"submitted": 2}
    assert Judgment.objects.count() == 8


def test_the_page_is_in_the_study_s_language(turk: MTurkEmulator) -> None:
    arabic = {"question": "أيهما أقرب؟", "instructions": "اقرأ كل شيء."}
    study = page_study(language="ar-EG", instructions="Read all.", translations={"ar": arabic})
    open_study(study=study)
    (publication,) = up(study)
    page = turk.world.hits[publication.external_id].question.xml
    assert '<html lang="ar" dir="rtl">' in page
    with override("ar"):
        assert gettext("Comment (optional)") in page
    assert "أيهما أقرب؟" in page
    assert "Read all." not in page
    turk.turker("AADA").work(publication.external_id, answers_on(turk, publication.external_id))
    assert sync(study).assignments_by_state == {"submitted": 1}


def test_work_that_leaves_questions_out_is_named_and_stores_nothing(turk: MTurkEmulator) -> None:
    study = page_study()
    open_study(study=study)
    (publication,) = up(study)
    fields = answers_on(turk, publication.external_id, leave=1)
    turk.turker("AADA").work(publication.external_id, fields)
    turk.turker("ABEN").work(publication.external_id, {"layout": "9"})
    assert kinds_of(sync(study)) == ["no-answers", "no-answers"]
    assert not Judgment.objects.exists()
    same_money(study, turk)


def test_who_did_not_agree_to_the_consent_text_leaves_nothing(turk: MTurkEmulator) -> None:
    study = page_study(consent="You may **stop** at any time.")
    open_study(study=study)
    (publication,) = up(study)
    fields = answers_on(turk, publication.external_id)
    turk.turker("AADA").work(publication.external_id, {**fields, "consent": "1"})
    turk.turker("ABEN").work(publication.external_id, fields)
    (found,) = sync(study).discrepancies
    assert found.kind == "no-answers"
    assert "consent text" in found.words
    assert Assignment.objects.get().state == "submitted"
    assert Participation.objects.get(study=study).consented_at is not None


def test_a_quiz_that_such_a_page_could_not_ask_is_refused_before_anything_is_put_up(
    turk: MTurkEmulator,
) -> None:
    study = page_study(quiz={"items": 2})
    with pytest.raises(WrongState, match=r"quiz\.items"):
        open_study(study=study)
    assert turk.world.hits == {}


def test_who_hands_in_after_the_study_closed_here_is_taken(turk: MTurkEmulator) -> None:
    study = page_study()
    open_study(study=study)
    (publication,) = up(study)
    taken = turk.turker("AADA").accept(publication.external_id)
    close_study(study=study)
    turk.turker("AADA").submit(taken.assignment_id, answers_on(turk, publication.external_id))
    assert sync(study).discrepancies == []
    assert Assignment.objects.get().state == "submitted"


def test_pictures_that_workers_cannot_load_are_refused_before_anything_is_published(
    turk: MTurkEmulator,
) -> None:
    study = page_study(protocol="graded", sampling={})
    Item.objects.update(url="")
    with pytest.raises(WrongState, match="pictures"):
        open_study(study=study)
    assert turk.dump()["hits"] == []


HOSTS = ("https://workersandbox.mturk.com",)


@pytest.mark.django_db
@pytest.mark.parametrize("layout", ["0", "1"])
@pytest.mark.parametrize("protocol", ["triplet", "pairwise"])
def test_a_submission_through_mechanical_turk_is_stored_in_the_units_own_order(
    protocol: str, layout: str
) -> None:
    dataset = make_dataset(pictures=False)
    for item in dataset.items.all():
        Item.objects.filter(pk=item.pk).update(url=f"https://pictures.example.org/{item.pk}.jpg")
    study = make_study(dataset, protocol)
    claim = claim_assignment(study=study, worker=joined(study).worker)
    assert claim is not None
    assignment = claim.assignment
    design, hit = design_of(study), assignment.hit
    assert hit is not None
    units = units_of_hit(hit.pk)
    assert html_question(design=design, hit=hit, units=units, hosts=HOSTS)
    fields = [(f"u{n}", "1") for n in range(1, len(units) + 1)]
    found = answers_of_page(
        answers_document([*fields, ("layout", layout)]), design=design, hit=hit, units=units
    )
    assignment.order, assignment.flips = found.layout.order, found.layout.sides
    assignment.save(update_fields=["order", "flips"])
    submit_assignment(assignment=assignment, answers=found.answers)
    stored = dict(Judgment.objects.filter(assignment=assignment).values_list("unit_id", "value"))
    # whoever took the first shown took the second of the unit where sides were swapped
    assert stored == {
        units[unit].pk: 2 if side else 1
        for unit, side in zip(found.layout.order, found.layout.sides, strict=True)
    }
    assert {1, 2} == set(stored.values())


@pytest.mark.django_db
def test_ticks_of_a_self_contained_page_are_stored_for_every_caption_of_its_pictures() -> None:
    dataset = make_dataset(pictures=False)
    dataset.items.update(url="https://pictures.example.org/a.jpg")
    study = make_study(dataset, "relevance")
    claim = claim_assignment(study=study, worker=joined(study).worker)
    assert claim is not None
    assert claim.assignment.hit is not None
    design, units = design_of(study), units_of_hit(claim.assignment.hit.pk)
    none = [(f"none{n}", "1") for n in range(1, len(units) + 1)]
    found = answers_of_page(answers_document(none), design=design, hit=claim.assignment.hit, units=units)
    assert found.missing_positions == []
    submit_assignment(assignment=claim.assignment, answers=found.answers)
    assert set(Judgment.objects.values_list("value", flat=True)) == {0}
    assert Judgment.objects.count() == len(units)


ARN = "arn:aws:sns:us-east-1:000000000000:mturk"


@pytest.fixture
def emulator() -> Iterator[MTurkEmulator]:
    """$100.00 prepaid, a clock that stands still."""
    with MTurkEmulator(seed=5, clock=Clock(at=NOON), balance_cents=10_000) as running:
        yield running


@pytest.fixture
def client(emulator: MTurkEmulator) -> Iterator[MTurkClient]:
    """The requester's boto3 client."""
    made = mturk_client(emulator)
    yield made
    made.close()


def test_a_page_is_published_worked_on_and_read_back(emulator: MTurkEmulator, client: MTurkClient) -> None:
    design, hit, units = make_hit("best-worst", units=3)
    hosts = [emulator.endpoint_url]
    question = html_question(design=design, hit=hit, units=units, hosts=hosts)
    hit_id = put_up(client, Question=question)["HITId"]
    ann = emulator.turker("AANN")
    taken = ann.accept(hit_id)
    assert b"data-mirror" in urllib.request.urlopen(taken.url).read()
    fields = [(f"u{n}-{end}", place) for n in (1, 2, 3) for end, place in (("best", "3"), ("worst", "1"))]
    ann.submit(taken.assignment_id, [*fields, ("layout", "1"), ("t1", "4.20"), ("comment", "Größe 🐕")])
    document = client.get_assignment(AssignmentId=taken.assignment_id)["Assignment"]["Answer"]
    found = answers_of_page(document, design=design, hit=hit, units=units)
    assert [one["answer"] for one in found.answers] == [{"best": 3, "worst": 1}] * 3
    assert (found.answers[0]["seconds"], found.missing_positions) == (4.2, [])


def test_an_external_question_and_all_requirements_are_taken(client: MTurkClient) -> None:
    workers = Workers(countries=("US", "DE"), approval_above=0.95, approved_at_least=500)
    question = external_question(url="https://quorum.example.org/?a=1&b=2", hit="h")
    made = put_up(client, Question=question, QualificationRequirements=qualification_requirements(workers))
    assert client.get_hit(HITId=made["HITId"])["HIT"]["Question"] == question


def listen(client: MTurkClient, hit_type: str, destination: str, transport: Any) -> None:
    client.update_notification_settings(
        HITTypeId=hit_type,
        Notification={
            "Destination": destination,
            "Transport": transport,
            "Version": "2014-08-15",
            "EventTypes": ["AssignmentSubmitted"],
        },
    )


def test_a_queue_s_bodies_are_read(emulator: MTurkEmulator, client: MTurkClient) -> None:
    queue = emulator.queues.create("events")
    hit = put_up(client)
    listen(client, hit["HITTypeId"], queue, "SQS")
    emulator.turker("AANN").work(hit["HITId"], {"a": "1"})
    sqs = sqs_client(emulator)
    body = sqs.receive_message(QueueUrl=queue)["Messages"][0]["Body"]
    assert read_sqs(body) == {hit["HITId"]}
    sqs.close()


@pytest.mark.parametrize("version", ["1", "2"])
def test_what_the_service_signs_is_believed(emulator: MTurkEmulator, version: str) -> None:
    emulator.topics.signature_version = version
    emulator.topics.base_url = "https://sns.us-east-1.amazonaws.com"
    events = '{"Events": [{"EventType": "Ping", "HITId": "3H"}]}'
    address = "https://sns.us-east-1.amazonaws.com/?Action=ConfirmSubscription"
    for content, expected in (
        ({"Type": "Notification", "Message": events}, {"3H"}),
        (
            {"Type": "SubscriptionConfirmation", "Message": "x", "Token": "t", "SubscribeURL": address},
            Subscription(address),
        ),
    ):
        body = json.dumps(emulator.topics.signed(ARN, content))
        assert read_sns(body, topic=ARN, now=NOON, fetch_certificate=lambda _: certificate()) == expected


def test_requirements_are_what_boto3_takes() -> None:
    workers = Workers(countries=("US", "GB"), approval_above=0.95, approved_at_least=500, hits_at_most=3)
    more = [score_at_least("3QUIZ", 80), require_masters(live=False)]
    asked = qualification_requirements(workers, extra=more)
    assert [(one["QualificationTypeId"], one["Comparator"]) for one in asked] == [
        ("00000000000000000071", "In"),
        ("000000000000000000L0", "GreaterThan"),
        ("00000000000000000040", "GreaterThanOrEqualTo"),
        ("3QUIZ", "GreaterThanOrEqualTo"),
        ("2ARFPLSP75KLA8M8DH1HTEQVJT3SY6", "Exists"),
    ]
    assert asked[0]["LocaleValues"] == [{"Country": "US"}, {"Country": "GB"}]
    assert [one.get("IntegerValues") for one in asked[1:4]] == [[95], [500], [80]]
    assert require_masters(live=True)["QualificationTypeId"] == "2F1QJWKUDD8XADTFD2Q0G6UTO95ALH"
    parameters: dict[str, Any] = {
        "AssignmentDurationInSeconds": 600,
        "Reward": "0.10",
        "Title": "x",
        "Description": "x",
        "QualificationRequirements": asked,
    }
    client = boto3.client("mturk", region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="x")
    with Stubber(client) as service:  # validates the request with botocore's own model
        service.add_response("create_hit_type", {"HITTypeId": "3TYPE"}, parameters)
        assert client.create_hit_type(**parameters)["HITTypeId"] == "3TYPE"


@pytest.mark.parametrize(("above", "percent"), [(0.95, 95), (0.29, 29), (0.955, 95), (0.999, 99), (0.005, 0)])
def test_an_approval_rate_is_asked_for_in_whole_percent(above: float, percent: int) -> None:
    (asked,) = qualification_requirements(Workers(approval_above=above))
    assert asked["IntegerValues"] == [percent]


def test_what_nobody_fulfils_or_the_service_does_not_take_is_refused() -> None:
    with refuses(QuestionProblem, "nobody", "100"):
        qualification_requirements(Workers(approval_above=1))
    assert len(qualification_requirements(Workers(countries=tuple(COUNTRIES)[:30]))[0]["LocaleValues"]) == 30
    with refuses(QuestionProblem, "countries", "31", "30"):
        qualification_requirements(Workers(countries=tuple(COUNTRIES)[:31]))
    nine = [score_at_least(f"3QUIZ{number}", 1) for number in range(9)]
    assert len(qualification_requirements(Workers(countries=("US",)), extra=nine)) == 10
    with pytest.raises(QuestionProblem, match="11 requirements"):
        qualification_requirements(Workers(countries=("US",), approved_at_least=1), extra=nine)
    assert qualification_requirements(Workers(hits_at_most=4)) == []
