"""From the HTML of a template to a page that can be filled, and the questions it asks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from html.parser import HTMLParser

from judgments.errors import QuorumError
from judgments.hit_templates.cleaning import BOXES, CROWD, cleaned
from judgments.hit_templates.crowd_elements import PLAIN_OF, CrowdProblem, name_radio_group
from judgments.hit_templates.left_out import fields_of, left_out_of
from judgments.hit_templates.questions import find_questions
from judgments.hit_templates.shapes import VOID, Element, Question, walk

MOST_CHARACTERS = 100_000
DEEPEST = 100
HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
FIRST_LEVEL = 3  # a page of work has h1 and, for each step, h2


class TemplateProblem(QuorumError):
    """A template that cannot be used."""

    title = "The template cannot be used"


@dataclass(frozen=True, slots=True)
class Template:
    """A template, read.

    Attributes:
        page: its elements, plain HTML alone.
        questions: what its controls ask, in the order of the page.
        fields: names of the fields it shows, in their order.
        left_out: what could not be carried over, in sentences.
    """

    page: tuple[Element | str, ...]
    questions: tuple[Question, ...]
    fields: tuple[str, ...]
    left_out: tuple[str, ...]


@lru_cache(maxsize=32)  # a page of work shows the same template several times
def read_template(source: str) -> Template:
    """What a template shows and asks.

    Args:
        source: HTML as the requester pages or Turkle have it.

    Raises:
        TemplateProblem: it is too long or too deep, asks nothing, or uses a name for two things.
    """
    if len(source) > MOST_CHARACTERS:
        raise TemplateProblem(
            f"The template has {len(source):,} characters; expected at most {MOST_CHARACTERS:,}."
        )
    clean = cleaned(source)
    reader = _TreeReader()
    reader.feed(clean)
    reader.close()
    if reader.deepest > DEEPEST:
        raise TemplateProblem(
            f"The template's elements stand {reader.deepest} deep in each other; expected at most {DEEPEST}."
        )
    said: list[str] = []
    try:
        page = _plain(reader.root.inside, said)
        _level_headings(page)
        questions, about = find_questions(page)
    except ValueError as error:
        raise TemplateProblem(str(error)) from None
    if not any(question.shape != "fixed" for question in questions):
        lost = left_out_of(source)
        why = f" ({' '.join(lost)})" if lost else ""
        raise TemplateProblem(
            f"The template asks nothing that can be answered here; expected a control with a name{why}."
        )
    return Template(
        page=tuple(page),
        questions=questions,
        fields=tuple(fields_of(clean)),
        left_out=(*left_out_of(source), *said, *about),
    )


class _TreeReader(HTMLParser):
    """Clean HTML, in which every element is closed, as a tree."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("div")
        self.open = [self.root]
        self.deepest = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].inside.append(element)
        if tag not in VOID:
            self.open.append(element)
            self.deepest = max(self.deepest, len(self.open))

    def handle_endtag(self, tag: str) -> None:
        if len(self.open) > 1 and self.open[-1].tag == tag:
            self.open.pop()

    def handle_data(self, data: str) -> None:
        inside = self.open[-1].inside
        if inside and isinstance(inside[-1], str):
            inside[-1] += data  # a field must not be cut in two
        else:
            inside.append(data)


def _plain(nodes: list[Element | str], said: list[str]) -> list[Element | str]:
    """The same with plain elements alone."""
    found: list[Element | str] = []
    for one in nodes:
        if isinstance(one, str):
            found.append(one)
            continue
        if one.tag == "crowd-radio-group" and (sentence := name_radio_group(one)):
            said.append(sentence)
        one.inside = _plain(one.inside, said)
        if one.tag in CROWD:
            found += PLAIN_OF[one.tag](one)
        elif one.tag in BOXES:
            found.append(Element("div", one.attributes, one.inside))
        elif one.tag == "select" and "multiple" in one.attributes:
            found += _boxes_of(one)
        else:
            found.append(one)
    return found


def _boxes_of(select: Element) -> list[Element | str]:
    """A list of which several can be chosen, as boxes: nobody needs to know the key that chooses a second one."""
    options = [one for one in walk(select.inside) if one.tag == "option"]
    boxes: list[Element | str] = []
    for one in options:
        words = "".join(text for text in one.inside if isinstance(text, str)).strip()
        given = {
            "type": "checkbox",
            "name": select.attributes.get("name", ""),
            "value": one.attributes.get("value", words),
        }
        if "selected" in one.attributes:
            given["checked"] = ""
        boxes.append(
            Element("label", {"class": "option"}, [Element("input", given), Element("span", {}, [words])])
        )
    return [Element("span", {"class": "group"}, boxes)]


def _level_headings(page: list[Element | str]) -> None:
    """Headings below those of the page of work, without a gap between two levels."""
    levels = sorted({one.tag for one in walk(page) if one.tag in HEADINGS})
    names = {tag: f"h{min(FIRST_LEVEL + place, len(HEADINGS))}" for place, tag in enumerate(levels)}
    for one in walk(page):
        one.tag = names.get(one.tag, one.tag)


__all__ = ["MOST_CHARACTERS", "CrowdProblem", "Template", "TemplateProblem", "read_template"]
