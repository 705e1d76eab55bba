"""Read and write Mechanical Turk's answer documents (QuestionFormAnswers).

Workers control every field, and another page may have posted it, so nothing is trusted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from xml.etree.ElementTree import Element, ParseError, tostring

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import fromstring

from annotation.crowds.mturk.questions import (
    FORBIDDEN,
    INSTEAD,
    QUESTION_FORM_ANSWERS,
    SCHEMAS,
    AnswersUnreadable,
    add,
    root,
    storable,
)

MOST_BYTES = 2_000_000  # thirty times the longest question
MOST_FIELDS = 5_000
JOINED = "|"  # separates the checked values of one name
ANSWERS = re.compile(
    rf"\{{{re.escape(SCHEMAS)}/\d{{4}}-\d\d-\d\d/QuestionFormAnswers\.xsd\}}QuestionFormAnswers"
)
REFERENCE = re.compile(r"&#(?:x([0-9a-fA-F]+)|([0-9]+));")
PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
# elements of an answer that hold values
VALUES = ("FreeText", "SelectionIdentifier", "OtherSelectionText", "UploadedFileKey")


@dataclass(frozen=True, slots=True)
class FieldAnswer:
    """One ``Answer``: the field's name and its values in order; an empty field has an empty value."""

    name: str
    values: tuple[str, ...]


def read_answers(document: str) -> tuple[FieldAnswer, ...]:
    """Return the answers in document order, including repeated names.

    Characters that XML cannot hold are replaced, so that one bad letter does not lose a worker's answers.

    Raises:
        AnswersUnreadable: the document is not XML, not QuestionFormAnswers, has a document type, or is too large.
    """
    size = len(document.encode("utf-8", "replace"))
    if size > MOST_BYTES:
        raise AnswersUnreadable(f"The answers are {size:,} bytes long; expected at most {MOST_BYTES:,}.")
    try:
        found: Element = fromstring(_repaired(document), forbid_dtd=True)
    except ParseError as error:
        raise AnswersUnreadable(f"The answers are no XML: {error}.") from None
    except DefusedXmlException:
        raise AnswersUnreadable(
            "The answers declare a document type or entities; expected a plain QuestionFormAnswers."
        ) from None
    if not ANSWERS.fullmatch(found.tag):
        raise AnswersUnreadable(f"The answers are a {found.tag[:200]!r}; expected QuestionFormAnswers.")
    if len(found) > MOST_FIELDS:
        raise AnswersUnreadable(f"The answers have {len(found):,} fields; expected at most {MOST_FIELDS:,}.")
    namespace = found.tag.removesuffix("QuestionFormAnswers")
    return tuple(_answer(one, namespace, place) for place, one in enumerate(found, start=1))


def _answer(answer: Element, namespace: str, place: int) -> FieldAnswer:
    names = [part.text or "" for part in answer if part.tag == f"{namespace}QuestionIdentifier"]
    if answer.tag != f"{namespace}Answer" or len(names) != 1 or not names[0].strip():
        raise AnswersUnreadable(
            f"Answer {place} names no field; expected an Answer with one QuestionIdentifier."
        )
    wanted = {f"{namespace}{value}" for value in VALUES}
    return FieldAnswer(
        name=names[0].strip(),
        values=tuple("".join(part.itertext()) for part in answer if part.tag in wanted),
    )


def fields_of(answers: Iterable[FieldAnswer]) -> dict[str, str]:
    """Return answers as form fields; join different values of one name, as check boxes are.

    A radio button with two values becomes an invalid choice, and is refused.
    """
    values: dict[str, list[str]] = {}
    for answer in answers:
        kept = values.setdefault(answer.name, [])
        kept += [value for value in answer.values if value not in kept]
    return {name: JOINED.join(kept) for name, kept in values.items()}


def write_answers(fields: Iterable[tuple[str, str]]) -> str:
    """Return the document for posted ``fields``, in ASCII with references as the service writes it."""
    document = root("QuestionFormAnswers", QUESTION_FORM_ANSWERS)
    for name, value in fields:
        answer = add(document, "Answer")
        add(answer, "QuestionIdentifier", name)
        add(answer, "FreeText", value)
    # parsers turn a bare carriage return into "\n", but not a reference to it
    text = tostring(document, encoding="us-ascii", xml_declaration=False).decode().replace("\r", "&#13;")
    return f'<?xml version="1.0" encoding="ASCII"?>{text}'


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
