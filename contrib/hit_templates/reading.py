"""Parse the HTML of a template for MTurk's requester pages or for Turkle.

The result is a tree of plain elements, whose fields can be filled, and the questions that it asks. Only allowed
elements are kept, and Amazon's elements are replaced by plain ones. Styles and classes are removed, so that all pages
look alike, in light and dark mode, and no part of a template can cover the rest of the page.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from html.parser import HTMLParser

from common.errors import QuorumError
from contrib.hit_templates.html.cleaning import LANDMARKS, clean_page
from contrib.hit_templates.html.crowd_elements import ELEMENT_BUILDERS, name_radio_group
from contrib.hit_templates.html.elements import VOID_ELEMENTS, Element, fields_in, walk_elements
from contrib.hit_templates.html.omissions import describe_omissions
from contrib.hit_templates.questions import FormQuestion, find_questions

MAX_CHARACTERS = 100_000
MAX_DEPTH = 100
HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
FIRST_HEADING_LEVEL = 3  # a form uses h1, and h2 for each step


class TemplateProblem(QuorumError):
    title = "The template cannot be used"


@dataclass(frozen=True, slots=True)
class TemplateForm:
    """A parsed template of plain HTML.

    Attributes:
        page: its elements and texts. Each control has the index of its question.
        questions: the questions in the order of the page.
        fields: the names of its fields ``${field}``.
        omission_notes: sentences about the parts that were left out or replaced.
    """

    page: tuple[Element | str, ...]
    questions: tuple[FormQuestion, ...]
    fields: tuple[str, ...]
    omission_notes: tuple[str, ...]


@lru_cache(maxsize=32)  # cached, since a form shows the same template several times
def read_template(source: str) -> TemplateForm:
    """Parse a template.

    Raises:
        TemplateProblem: it is too long or too deeply nested, asks no question, or has a control that cannot be used.
    """
    if len(source) > MAX_CHARACTERS:
        raise TemplateProblem(
            f"The template has {len(source):,} characters; expected at most {MAX_CHARACTERS:,}."
        )
    clean_source = clean_page(source)
    reader = _TreeReader()
    reader.feed(clean_source)
    reader.close()
    if reader.max_depth > MAX_DEPTH:
        raise TemplateProblem(
            f"The template's elements stand {reader.max_depth} deep in each other; expected at most {MAX_DEPTH}."
        )
    radio_notes: list[str] = []
    try:
        page = _plain_page(reader.root.children, radio_notes)
        _renumber_headings(page)
        questions, control_notes = find_questions(page)
    except ValueError as error:
        raise TemplateProblem(str(error)) from None
    if not any(question.shape != "fixed" for question in questions):  # "fixed" is a hidden constant
        omissions = describe_omissions(source)
        explanation = f" ({' '.join(omissions)})" if omissions else ""
        raise TemplateProblem(
            f"The template asks nothing that can be answered here; expected a control with a name{explanation}."
        )
    return TemplateForm(
        page=tuple(page),
        questions=questions,
        fields=tuple(dict.fromkeys(fields_in(clean_source))),
        omission_notes=(*describe_omissions(source), *radio_notes, *control_notes),
    )


class _TreeReader(HTMLParser):
    """A parser that builds a tree from cleaned HTML, in which every element is closed."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("div")
        self.open_elements = [self.root]
        self.max_depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.open_elements[-1].children.append(element)
        if tag not in VOID_ELEMENTS:
            self.open_elements.append(element)
            self.max_depth = max(self.max_depth, len(self.open_elements))

    def handle_endtag(self, tag: str) -> None:
        if len(self.open_elements) > 1 and self.open_elements[-1].tag == tag:
            self.open_elements.pop()

    def handle_data(self, data: str) -> None:
        siblings = self.open_elements[-1].children
        if siblings and isinstance(siblings[-1], str):
            siblings[-1] += data  # one text instead of two, between which a field could be divided
        else:
            siblings.append(data)


def _plain_page(nodes: list[Element | str], radio_notes: list[str]) -> list[Element | str]:
    """Return the nodes with Amazon's elements, landmarks and multiple select lists replaced by plain elements.

    Args:
        radio_notes: gets a sentence for each group of radio buttons whose names differed.
    """
    plain_nodes: list[Element | str] = []
    for node in nodes:
        if isinstance(node, str):
            plain_nodes.append(node)
            continue
        if node.tag == "crowd-radio-group" and (note := name_radio_group(node)):
            radio_notes.append(note)
        node.children = _plain_page(node.children, radio_notes)
        if node.tag in ELEMENT_BUILDERS:
            plain_nodes += ELEMENT_BUILDERS[node.tag](node)
        elif node.tag in LANDMARKS:
            plain_nodes.append(Element("div", node.attributes, node.children))
        elif node.tag == "select" and "multiple" in node.attributes:
            plain_nodes += _make_check_boxes(node)
        else:
            plain_nodes.append(node)
    return plain_nodes


def _make_check_boxes(select: Element) -> list[Element | str]:
    """Return check boxes in place of a select list with several answers, for which workers need a modifier key."""
    options = [option for option in walk_elements(select.children) if option.tag == "option"]
    boxes: list[Element | str] = []
    for option in options:
        label = "".join(text for text in option.children if isinstance(text, str)).strip()
        attributes = {
            "type": "checkbox",
            "name": select.attributes.get("name", ""),
            "value": option.attributes.get("value", label),
        }
        if "selected" in option.attributes:
            attributes["checked"] = ""
        boxes.append(
            Element(
                "label", {"class": "option"}, [Element("input", attributes), Element("span", {}, [label])]
            )
        )
    return [Element("span", {"class": "group"}, boxes)]


def _renumber_headings(page: list[Element | str]) -> None:
    """Renumber the levels of headings so that they are below the form's own headings, without gaps."""
    used_tags = sorted({element.tag for element in walk_elements(page) if element.tag in HEADINGS})
    new_tags = {
        tag: f"h{min(FIRST_HEADING_LEVEL + depth, len(HEADINGS))}" for depth, tag in enumerate(used_tags)
    }
    for element in walk_elements(page):
        element.tag = new_tags.get(element.tag, element.tag)
