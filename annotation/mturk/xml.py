"""What all documents of Mechanical Turk share: namespaces, elements, characters that XML can hold.

Namespaces and their dates: "Data Structure Schema Locations" of the Mechanical Turk API Reference.
"""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element, SubElement, tostring

SCHEMAS = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas"
EXTERNAL_QUESTION = f"{SCHEMAS}/2006-07-14/ExternalQuestion.xsd"
HTML_QUESTION = f"{SCHEMAS}/2011-11-11/HTMLQuestion.xsd"
QUESTION_FORM = f"{SCHEMAS}/2017-11-06/QuestionForm.xsd"
ANSWER_KEY = f"{SCHEMAS}/2005-10-01/AnswerKey.xsd"
QUESTION_FORM_ANSWERS = f"{SCHEMAS}/2005-10-01/QuestionFormAnswers.xsd"

INSTEAD = "\ufffd"  # the sign for a character that cannot be shown
# XML 1.0 section 2.2 allows no others, not even as references
FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def storable(text: str) -> str:
    """``text`` with a sign in the place of each character that no XML document can hold."""
    return FORBIDDEN.sub(INSTEAD, text)


def root(name: str, namespace: str) -> Element:
    """The outermost element; those inside it belong to the same namespace."""
    return Element(name, {"xmlns": namespace})


def add(parent: Element, name: str, text: str | int | None = None) -> Element:
    """A new last child of ``parent``."""
    child = SubElement(parent, name)
    if text is not None:
        child.text = storable(str(text))
    return child


def written(document: Element) -> str:
    """The document as text, without a declaration: the service takes it as a string parameter."""
    return tostring(document, encoding="unicode")
