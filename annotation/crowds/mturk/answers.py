"""Parse the XML in which Mechanical Turk returns the form fields that a worker's page posted.

An example, without the namespace::

    <QuestionFormAnswers>
      <Answer><QuestionIdentifier>u1</QuestionIdentifier><FreeText>2</FreeText></Answer>
    </QuestionFormAnswers>

Workers control every field, and any page may have posted the fields. So no field is trusted: units and expected answers
come from the database.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from xml.etree.ElementTree import Element, ParseError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import fromstring

from annotation.crowds.mturk.questions import NON_XML, REPLACEMENT_CHARACTER, SCHEMAS, replace_forbidden
from common.errors import QuorumError

MAX_ANSWER_BYTES = 2_000_000  # thirty times the size of the longest question
MAX_FIELDS = 5_000  # many times the number of fields of the longest page
VALUE_SEPARATOR = "|"  # between the values of a field that has several
# the tag of the root element, with the namespace of some version in braces, as ElementTree writes it
ROOT_TAG = re.compile(
    rf"\{{{re.escape(SCHEMAS)}/\d{{4}}-\d\d-\d\d/QuestionFormAnswers\.xsd\}}QuestionFormAnswers"
)
CHARACTER_REFERENCE = re.compile(r"&#(?:x([0-9a-fA-F]+)|([0-9]+));")  # such as &#x1F600; or &#128512;
# The two halves by which UTF-16 represents a character beyond U+FFFF. Some browsers send each as a reference.
SURROGATE_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")

# elements of an answer that hold values
VALUE_ELEMENTS = ("FreeText", "SelectionIdentifier", "OtherSelectionText", "UploadedFileKey")


class AnswersUnreadable(QuorumError):
    """Raised if a worker's answers are not in the service's format, or do not fit the page."""

    title = "The answers cannot be read"


@dataclass(frozen=True, slots=True)
class FieldAnswer:
    """One ``Answer`` element: the name of the field and its values in order."""

    name: str
    values: tuple[str, ...]


def parse_answer_document(document: str) -> tuple[FieldAnswer, ...]:
    """Return the answers in document order, including repeated names.

    Characters that XML does not allow are replaced, so that one invalid character does not lose a worker's answers.
    """
    size = len(document.encode("utf-8", "replace"))
    if size > MAX_ANSWER_BYTES:
        raise AnswersUnreadable(
            f"The answers are {size:,} bytes long; expected at most {MAX_ANSWER_BYTES:,}."
        )
    try:
        tree: Element = fromstring(_repair_document(document), forbid_dtd=True)
    except ParseError as error:
        raise AnswersUnreadable(f"The answers are no XML: {error}.") from None
    except DefusedXmlException:
        raise AnswersUnreadable(
            "The answers declare a document type or entities; expected a plain QuestionFormAnswers."
        ) from None
    if not ROOT_TAG.fullmatch(tree.tag):
        raise AnswersUnreadable(f"The answers are a {tree.tag[:200]!r}; expected QuestionFormAnswers.")
    if len(tree) > MAX_FIELDS:
        raise AnswersUnreadable(f"The answers have {len(tree):,} fields; expected at most {MAX_FIELDS:,}.")
    namespace = tree.tag.removesuffix("QuestionFormAnswers")
    return tuple(_read_answer(element, namespace, number) for number, element in enumerate(tree, start=1))


def _read_answer(answer: Element, namespace: str, number: int) -> FieldAnswer:
    names = [child.text or "" for child in answer if child.tag == f"{namespace}QuestionIdentifier"]
    if answer.tag != f"{namespace}Answer" or len(names) != 1 or not names[0].strip():
        raise AnswersUnreadable(
            f"Answer {number} names no field; expected an Answer with one QuestionIdentifier."
        )
    value_tags = {f"{namespace}{value}" for value in VALUE_ELEMENTS}
    return FieldAnswer(
        name=names[0].strip(),
        values=tuple("".join(child.itertext()) for child in answer if child.tag in value_tags),
    )


def fields_of(answers: Iterable[FieldAnswer]) -> dict[str, str]:
    """Return the values of the form's fields by name, such as ``{"u1": "2", "u2": "a|b"}``.

    If a field has several values, as check boxes do, the different values are joined. If a field with a single value
    was sent with two, this gives an invalid value, which is refused later.
    """
    values_by_name: dict[str, list[str]] = {}
    for answer in answers:
        values = values_by_name.setdefault(answer.name, [])
        values += [value for value in answer.values if value not in values]
    return {name: VALUE_SEPARATOR.join(values) for name, values in values_by_name.items()}


def _repair_document(document: str) -> str:
    """Return the document in a form that an XML parser accepts.

    Surrogate pairs are joined to the characters that they represent, and other characters that XML does not allow are
    replaced.
    """
    text = CHARACTER_REFERENCE.sub(_repair_reference, document)
    text = SURROGATE_PAIR.sub(_join_surrogates, text)
    return replace_forbidden(text)


def _join_surrogates(pair: re.Match[str]) -> str:
    return pair[0].encode("utf-16", "surrogatepass").decode("utf-16")


def _repair_reference(reference: re.Match[str]) -> str:
    """Return what replaces a character reference.

    This is the reference itself if XML allows its character, the half of a surrogate pair if the reference is to one,
    and the replacement character otherwise.
    """
    # eight digits are enough for every character; longer numbers would be slow to read
    digits, base = (reference[1], 16) if reference[1] else (reference[2], 10)
    code_point = int(digits, base) if len(digits.lstrip("0")) <= 8 else 0  # 0 is not allowed
    if 0xD800 <= code_point <= 0xDFFF:
        return chr(code_point)  # half of a surrogate pair, joined later
    if code_point > 0x10FFFF or NON_XML.match(chr(code_point)):
        return REPLACEMENT_CHARACTER
    return reference[0]
