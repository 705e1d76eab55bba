"""Mechanical Turk's XML: questions (ExternalQuestion, HTMLQuestion), answers, and their errors.

Namespaces and their dates: "Data Structure Schema Locations" of the Mechanical Turk API Reference.

Workers control every field, and another page may have posted it, so nothing is trusted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit
from xml.etree.ElementTree import Element, ParseError, SubElement, tostring

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import fromstring

from common.errors import QuorumError
from common.incoming.services import THIS_MACHINE

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
    return _short_enough(serialized(document), hit=hit)


def html_question_of(page: str, *, hit: str) -> str:
    """Return the XML that contains ``page``, a whole HTML document, in CDATA."""
    document = root("HTMLQuestion", HTML_QUESTION)
    add(document, "HTMLContent", CONTENT)
    add(document, "FrameHeight", FOLLOWS_THE_WINDOW)
    before, _, after = serialized(document).partition(CONTENT)
    # CDATA ends at the first "]]>", so split one inside the page
    inside = storable(page).replace("]]>", "]]]]><![CDATA[>")
    return _short_enough(f"{before}<![CDATA[{inside}]]>{after}", hit=hit)


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


def _short_enough(question: str, *, hit: str) -> str:
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
