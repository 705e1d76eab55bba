"""Make the XML of questions at Mechanical Turk.

A question is the content of a HIT: the address of a page that is shown in a frame (ExternalQuestion), or a whole HTML
document (HTMLQuestion). Sources: "ExternalQuestion", "HTMLQuestion" and "Data Structure Schema Locations" of the
Mechanical Turk API Reference.
"""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, urlsplit
from xml.etree.ElementTree import Element, SubElement, tostring

from common.errors import QuorumError
from common.http.addresses import THIS_MACHINE

SCHEMAS = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas"
EXTERNAL_QUESTION = f"{SCHEMAS}/2006-07-14/ExternalQuestion.xsd"
HTML_QUESTION = f"{SCHEMAS}/2011-11-11/HTMLQuestion.xsd"

REPLACEMENT_CHARACTER = "\ufffd"  # replaces characters that cannot be shown

# XML 1.0 section 2.2 does not allow these characters, not even as references
NON_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

MAX_BYTES = 65_535  # the largest size of a question
# parameters that the service adds to an address
RESERVED_NAMES = ("assignmentId", "hitId", "turkSubmitTo", "workerId")
CONTENT_PLACEHOLDER = "quorum-content"  # stands for the page; no other text of the XML contains it

FRAME_HEIGHT = 0  # pixels; 0 means as high as the worker's window


def replace_forbidden(text: str) -> str:
    return NON_XML.sub(REPLACEMENT_CHARACTER, text)


def root_element(name: str, namespace: str) -> Element:
    return Element(name, {"xmlns": namespace})


def add_element(parent: Element, name: str, text: str | int | None = None) -> Element:
    child = SubElement(parent, name)
    if text is not None:
        child.text = replace_forbidden(str(text))
    return child


def document_text(document: Element) -> str:
    return tostring(document, encoding="unicode")


class QuestionProblem(QuorumError):
    """Raised if a HIT cannot be a question at Mechanical Turk."""

    title = "Mechanical Turk cannot take this question"


def external_question(*, url: str, hit: str, loopback: bool = False) -> str:
    """Return the XML that shows ``url`` in a frame. The service adds ``RESERVED_NAMES`` to the query of the address.

    Args:
        hit: the HIT's key, for errors.
        loopback: whether to allow an address of this machine without https, for rehearsals.
    """
    _check_address(url, hit=hit, loopback=loopback)
    document = root_element("ExternalQuestion", EXTERNAL_QUESTION)
    add_element(document, "ExternalURL", url)
    add_element(document, "FrameHeight", FRAME_HEIGHT)
    return _check_question_size(document_text(document), hit=hit)


def html_question_of(page: str, *, hit: str) -> str:
    """Return the XML that contains ``page``, a whole HTML document, in CDATA."""
    document = root_element("HTMLQuestion", HTML_QUESTION)
    add_element(document, "HTMLContent", CONTENT_PLACEHOLDER)
    add_element(document, "FrameHeight", FRAME_HEIGHT)
    before, _placeholder, after = document_text(document).partition(CONTENT_PLACEHOLDER)
    # CDATA ends at the first "]]>", so each "]]>" in the page is divided between two sections
    content = replace_forbidden(page).replace("]]>", "]]]]><![CDATA[>")
    return _check_question_size(f"{before}<![CDATA[{content}]]>{after}", hit=hit)


def _check_address(url: str, *, hit: str, loopback: bool) -> None:
    """Raise QuestionProblem if the service would not show the address, or if the parameters it adds would get lost."""
    try:
        parts = urlsplit(url)
        host, _port = parts.hostname, parts.port  # reading the port raises ValueError if it is malformed
    except ValueError:
        raise QuestionProblem(f"HIT {hit}: {url!r} is no address; expected https://host/path.") from None
    is_local_emulator = loopback and parts.scheme == "http" and host in THIS_MACHINE
    if not host or not (parts.scheme == "https" or is_local_emulator):
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
    names = {name.lower() for name, _value in parse_qsl(parts.query, keep_blank_values=True)}
    reserved_names = [name for name in RESERVED_NAMES if name.lower() in names]
    if reserved_names:
        raise QuestionProblem(
            f"HIT {hit}: the address {url!r} has a parameter {reserved_names[0]!r}, which Mechanical Turk sets itself."
        )


def _check_question_size(question: str, *, hit: str) -> str:
    """Return the question. Raise QuestionProblem if it is too long."""
    size = len(question.encode())
    if size > MAX_BYTES:
        raise QuestionProblem(
            f"HIT {hit}: its question is {size:,} bytes long, and Mechanical Turk takes {MAX_BYTES:,}; ask for less "
            'in a HIT, or set crowd.question to "external".'
        )
    return question
