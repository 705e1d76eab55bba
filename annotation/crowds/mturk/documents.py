"""Mechanical Turk's XML: questions (ExternalQuestion, HTMLQuestion), answers and qualification tests; requirements.

Sources: "Data Structure Schema Locations" and "QualificationRequirement" of the Mechanical Turk API Reference. Workers
control every field of an answer, and another page may have posted it, so nothing is trusted.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any
from urllib.parse import parse_qsl, urlsplit
from xml.etree.ElementTree import Element, ParseError, SubElement, tostring

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import fromstring

from common.errors import QuorumError
from common.incoming.services import THIS_MACHINE
from judgments.design.requirements import (
    Question,
    Quiz,
    Workers,
    asks_anything,
    questions_asked,
    questions_of,
    reaches_pass_mark,
)
from judgments.drawing.material import rng_for, shuffled

SCHEMAS = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas"
EXTERNAL_QUESTION = f"{SCHEMAS}/2006-07-14/ExternalQuestion.xsd"
HTML_QUESTION = f"{SCHEMAS}/2011-11-11/HTMLQuestion.xsd"
QUESTION_FORM = f"{SCHEMAS}/2017-11-06/QuestionForm.xsd"
ANSWER_KEY = f"{SCHEMAS}/2005-10-01/AnswerKey.xsd"

INSTEAD = "\ufffd"  # replaces characters that cannot be shown
# XML 1.0 section 2.2 allows no others, not even as references
FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

MOST_BYTES = 65_535
RESERVED = ("assignmentId", "hitId", "turkSubmitTo", "workerId")
CONTENT = "quorum-content"  # the place of the page; no other text of that document contains it
MOST_ANSWER_BYTES = 2_000_000  # thirty times the longest question
MOST_FIELDS = 5_000
JOINED = "|"  # separates the checked values of one name
ANSWERS = re.compile(
    rf"\{{{re.escape(SCHEMAS)}/\d{{4}}-\d\d-\d\d/QuestionFormAnswers\.xsd\}}QuestionFormAnswers"
)
REFERENCE = re.compile(r"&#(?:x([0-9a-fA-F]+)|([0-9]+));")
PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
# elements of an answer that hold values
VALUES = ("FreeText", "SelectionIdentifier", "OtherSelectionText", "UploadedFileKey")
FOLLOWS_THE_WINDOW = 0  # a frame's height in pixels


def storable(text: str) -> str:
    return FORBIDDEN.sub(INSTEAD, text)


def root(name: str, namespace: str) -> Element:
    return Element(name, {"xmlns": namespace})


def add(parent: Element, name: str, text: str | int | None = None) -> Element:
    child = SubElement(parent, name)
    if text is not None:
        child.text = storable(str(text))
    return child


def serialized(document: Element) -> str:
    return tostring(document, encoding="unicode")


class QuestionProblem(QuorumError):
    title = "Mechanical Turk cannot take this question"


class AnswersUnreadable(QuorumError):
    title = "The answers cannot be read"


def external_question(*, url: str, hit: str, loopback: bool = False) -> str:
    """Return the XML that shows ``url`` in a frame; the service adds its four parameters.

    Args:
        hit: the HIT's key, for errors.
        loopback: allow an address of this machine without https, for rehearsals.
    """
    _check_address(url, hit=hit, loopback=loopback)
    document = root("ExternalQuestion", EXTERNAL_QUESTION)
    add(document, "ExternalURL", url)
    add(document, "FrameHeight", FOLLOWS_THE_WINDOW)
    return _check_question_size(serialized(document), hit=hit)


def html_question_of(page: str, *, hit: str) -> str:
    """Return the XML that contains ``page``, a whole HTML document, in CDATA."""
    document = root("HTMLQuestion", HTML_QUESTION)
    add(document, "HTMLContent", CONTENT)
    add(document, "FrameHeight", FOLLOWS_THE_WINDOW)
    before, _, after = serialized(document).partition(CONTENT)
    # CDATA ends at the first "]]>", so split one inside the page
    inside = storable(page).replace("]]>", "]]]]><![CDATA[>")
    return _check_question_size(f"{before}<![CDATA[{inside}]]>{after}", hit=hit)


def _check_address(url: str, *, hit: str, loopback: bool) -> None:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port  # raises for a malformed port
    except ValueError:
        raise QuestionProblem(f"HIT {hit}: {url!r} is no address; expected https://host/path.") from None
    local = loopback and parts.scheme == "http" and host in THIS_MACHINE
    if not host or not (parts.scheme == "https" or local):
        raise QuestionProblem(
            f"HIT {hit}: its page is at {url!r}; Mechanical Turk shows https addresses only."
        )
    if any(character.isspace() or not character.isprintable() for character in url):
        raise QuestionProblem(f"HIT {hit}: the address {url!r} holds blanks or control characters.")
    if "@" in parts.netloc or parts.fragment:
        raise QuestionProblem(
            f"HIT {hit}: the address {url!r} holds a name or a fragment, which Mechanical Turk's parameters would "
            "be lost behind; expected https://host/path?query."
        )
    names = {name.lower() for name, _ in parse_qsl(parts.query, keep_blank_values=True)}
    taken = [name for name in RESERVED if name.lower() in names]
    if taken:
        raise QuestionProblem(
            f"HIT {hit}: the address {url!r} has a parameter {taken[0]!r}, which Mechanical Turk sets itself."
        )


def _check_question_size(question: str, *, hit: str) -> str:
    size = len(question.encode())
    if size > MOST_BYTES:
        raise QuestionProblem(
            f"HIT {hit}: its question is {size:,} bytes long, and Mechanical Turk takes {MOST_BYTES:,}; ask for less "
            'in a HIT, or set crowd.question to "external".'
        )
    return question


@dataclass(frozen=True, slots=True)
class FieldAnswer:
    """One ``Answer``: the field's name and its values in order."""

    name: str
    values: tuple[str, ...]


def read_answers(document: str) -> tuple[FieldAnswer, ...]:
    """Return the answers in document order, including repeated names.

    Characters that XML cannot hold are replaced, so that one bad letter does not lose a worker's answers.
    """
    size = len(document.encode("utf-8", "replace"))
    if size > MOST_ANSWER_BYTES:
        raise AnswersUnreadable(
            f"The answers are {size:,} bytes long; expected at most {MOST_ANSWER_BYTES:,}."
        )
    try:
        tree: Element = fromstring(_repaired(document), forbid_dtd=True)
    except ParseError as error:
        raise AnswersUnreadable(f"The answers are no XML: {error}.") from None
    except DefusedXmlException:
        raise AnswersUnreadable(
            "The answers declare a document type or entities; expected a plain QuestionFormAnswers."
        ) from None
    if not ANSWERS.fullmatch(tree.tag):
        raise AnswersUnreadable(f"The answers are a {tree.tag[:200]!r}; expected QuestionFormAnswers.")
    if len(tree) > MOST_FIELDS:
        raise AnswersUnreadable(f"The answers have {len(tree):,} fields; expected at most {MOST_FIELDS:,}.")
    namespace = tree.tag.removesuffix("QuestionFormAnswers")
    return tuple(_answer(element, namespace, number) for number, element in enumerate(tree, start=1))


def _answer(answer: Element, namespace: str, number: int) -> FieldAnswer:
    names = [part.text or "" for part in answer if part.tag == f"{namespace}QuestionIdentifier"]
    if answer.tag != f"{namespace}Answer" or len(names) != 1 or not names[0].strip():
        raise AnswersUnreadable(
            f"Answer {number} names no field; expected an Answer with one QuestionIdentifier."
        )
    wanted = {f"{namespace}{value}" for value in VALUES}
    return FieldAnswer(
        name=names[0].strip(),
        values=tuple("".join(part.itertext()) for part in answer if part.tag in wanted),
    )


def fields_of(answers: Iterable[FieldAnswer]) -> dict[str, str]:
    """Return answers as form fields; join different values of one name, as of check boxes.

    A radio button with two values becomes an invalid choice, and is refused.
    """
    values: dict[str, list[str]] = {}
    for answer in answers:
        distinct = values.setdefault(answer.name, [])
        distinct += [value for value in answer.values if value not in distinct]
    return {name: JOINED.join(distinct) for name, distinct in values.items()}


def _repaired(document: str) -> str:
    """Make a document parseable: join surrogate pairs, replace other forbidden characters."""
    text = REFERENCE.sub(_allowed, document)
    text = PAIR.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)
    return storable(text)


def _allowed(reference: re.Match[str]) -> str:
    digits, base = (reference[1], 16) if reference[1] else (reference[2], 10)
    number = int(digits, base) if len(digits.lstrip("0")) <= 8 else 0
    if 0xD800 <= number <= 0xDFFF:
        return chr(number)  # half of a pair, joined later
    if number > 0x10FFFF or FORBIDDEN.match(chr(number)):
        return INSTEAD
    return reference[0]


LOCALE = "00000000000000000071"
PERCENT_APPROVED = "000000000000000000L0"
NUMBER_APPROVED = "00000000000000000040"
# the only built-in one with another id in the sandbox
MASTERS_SANDBOX = "2ARFPLSP75KLA8M8DH1HTEQVJT3SY6"
MASTERS_LIVE = "2F1QJWKUDD8XADTFD2Q0G6UTO95ALH"
MOST_REQUIREMENTS = 10
MOST_LOCALES = 30

Requirement = dict[str, Any]


def requirements_of(workers: Workers, *, more: Iterable[Requirement] = ()) -> list[Requirement]:
    """Return the design's worker requirements for boto3, followed by ``more``.

    The limit of HITs per person cannot be stated there and is checked here.
    """
    requirements: list[Requirement] = []
    if workers.countries:
        if len(workers.countries) > MOST_LOCALES:
            raise QuestionProblem(
                f"workers.countries names {len(workers.countries)} countries; Mechanical Turk takes {MOST_LOCALES}."
            )
        places = [{"Country": code} for code in workers.countries]
        requirements.append(_hidden(LOCALE, "In", LocaleValues=places))
    if workers.approval_above:
        requirements.append(
            _hidden(PERCENT_APPROVED, "GreaterThan", IntegerValues=[_percent(workers.approval_above)])
        )
    if workers.approved_at_least:
        requirements.append(
            _hidden(NUMBER_APPROVED, "GreaterThanOrEqualTo", IntegerValues=[workers.approved_at_least])
        )
    requirements += more
    if len(requirements) > MOST_REQUIREMENTS:
        raise QuestionProblem(
            f"The study has {len(requirements)} requirements of its workers; Mechanical Turk takes {MOST_REQUIREMENTS}."
        )
    return requirements


def score_at_least(qualification: str, value: int) -> Requirement:
    """Require a test; workers who have not taken it see the HIT and the test."""
    return {
        "QualificationTypeId": qualification,
        "Comparator": "GreaterThanOrEqualTo",
        "IntegerValues": [value],
        "ActionsGuarded": "Accept",
    }


def has(qualification: str, *, wanted: bool) -> Requirement:
    """Require one of our own qualifications, or that a worker lacks it."""
    return _hidden(qualification, "Exists" if wanted else "DoesNotExist")


def is_master(*, live: bool) -> Requirement:
    return _hidden(MASTERS_LIVE if live else MASTERS_SANDBOX, "Exists")


def _hidden(qualification: str, comparator: str, **values: Any) -> Requirement:
    return {
        "QualificationTypeId": qualification,
        "Comparator": comparator,
        **values,
        "ActionsGuarded": "DiscoverPreviewAndAccept",
    }


def _percent(above: float) -> int:
    """Return the whole percentage below the required one, since the comparison is strict."""
    percent = math.floor(Fraction(str(above)) * 100)  # as written in decimal: 0.29 is 29, not 28
    if percent >= 100:
        raise QuestionProblem(
            f"workers.approval_above is {above:g}, and nobody has more than 100 % approved; expected less than 1."
        )
    return percent


@dataclass(frozen=True, slots=True)
class QualificationTest:
    """A test for CreateQualificationType; its accuracy in percent becomes the qualification's value."""

    test: str
    answer_key: str
    questions: int
    needed: int


def qualification_test(quiz: Quiz, *, seed: int, title: str) -> QualificationTest:
    """Return the test for a study's quiz; ``seed`` draws its questions and the order of options."""
    if not asks_anything(quiz):
        raise QuestionProblem(
            "quiz asks nothing, so there is no test to make; expected quiz.preset or quiz.questions."
        )
    if quiz.items:
        raise QuestionProblem(
            f"quiz.items is {quiz.items}, but a test of Mechanical Turk has questions alone; expected 0, or "
            'crowd.question = "external".'
        )
    known = questions_of(quiz)
    rng = rng_for(seed, "mturk test")
    questions = [known[key] for key in shuffled(list(known), rng)[: questions_asked(quiz)]]
    orders = [shuffled(range(len(question.options)), rng) for question in questions]
    return QualificationTest(
        test=_check_document_size("test", serialized(_form(title, questions, orders))),
        answer_key=_check_document_size("answer key", serialized(_key(questions))),
        questions=len(questions),
        needed=percent_needed(len(questions), quiz.pass_mark),
    )


def percent_needed(questions: int, pass_mark: float) -> int:
    """Return the least passing percentage, rounded so that whoever passes here passes there.

    The rounding of halves is undocumented, so require the lower neighbour; it is still above the percentage of one
    correct answer less.
    """
    right = next(right for right in range(questions + 1) if reaches_pass_mark(right, questions, pass_mark))
    return math.ceil(Fraction(100 * right, questions) - Fraction(1, 2))


def _form(title: str, questions: Sequence[Question], orders: Sequence[Sequence[int]]) -> Element:
    document = root("QuestionForm", QUESTION_FORM)
    add(add(document, "Overview"), "Title", title)
    for number, (question, order) in enumerate(zip(questions, orders, strict=True), start=1):
        part = add(document, "Question")
        add(part, "QuestionIdentifier", _identifier(number))
        add(part, "DisplayName", f"{number} / {len(questions)}")
        add(part, "IsRequired", "true")
        add(add(part, "QuestionContent"), "Text", question.text)
        answer = add(add(part, "AnswerSpecification"), "SelectionAnswer")
        add(answer, "StyleSuggestion", "radiobutton")
        selections = add(answer, "Selections")
        for option in order:
            selection = add(selections, "Selection")
            add(selection, "SelectionIdentifier", _selection(option))
            add(selection, "Text", question.options[option])
    return document


def _key(questions: Sequence[Question]) -> Element:
    document = root("AnswerKey", ANSWER_KEY)
    for number, question in enumerate(questions, start=1):
        part = add(document, "Question")
        add(part, "QuestionIdentifier", _identifier(number))
        option = add(part, "AnswerOption")
        add(option, "SelectionIdentifier", _selection(question.right))
        add(option, "AnswerScore", 1)
    mapping = add(add(document, "QualificationValueMapping"), "PercentageMapping")
    add(mapping, "MaximumSummedScore", len(questions))
    return document


def _identifier(number: int) -> str:
    return f"q{number}"


def _selection(option: int) -> str:
    """Return an option's id by its index in the study, so that reshuffled tests have equal keys.

    The service wants letters and digits; the random order shown hides the index.
    """
    return f"o{option + 1}"


def _check_document_size(what: str, document: str) -> str:
    size = len(document.encode())
    if size > MOST_BYTES:
        raise QuestionProblem(
            f"The {what} of the quiz is {size:,} bytes long, and Mechanical Turk takes {MOST_BYTES:,}; expected fewer "
            "or shorter questions."
        )
    return document
