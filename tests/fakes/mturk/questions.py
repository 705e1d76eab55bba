"""Question documents in, answer documents out; answer keys between.

Schemas are those of AWS's data structure articles: ExternalQuestion 2006-07-14, HTMLQuestion 2011-11-11,
QuestionForm 2017-11-06, AnswerKey and QuestionFormAnswers 2005-10-01.
"""

import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit
from xml.etree.ElementTree import Element, ParseError
from xml.sax.saxutils import escape

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from tests.fakes.mturk.errors import ParameterValidationError

SCHEMAS = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/"
EXTERNAL = f"{{{SCHEMAS}2006-07-14/ExternalQuestion.xsd}}"
HTML = f"{{{SCHEMAS}2011-11-11/HTMLQuestion.xsd}}"
ANSWER_KEY = f"{{{SCHEMAS}2005-10-01/AnswerKey.xsd}}"
ANSWERS = f"{SCHEMAS}2005-10-01/QuestionFormAnswers.xsd"
FORM = re.compile(re.escape(f"{{{SCHEMAS}") + r"(2005-10-01|2009-09-01|2017-11-06)/QuestionForm\.xsd\}")
LONGEST = 65_535  # bytes (D)
RESERVED = {"assignmentId", "hitId", "workerId", "turkSubmitTo"}  # the service's own parameters (D)


@dataclass(frozen=True)
class Field:
    """A question of a QuestionForm: options are empty where text is asked for."""

    identifier: str
    texts: tuple[str, ...]
    options: tuple[tuple[str, str], ...]
    several: bool


@dataclass(frozen=True)
class Question:
    """A parsed question document: a page elsewhere, a page of its own, or a form to be laid out."""

    xml: str
    kind: str  # external, html, form
    url: str = ""
    html: str = ""
    frame_height: int = 0
    fields: tuple[Field, ...] = ()

    def address(self, parameters: dict[str, str]) -> str:
        """The external page's address with the service's parameters behind its own."""
        parts = urlsplit(self.url)
        query = urlencode([*parse_qsl(parts.query, keep_blank_values=True), *parameters.items()])
        return urlunsplit(parts._replace(query=query))


def parse_question(xml: str) -> Question:
    """A HIT's question."""
    root = _root(xml, "Question")
    if root.tag == f"{EXTERNAL}ExternalQuestion":
        return Question(xml, "external", url=_external_url(root), frame_height=_frame_height(root, EXTERNAL))
    if root.tag == f"{HTML}HTMLQuestion":
        content = root.findtext(f"{HTML}HTMLContent") or ""
        if not content.strip():
            raise _malformed("Question", "HTMLContent is missing or empty")
        return Question(xml, "html", html=content, frame_height=_frame_height(root, HTML))
    return Question(xml, "form", fields=_form_fields(root, "Question"))


def parse_test(xml: str) -> tuple[Field, ...]:
    """A qualification test: a QuestionForm and nothing else (D)."""
    return _form_fields(_root(xml, "Test"), "Test")


def _root(xml: str, parameter: str) -> Element:
    if len(xml.encode()) > LONGEST:
        raise ParameterValidationError(f"{parameter} is larger than {LONGEST} bytes.")
    try:
        root: Element = fromstring(xml, forbid_dtd=True)
    except (ParseError, DefusedXmlException, ValueError) as error:
        raise _malformed(parameter, f"the XML cannot be parsed ({error})") from error
    return root


def _malformed(parameter: str, why: str) -> ParameterValidationError:
    return ParameterValidationError(
        f"There was an error parsing the XML question or answer data in your request ({parameter}): {why}."
    )


def _external_url(root: Element) -> str:
    """Https, and without the reserved parameters (D); http is let through on the own machine, as a test needs."""
    url = (root.findtext(f"{EXTERNAL}ExternalURL") or "").strip()
    parts = urlsplit(url)
    at_home = parts.scheme == "http" and parts.hostname in {"127.0.0.1", "localhost"}
    if not parts.hostname or not (parts.scheme == "https" or at_home):
        raise _malformed("Question", f"ExternalURL must be an https address, not {url!r}")
    taken = RESERVED & {name for name, _ in parse_qsl(parts.query, keep_blank_values=True)}
    if taken:
        raise _malformed("Question", f"ExternalURL uses reserved parameters: {', '.join(sorted(taken))}")
    return url


def _frame_height(root: Element, schema: str) -> int:
    said = (root.findtext(f"{schema}FrameHeight") or "").strip()
    if not said.isdecimal():
        raise _malformed("Question", "FrameHeight must be a whole number of pixels")
    return int(said)  # 0: the whole window (D, HTMLQuestion)


def _form_fields(root: Element, parameter: str) -> tuple[Field, ...]:
    schema = FORM.match(root.tag)
    if not schema or root.tag[schema.end() :] != "QuestionForm":
        raise _malformed(parameter, f"{root.tag} is no question document")
    space = schema.group()
    fields = []
    for question in root.iter(f"{space}Question"):
        identifier = (question.findtext(f"{space}QuestionIdentifier") or "").strip()
        answer = question.find(f"{space}AnswerSpecification")
        if not identifier or answer is None:
            raise _malformed(parameter, "a Question lacks its QuestionIdentifier or AnswerSpecification")
        content = question.find(f"{space}QuestionContent")
        texts = tuple(text.text or "" for text in content.iter(f"{space}Text")) if content is not None else ()
        selection = answer.find(f"{space}SelectionAnswer")
        several = selection is not None and int(selection.findtext(f"{space}MaxSelectionCount") or 1) > 1
        options = tuple(
            (option.findtext(f"{space}SelectionIdentifier") or "", option.findtext(f"{space}Text") or "")
            for option in answer.iter(f"{space}Selection")
        )
        fields.append(Field(identifier, texts, options, several))
    if not fields:
        raise _malformed(parameter, "a QuestionForm needs a Question")
    return tuple(fields)


def answers_document(fields: list[tuple[str, str]]) -> str:
    """QuestionFormAnswers of a posted form: one Answer a field, check boxes joined by `|`, ASCII (?)."""
    joined: dict[str, list[str]] = {}
    for name, value in fields:
        joined.setdefault(name, []).append(value)
    answers = [(name, f"<FreeText>{_text('|'.join(values))}</FreeText>") for name, values in joined.items()]
    return _document(answers)


def form_answers_document(fields: tuple[Field, ...], posted: list[tuple[str, str]]) -> str:
    """The same for a QuestionForm, where options come back as SelectionIdentifier."""
    answers = []
    for field in fields:
        values = [value for name, value in posted if name == field.identifier]
        tag = "SelectionIdentifier" if field.options else "FreeText"
        answers.append((field.identifier, "".join(f"<{tag}>{_text(value)}</{tag}>" for value in values)))
    return _document(answers)


def _document(answers: list[tuple[str, str]]) -> str:
    inner = "\n".join(
        f"<Answer>\n<QuestionIdentifier>{_text(name)}</QuestionIdentifier>\n{value}\n</Answer>"
        for name, value in answers
    )
    return (
        '<?xml version="1.0" encoding="ASCII"?>'
        f'<QuestionFormAnswers xmlns="{ANSWERS}">{inner}</QuestionFormAnswers>'
    )


def _text(value: str) -> str:
    allowed = "".join(
        letter for letter in value if letter in "\t\n\r" or " " <= letter <= "\ud7ff" or letter >= "\ue000"
    )
    return escape(allowed).encode("ascii", "xmlcharrefreplace").decode("ascii")


def score(answer_key: str, posted: list[tuple[str, str]]) -> int:
    """The value of a test: the scores of the chosen options, summed and mapped (D, AnswerKey article)."""
    root = _key_root(answer_key)
    total = 0
    for question in root.iter(f"{ANSWER_KEY}Question"):
        identifier = question.findtext(f"{ANSWER_KEY}QuestionIdentifier")
        chosen = {value for name, value in posted if name == identifier}
        points = int(question.findtext(f"{ANSWER_KEY}DefaultScore") or 0)
        for option in question.iter(f"{ANSWER_KEY}AnswerOption"):
            wanted = {node.text for node in option.iter(f"{ANSWER_KEY}SelectionIdentifier")}
            if wanted == chosen:
                points = int(option.findtext(f"{ANSWER_KEY}AnswerScore") or 0)
        total += points
    return _mapped(root, total)


def check_answer_key(answer_key: str) -> None:
    """Refuses what is no answer key."""
    _mapped(_key_root(answer_key), 0)


def _key_root(answer_key: str) -> Element:
    root = _root(answer_key, "AnswerKey")
    if root.tag != f"{ANSWER_KEY}AnswerKey":
        raise _malformed("AnswerKey", f"{root.tag} is no answer key")
    return root


def _mapped(root: Element, total: int) -> int:
    def number(path: str, inside: Element) -> int:
        said = (inside.findtext(f"{ANSWER_KEY}{path}") or "").strip()
        if not re.fullmatch(r"-?\d+", said):
            raise _malformed("AnswerKey", f"{path} must be a whole number")
        return int(said)

    mapping = root.find(f"{ANSWER_KEY}QualificationValueMapping")
    if mapping is None:
        return total
    if (percentage := mapping.find(f"{ANSWER_KEY}PercentageMapping")) is not None:
        best = number("MaximumSummedScore", percentage)
        return (200 * total + best) // (2 * best) if best > 0 else 0
    raise _malformed("AnswerKey", "QualificationValueMapping holds no PercentageMapping")
