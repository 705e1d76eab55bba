"""The question of a HIT: our page in a frame (ExternalQuestion), or a whole page (HTMLQuestion).

Rules: "ExternalQuestion" and "HTMLQuestion" of the Mechanical Turk API Reference; the limit is that of CreateHIT.
"""

from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit

from annotation.mturk.errors import QuestionProblem, QuestionTooLong
from annotation.mturk.xml import EXTERNAL_QUESTION, HTML_QUESTION, add, root, storable, written

MOST_BYTES = 65_535
RESERVED = ("assignmentId", "hitId", "turkSubmitTo", "workerId")
LOOPBACK = ("localhost", "127.0.0.1", "::1")
CONTENT = "quorum-content"  # stands where the page comes in; no other text of that document holds it


def external_question(*, url: str, hit: str, frame_height: int = 0, loopback: bool = False) -> str:
    """The XML that shows ``url`` in a frame; the service adds the four reserved parameters to it.

    Args:
        hit: the HIT's key, for errors.
        frame_height: in pixels; 0 lets the frame follow the window.
        loopback: whether an address of this machine may do without https, as in a rehearsal on an emulator.

    Raises:
        QuestionProblem: the service would refuse the address, or lose a part of it.
        QuestionTooLong: more bytes than a question may have.
    """
    _check_address(url, hit=hit, loopback=loopback)
    document = root("ExternalQuestion", EXTERNAL_QUESTION)
    add(document, "ExternalURL", url)
    add(document, "FrameHeight", _height(frame_height, hit=hit))
    return _short_enough(written(document), hit=hit)


def html_question_of(page: str, *, hit: str, frame_height: int = 0) -> str:
    """The XML that holds ``page``, a whole HTML document.

    The page stands in CDATA, as documented; escaped, its tags would take twice the bytes.

    Raises:
        QuestionTooLong: more bytes than a question may have.
    """
    document = root("HTMLQuestion", HTML_QUESTION)
    add(document, "HTMLContent", CONTENT)
    add(document, "FrameHeight", _height(frame_height, hit=hit))
    before, _, after = written(document).partition(CONTENT)
    # CDATA ends at the first "]]>": one inside the page is spread over two sections
    inside = storable(page).replace("]]>", "]]]]><![CDATA[>")
    return _short_enough(f"{before}<![CDATA[{inside}]]>{after}", hit=hit)


def _check_address(url: str, *, hit: str, loopback: bool) -> None:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port  # a port that is no number is found here
    except ValueError:
        raise QuestionProblem(f"HIT {hit}: {url!r} is no address; expected https://host/path.") from None
    local = loopback and parts.scheme == "http" and host in LOOPBACK
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


def _height(pixels: int, *, hit: str) -> int:
    if type(pixels) is not int or pixels < 0:
        raise QuestionProblem(
            f"HIT {hit}: frame height is {pixels!r}; expected whole pixels, 0 to follow the window."
        )
    return pixels


def _short_enough(question: str, *, hit: str) -> str:
    size = len(question.encode())
    if size > MOST_BYTES:
        raise QuestionTooLong(
            f"HIT {hit}: its question is {size:,} bytes long, and Mechanical Turk takes {MOST_BYTES:,}; ask for less "
            'in a HIT, or set crowd.question to "external".'
        )
    return question
