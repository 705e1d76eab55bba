"""Self-contained pages (HTMLQuestion) and their answers, and pages in Mechanical Turk's frame.

Also its XML: questions and answers. Sources: "ExternalQuestion", "Data Structure Schema Locations"
and "QualificationRequirement" of the Mechanical Turk API Reference. Workers control every field of an answer, and
another page may have posted it, so nothing is trusted: only our own rows count.
"""

from __future__ import annotations

import base64
import hashlib
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit
from xml.etree.ElementTree import Element, ParseError, SubElement, tostring

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import fromstring
from django.conf import settings
from django.core import signing
from django.http import QueryDict
from django.template.loader import render_to_string
from django.urls import get_script_prefix, reverse, set_script_prefix
from django.utils.safestring import SafeString
from django.utils.translation import get_supported_language_variant, override
from django.utils.translation import gettext as _

from annotation.crowds.base import HandedIn
from annotation.errors import ArrivalRefused
from annotation.models import CrowdSession, Worker
from annotation.work.worksheet import (
    Layout,
    PageUnit,
    WorkedExample,
    answers_of_form,
    arrange_units,
    draw_layout,
    open_positions,
    split_unfinished,
    steps_of,
    translated_text,
    undecided_positions,
)
from common.errors import QuorumError
from common.http.addresses import THIS_MACHINE
from common.markup import render_markdown
from judgments.design.requirements import Workers
from judgments.design.study_design import StudyDesign
from judgments.kinds import KINDS
from judgments.models import HIT, Unit

SCHEMAS = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas"
EXTERNAL_QUESTION = f"{SCHEMAS}/2006-07-14/ExternalQuestion.xsd"
HTML_QUESTION = f"{SCHEMAS}/2011-11-11/HTMLQuestion.xsd"

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


def add_element(parent: Element, name: str, text: str | int | None = None) -> Element:
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
    add_element(document, "ExternalURL", url)
    add_element(document, "FrameHeight", FOLLOWS_THE_WINDOW)
    return _check_question_size(serialized(document), hit=hit)


def html_question_of(page: str, *, hit: str) -> str:
    """Return the XML that contains ``page``, a whole HTML document, in CDATA."""
    document = root("HTMLQuestion", HTML_QUESTION)
    add_element(document, "HTMLContent", CONTENT)
    add_element(document, "FrameHeight", FOLLOWS_THE_WINDOW)
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
    text = REFERENCE.sub(_keep_allowed_reference, document)
    text = PAIR.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)
    return storable(text)


def _keep_allowed_reference(reference: re.Match[str]) -> str:
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


COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
CLASS = re.compile(r'class="([^"]*)"')
TAG = re.compile(r"<([a-z][a-z0-9]*)")
# parts of a selector about other elements, or without names: `:is(...)`, `:has(...)`, `[name="value"]`
ASIDE = re.compile(r"\((?:[^()]|\([^()]*\))*\)|\[[^\]]*\]")
NEEDED_CLASS = re.compile(r"\.([a-zA-Z][\w-]*)")
NEEDED_TAG = re.compile(r"(?:^|[\s>+~,])([a-z][a-z0-9]*)")
ALWAYS = frozenset({"html", "body"})
ANYBODY = Worker(name="html question")  # one document serves all workers of a HIT
ORIGIN = re.compile(r"https?://[A-Za-z0-9.-]+(:\d+)?")  # http: an emulator on this machine
BETWEEN_TAGS = re.compile(r">\s*\n\s*<")
KEYS = re.compile(r'<kbd aria-hidden="true">[^<]*</kbd>')  # keys need scripts, which are missing here
PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"
SUBMIT = "/mturk/externalSubmit"
ID = re.compile(r"[A-Za-z0-9_-]{1,64}")  # letters and digits, as far as known
SALT = "annotation.frames"  # names no module: tickets live on in addresses at Mechanical Turk
TICKET_SECONDS = 30 * 24 * 3600  # longer than any lease and the days in which work may be resubmitted

# MTURK.md §2 Endpoints: the targets of forms; the worker's site frames the pages.
SITES = {
    "mturk-live": ("https://www.mturk.com", "https://worker.mturk.com"),
    "mturk-sandbox": ("https://workersandbox.mturk.com",),
}


def styles_for(page: str, sheet: str) -> str:
    """Return the rules of ``sheet`` that may match an element of ``page`` (HTML in double quotes).

    No string in the sheet may contain a brace or a semicolon.
    """
    classes = {name for value in CLASS.findall(page) for name in value.split()}
    tags = ALWAYS | set(TAG.findall(page))
    return "".join(_kept(COMMENT.sub("", sheet), classes, tags))


def _kept(sheet: str, classes: Collection[str], tags: Collection[str]) -> Iterator[str]:
    for head, body in _rules(sheet):
        if head.startswith("@media"):
            inner = "".join(_kept(body, classes, tags))
            if inner:
                yield f"{head}{{{inner}}}"
            continue
        wanted = [selector for selector in _split_selectors(head) if _may_match(selector, classes, tags)]
        if wanted:
            yield f"{','.join(wanted)}{{{_minified(body)}}}"


def _rules(sheet: str) -> Iterator[tuple[str, str]]:
    """Yield the outermost rules: (selector or @media, content of the braces)."""
    depth, start, opened = 0, 0, 0
    for index, sign in enumerate(sheet):
        if sign == "{":
            depth += 1
            if depth == 1:
                opened = index
        elif sign == "}":
            depth -= 1
            if not depth:
                yield " ".join(sheet[start:opened].split()), sheet[opened + 1 : index]
                start = index + 1


def _split_selectors(selectors: str) -> list[str]:
    parts, depth = [""], 0
    for sign in selectors:
        depth += (sign == "(") - (sign == ")")
        if sign == "," and not depth:
            parts.append("")
        else:
            parts[-1] += sign
    return [selector.strip() for selector in parts]


def _may_match(selector: str, classes: Collection[str], tags: Collection[str]) -> bool:
    bare = ASIDE.sub("", selector)
    return all(name in classes for name in NEEDED_CLASS.findall(bare)) and all(
        name in tags for name in NEEDED_TAG.findall(bare)
    )


def _minified(declarations: str) -> str:
    parts = (part.strip() for part in declarations.split(";"))
    return ";".join(re.sub(r"^([\w-]+)\s*:\s*", r"\1:", " ".join(part.split())) for part in parts if part)


def html_question(*, design: StudyDesign, hit: HIT, **page: Any) -> str:
    """Return the HTMLQuestion of a HIT; arguments and errors are those of ``html_page``."""
    return html_question_of(html_page(design=design, hit=hit, **page), hit=hit.key)


def html_page(
    *,
    design: StudyDesign,
    hit: HIT,
    units: Sequence[Unit],
    hosts: Sequence[str],
    examples: Sequence[WorkedExample] = (),
    language: str = settings.LANGUAGE_CODE,
) -> str:
    """Return the document, equal for equal arguments.

    Args:
        units: the HIT's units in order, with items and texts.
        hosts: origins that may get the answers, such as "https://www.mturk.com".
        language: of the page's own words.
    """
    kind = KINDS[design.protocol].for_design(design)
    if not kind.page.self_contained:
        raise QuestionProblem(
            f"HIT {hit.key}: {kind.name} cannot be asked on a page that stands alone; expected "
            'crowd.question = "external".'
        )
    for host in hosts:
        _check_host(host)
    drawn, *mirror = layouts(design=design, hit=hit, units=units)
    for number, example in enumerate(examples, start=1):
        if example.picture:
            _reachable(example.picture, f"the picture of worked example {number}")
    with override(language):
        steps = steps_of(
            arrange_units(units, drawn.order, drawn.sides),
            design=design,
            picture_url=_pictures(hit, design),
            answers={},
        )
        context = {
            "alone": True,
            "design": design,
            "kind": kind,
            "steps": steps,
            "examples": examples,
            "instructions": render_markdown(translated_text(design.instructions))
            if design.instructions
            else "",
            "consent": render_markdown(design.consent) if design.consent else "",
            "hosts": " ".join(hosts),
            "mirror": bool(mirror),
            "language": language,
        }
        return _inlined(context)


def language_of(design: StudyDesign) -> str:
    """Return the study's language if workers' pages have it, else the default: all workers share the document."""
    try:
        return get_supported_language_variant(design.language)
    except LookupError:
        return settings.LANGUAGE_CODE


def layouts(*, design: StudyDesign, hit: HIT, units: Sequence[Unit]) -> list[Layout]:
    """Return the layouts of a HIT's document: the drawn one, and its mirror if the kind has sides."""
    kind = KINDS[design.protocol].for_design(design)
    drawn = draw_layout(design=design, hit=hit, worker=ANYBODY, units=units, with_withdrawn=True)
    if not drawn.sides:
        return [drawn]
    return [drawn, Layout(order=drawn.order, sides=[kind.sides.mirror(side) for side in drawn.sides])]


def answers_of_page(document: str, *, design: StudyDesign, hit: HIT, units: Sequence[Unit]) -> HandedIn:
    """Read the answers to a page of ``html_page`` with the same design, HIT and units."""
    kind = KINDS[design.protocol].for_design(design)
    fields = fields_of(read_answers(document))
    shown = {
        str(number): layout for number, layout in enumerate(layouts(design=design, hit=hit, units=units))
    }
    layout = shown.get(fields.get("layout", "0"))
    if layout is None:
        raise AnswersUnreadable(
            f"HIT {hit.key}: layout is {fields['layout'][:80]!r}; expected {' or '.join(shown)}."
        )
    if design.consent and fields.get("consent") != "1":
        raise AnswersUnreadable(
            "Its worker did not agree to the study's consent text: nothing of it is used."
        )
    places = arrange_units(units, layout.order, layout.sides)
    posted = answers_of_form(fields, places, kind=kind, final=True, saved={})
    answers, _unfinished = split_unfinished(posted, design=design, page_units=places)
    by_position = {str(answer["position"]): answer for answer in answers}
    missing = {*open_positions(places, by_position, kind=kind), *undecided_positions(fields, places, kind)}
    return HandedIn(
        layout=layout,
        answers=[dict(answer) for answer in answers if answer["position"] not in missing],
        missing=sorted(missing),
    )


def _pictures(hit: HIT, design: StudyDesign) -> Callable[[PageUnit], str]:
    kind = KINDS[design.protocol].for_design(design)
    needed = kind.page.shows_picture and design.about_pictures

    def address(placed: PageUnit) -> str:
        item = placed.unit.item
        there = needed or ((kind.page.shows_picture or kind.page.custom) and bool(item.picture or item.url))
        return _reachable(item.url, f"HIT {hit.key}: image {item.name!r}") if there else ""

    return address


def _reachable(address: str, what: str) -> str:
    try:
        parts = urlsplit(address)
        fine = parts.scheme == "https" and bool(parts.hostname)
    except ValueError:
        fine = False
    if not fine:
        raise QuestionProblem(
            f"{what} is at {address[:200]!r}; a page on Mechanical Turk's servers can show pictures with an https "
            "address only."
        )
    return address


def _check_host(host: str) -> None:
    if not ORIGIN.fullmatch(host):
        raise QuestionProblem(
            f"Answers may go to {host!r}, which is no origin; expected https://www.mturk.com."
        )


def _inlined(context: dict[str, Any]) -> str:
    """Render the document with inlined script and styles, and a policy that allows nothing else."""
    script = _script()
    policy = (
        "default-src 'none'; img-src https:; media-src https:; style-src 'unsafe-inline'; base-uri 'none'; "
        f"script-src 'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
    )
    inside = {"policy": policy, "script": SafeString(f"<script>{script}</script>")}
    # the content determines the styles
    bare = str(render_to_string("annotation/mturk/page.html", context | inside))
    bare = KEYS.sub("", BETWEEN_TAGS.sub(">\n<", bare))
    head, body = bare.split("</head>", 1)
    return f"{head}<style>{styles_for(bare, _sheet())}</style>\n</head>{body}"


@cache
def _script() -> str:
    lines = (line.strip() for line in _static("js/crowds/mturk_page.js").splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//"))


@cache
def _sheet() -> str:
    return "".join(_static(f"css/{name}.css") for name in ("app", "crowds/mturk_page"))


def _static(name: str) -> str:
    """Read a static file from the source, since collected files have other names."""
    return (Path(settings.BASE_DIR) / "static" / name).read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Arrival:
    """A parsed arrival; in a preview ``assignment``, ``worker`` and ``site`` are ''."""

    hit: str
    assignment: str = ""
    worker: str = ""
    site: str = ""

    @property
    def is_preview(self) -> bool:
        return not self.assignment


def read_arrival(query: QueryDict, *, sites: Collection[str]) -> Arrival:
    for name in ("assignmentId", "hitId", "workerId", "turkSubmitTo"):
        if len(query.getlist(name)) > 1:
            raise ArrivalRefused(
                _("Nothing was recorded: %(name)s stands in the address twice; expected once.")
                % {"name": name}
            )
    hit, assignment, worker = (query.get(name, "") for name in ("hitId", "assignmentId", "workerId"))
    if assignment in ("", PREVIEW) or not worker:
        return Arrival(hit=hit if ID.fullmatch(hit) else "")
    for name, value in (("hitId", hit), ("assignmentId", assignment), ("workerId", worker)):
        if not ID.fullmatch(value):
            raise ArrivalRefused(
                _("Nothing was recorded: the %(name)s in the address is none of Mechanical Turk’s.")
                % {"name": name}
            )
    return Arrival(
        hit=hit,
        assignment=assignment,
        worker=worker,
        site=_allowed_site(query.get("turkSubmitTo", ""), sites),
    )


def _allowed_site(address: str, sites: Collection[str]) -> str:
    try:
        parts = urlsplit(address)
    except ValueError:
        parts = urlsplit("")
    site = f"{parts.scheme}://{parts.netloc}"
    if site not in sites or address.rstrip("/") != site:
        raise ArrivalRefused(
            _(
                "Nothing was recorded: the address sends your answers to %(address)s, which is not Mechanical Turk. "
                "Open the HIT from your worker’s page, or return it."
            )
            % {"address": repr(address[:100])}
        )
    return site


@dataclass(frozen=True, slots=True)
class Frame:
    """The frame of a request; ``site`` takes its answers, such as https://www.mturk.com."""

    session: CrowdSession
    site: str

    @property
    def worker(self) -> Worker:
        return self.session.worker


def sites_of(platform: str) -> tuple[str, ...]:
    if platform not in SITES:
        return ()
    return tuple(site.rstrip("/") for site in settings.MTURK_SITES) or SITES[platform]


def all_sites() -> tuple[str, ...]:
    return tuple(dict.fromkeys(site for platform in SITES for site in sites_of(platform)))


def new_ticket(session: CrowdSession, *, site: str) -> str:
    return signing.dumps([session.pk, site], salt=SALT)


def read_ticket(ticket: str) -> Frame | None:
    """Return the ticket's frame; None if it is forged, too old, or for a site that is no longer allowed."""
    try:
        pk, site = signing.loads(ticket, salt=SALT, max_age=TICKET_SECONDS)
    except (signing.BadSignature, ValueError):
        return None
    session = CrowdSession.objects.select_related("study", "worker", "publication").filter(pk=pk).first()
    if session is None or site not in sites_of(session.platform):
        return None
    return Frame(session=session, site=site)


def prefix_of(ticket: str) -> str:
    return f"{get_script_prefix()}f/{ticket}/"


@contextmanager
def addresses_under(prefix: str) -> Iterator[None]:
    """Make Django prefix every address within the context."""
    before = get_script_prefix()
    set_script_prefix(prefix)
    try:
        yield
    finally:
        set_script_prefix(before)


def framed_address(ticket: str, name: str, *args: object) -> str:
    with addresses_under(prefix_of(ticket)):
        return reverse(name, args=args)
