"""HIT templates: what is read of them, what is left out and said, and that nothing hostile gets onto a page."""

from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contrib.hit_templates.answers import answer_of_form, checked_answer, initial_answer
from contrib.hit_templates.filling import fill_page, filled_questions
from contrib.hit_templates.html.cleaning import clean_filled_page
from contrib.hit_templates.reading import TemplateProblem, read_template
from contrib.hit_templates.tests.templating import TONE
from judgments.kinds.base import RefusedAnswer
from tests.refusals import assert_names, refuses

CELLS = {"id": "a1", "text": "Wunderbar & <schön>"}
FIELD = '<input name="x" type="text">'
EVIL = (
    "<script>alert(1)</script>",
    "<svg onload=alert(1)>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    "java\tscript:alert(1)",
    "\x01javascript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "vbscript:msgbox(1)",
    "//evil.example/x",
    "</textarea><script>alert(1)</script>",
    "</div></section></form><form action=https://evil.example>",
    "<style>*{position:fixed}</style>",
    "<base href=https://evil.example>",
    '<meta http-equiv="refresh" content="0;url=https://evil.example">',
    "<iframe src=https://evil.example></iframe>",
    "${text}",
    "<!--",
    "]]>",
    "&lt;script&gt;",
)


class Page(HTMLParser):
    """The elements of a page, each with its attributes, and how deep the outermost box was left."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_data(self, data: str) -> None:
        self.text += data

    def of(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def values(self, attribute: str) -> list[str]:
        return [found[attribute] for _, found in self.elements if attribute in found]


def filled(source: str, cells: dict[str, str] | None = None, **values: Any) -> Page:
    return Page(fill_page(read_template(source), cells or {}, **({"position": 1} | values)))


def questions(source: str = TONE, cells: dict[str, str] | None = None) -> Any:
    return filled_questions(read_template(source).questions, CELLS if cells is None else cells)


def harmless(html: str) -> None:
    page = Page(html)
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"script", "style", "svg", "iframe", "form", "base", "meta", "link", "object", "button"}
    names = {name for _, attributes in page.elements for name in attributes}
    assert not [
        name for name in names if name.startswith("on") or name in ("style", "action", "formaction", "form")
    ]
    for address in page.values("href") + page.values("src") + page.values("poster"):
        assert address.lower().startswith(("https://", "http://", "mailto:", "#t")), address
    assert clean_filled_page(html) == html, "a second look finds nothing to take away"


def test_every_sort_of_control_becomes_a_question():
    found = {one.name: one for one in questions()}
    assert [(name, one.shape, one.required) for name, one in found.items()] == [
        ("tone", "choice", True),
        ("flags", "several", False),
        ("age", "number", False),
        ("place", "choice", False),
        ("why", "text", False),
        ("source", "fixed", False),
    ]
    assert [option.value for option in found["tone"].options] == ["pos", "neg"]
    assert (found["age"].low, found["age"].high, found["age"].label) == (0, 120, "Alter")
    assert (found["why"].max_length, found["why"].label) == (200, "Grund")
    assert found["source"].preset == "batch-a1"
    assert read_template(TONE).fields == ("text", "id")


def test_cells_stand_as_text_wherever_they_stand():
    page = filled('<p title="${a}">${a}</p><textarea name="t">${a}</textarea>', {"a": "\"<b>&amp;'</b>"})
    assert page.of("p")[0]["title"] == "\"<b>&amp;'</b>"
    assert page.of("b") == []
    assert page.text.count("\"<b>&amp;'</b>") == 2


def test_amazons_elements_become_plain_controls():
    source = """<crowd-form><crowd-classifier name="kind" categories="['Cat', 'Dog']" header="Which animal?">
      <classification-target><img src="${url}"></classification-target>
      <full-instructions header="All rules"><p>Look twice.</p></full-instructions>
      <short-instructions>Look.</short-instructions></crowd-classifier>
      <crowd-slider name="sure" label="How sure?" min="1" max="5" required></crowd-slider>
      <crowd-input name="breed" label="Breed" max-length="40" required></crowd-input>
      <crowd-radio-group><crowd-radio-button name="size" value="big">Big</crowd-radio-button>
      <crowd-radio-button name="size" value="small">Small</crowd-radio-button></crowd-radio-group></crowd-form>"""
    found = {one.name: one for one in questions(source, {"url": "https://x.example/1.jpg"})}
    assert list(found) == ["kind", "sure", "breed", "size"]
    assert (found["kind"].label, found["kind"].required) == ("Which animal?", True)
    assert [option.value for option in found["kind"].options] == ["Cat", "Dog"]
    assert (found["sure"].low, found["sure"].high, found["sure"].step) == (1, 5, 1)
    assert (found["breed"].max_length, found["breed"].required) == (40, True)
    assert [option.label for option in found["size"].options] == ["Big", "Small"]
    page = filled(source, {"url": "https://x.example/1.jpg"})
    assert page.of("img")[0]["src"] == "https://x.example/1.jpg"
    assert "All rules" in page.text
    assert not [tag for tag, _ in page.elements if tag.startswith("crowd") or "instructions" in tag]


def test_buttons_with_names_of_their_own_are_one_question_and_that_is_said():
    source = """<crowd-radio-group><crowd-radio-button name="good">G</crowd-radio-button>
      <crowd-radio-button name="bad">B</crowd-radio-button></crowd-radio-group>"""
    template = read_template(source)
    assert [option.value for option in template.questions[0].options] == ["good", "bad"]
    assert "The buttons good, bad of one group have names of their own" in template.omission_notes[0]


def test_a_list_of_which_several_can_be_chosen_becomes_boxes():
    source = '<select name="who" multiple><option>Ann<option selected>Bob</select>'
    (question,) = questions(source)
    assert (question.shape, [option.value for option in question.options]) == ("several", ["Ann", "Bob"])
    assert initial_answer([question]) == {"who": ["Bob"]}


def test_a_list_without_an_empty_entry_must_be_answered_as_nobody_chose_its_first():
    (question,) = questions('<select name="who"><option>Ann<option>Bob</select>')
    assert question.required
    assert initial_answer([question]) == {}
    assert filled('<select name="who"><option>Ann</select>').of("option")[0] == {"value": ""}


def test_headings_stand_below_those_of_the_page_without_a_gap():
    page = filled(f"<h1>A</h1><h4>B</h4><h1>C</h1>{FIELD}")
    assert [tag for tag, _ in page.elements if tag.startswith("h")] == ["h3", "h4", "h3"]


@pytest.mark.parametrize(
    ("part", "values"),
    [
        ("<script>go()</script>", ["script left out"]),
        ("<script>a()</script><script>b()</script>", ["2 scripts"]),
        ("<p onclick='go()'>x</p>", ["onclick"]),
        ("<style>p{color:red}</style>", ["Styles"]),
        ("<p style='position:fixed'>x</p>", ["Styles"]),
        ("<iframe src='https://x.example/a'></iframe>", ["frame", "https://x.example/a"]),
        ("<form action='https://www.mturk.com/mturk/externalSubmit'>", ["own address", "https://www.mturk"]),
        ("<base href='https://x.example'>", ["base address"]),
        ("<meta http-equiv='refresh' content='1'>", ["meta refresh"]),
        ("<svg><circle/></svg>", ["svg"]),
        ("<input type='file' name='photo'>", ["“photo”", "type file"]),
        ("<crowd-bounding-box name='boxes'></crowd-bounding-box>", ["crowd-bounding-box", "“boxes”"]),
        ("<a href='javascript:go()'>x</a>", ["javascript:go()"]),
        ("<img src='pictures/a.png'>", ["pictures/a.png"]),
        ("<p ${hidden}>x</p>", ["attribute", "${hidden}"]),
        ("<marquee>x</marquee>", ["tags", "marquee"]),
        ("{{ task.input.text }}", ["Liquid"]),
        ("<input type='text'>", ["text field without a name"]),
    ],
)  # fmt: skip
def test_what_cannot_be_carried_over_is_named_once(part, values):
    (note,) = read_template(part + FIELD).omission_notes
    assert_names(note, *values)


def test_of_a_template_that_is_carried_over_whole_nothing_is_said():
    assert read_template(f"<p>Read <b>${{text}}</b></p><label>Answer {FIELD}</label>").omission_notes == ()


@pytest.mark.parametrize(
    ("source", "values"),
    [
        ("<p>Nothing to answer</p>", ["asks nothing"]),
        ("<crowd-polygon name='a'></crowd-polygon>", ["Amazon’s scripts", "crowd-polygon"]),
        ('<input name="a"><input type="radio" name="a" value="1">', ["'a'", "a text field and to radio buttons"]),
        ('<input name="a"><input name="a">', ["'a'", "a text field twice"]),
        ('<input name="a${b}">', ["a${b}", "same name in every row"]),
        ('<input type="radio" name="a" value="1"><input type="radio" name="a" value="1">', ["option '1' twice"]),
        ('<input type="number" name="a" min="x">', ["min of “a”", "'x'", "number"]),
        ('<input type="number" name="a" min="5" max="1">', ["“a”", "5 to 1"]),
        ("<crowd-classifier name='a' categories='y, n'></crowd-classifier>", ["'y, n'", "['yes', 'no']"]),
        ("<crowd-classifier categories=\"['a']\"></crowd-classifier>", ["<crowd-classifier>", "no name"]),
        ("<div>" * 300 + FIELD, ["deep", "at most 100"]),
        ("x" * 100_001, ["100,001 characters", "at most 100,000"]),
    ],
)  # fmt: skip
def test_a_template_that_cannot_be_used_is_refused_by_what_is_wrong(source, values):
    with refuses(TemplateProblem, *values):
        read_template(source)


@pytest.mark.parametrize("evil", EVIL)
def test_a_hostile_cell_stays_a_text(evil):
    source = (
        '<p title="${x}">${x}${x}</p><a href="${x}">l</a><img src="${x}" alt="${x}"><a href="https://e.example/${x}">m</a>'
        '<textarea name="t">${x}</textarea><input name="u" value="${x}" placeholder="${x}">'
        '<label><input type="radio" name="r" value="${x}">${x}</label><select name="s"><option value="">-'
        '<option value="${x}">${x}</option></select><input type="hidden" name="h" value="${x}">'
    )
    html = fill_page(read_template(source), {"x": evil}, position=1)
    harmless(html)
    assert Page(html).of("a")[0].get("href") is None


def test_two_cells_do_not_make_a_tag_together():
    html = fill_page(
        read_template(f"${{a}}${{b}}<${{a}}>{FIELD}"), {"a": "<scr", "b": "ipt>alert(1)</script>"}, position=1
    )
    harmless(html)


@pytest.mark.parametrize("evil", EVIL)
def test_a_hostile_template_is_harmless(evil):
    source = f"<div>{evil}<p title='{evil}'>x</p><a href='{evil}'>y</a>{evil}</div>" + FIELD
    try:
        template = read_template(source)
    except TemplateProblem:
        return  # its field went with what opened before it
    harmless(fill_page(template, {}, position=1))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from([*EVIL, "<p>", "</p>", "<div>", "</div>", "<table><tr>", "<select>", "<label>", "${x}",
                                 "<crowd-card>", "</crowd-card>", "<textarea name=q>", "<option>", "<li>", "<h1>"]),
                max_size=8), st.text(max_size=30))  # fmt: skip
def test_no_mixture_of_parts_leaves_its_box(parts, cell):
    try:
        template = read_template("".join(parts) + "<p>" + FIELD)
    except TemplateProblem:
        return
    html = fill_page(template, {"x": cell, "text": cell}, position=1)
    harmless(html)
    around = f"<section><div>{html}</div><hr></section>"
    assert clean_filled_page(around.replace("section", "blockquote")) == around.replace(
        "section", "blockquote"
    )


def test_steps_of_one_page_do_not_share_an_id_or_a_name():
    source = '<p id="a">x</p><label for="f">y</label><input id="f" name="n" aria-describedby="a"><a href="#a">z</a>'
    pages = [filled(source, position=number) for number in (1, 2)]
    assert pages[0].values("id") == ["t1-a", "t1-f"]
    assert not {*pages[0].values("id"), *pages[0].values("name")} & {
        *pages[1].values("id"), *pages[1].values("name"),
    }  # fmt: skip
    for number, page in enumerate(pages, start=1):
        assert page.of("label")[0]["for"] == f"t{number}-f"
        assert page.of("input")[0]["aria-describedby"] == f"t{number}-a"
        assert page.of("a")[0]["href"] == f"#t{number}-a"


def test_an_id_stands_once_even_if_the_template_has_it_twice():
    assert filled(f'<p id="a">x</p><p id="a">y</p>{FIELD}').values("id") == ["t1-a"]


def test_our_own_picture_stands_where_its_name_does():
    source = f'<img src="${{picture}}">{FIELD}'
    page = filled(source, {"picture": "cat.jpg"}, picture="/p/1/")
    assert page.of("img")[0]["src"] == "/p/1/"
    assert "src" not in filled(source, {"picture": "cat.jpg"}).of("img")[0]


def test_every_control_has_a_name_that_is_read_aloud():
    page = filled('<p>Why? <textarea name="why"></textarea></p><input type="radio" name="r" value="yes">')
    assert page.of("textarea")[0]["aria-label"] == "why"
    assert page.of("input")[0]["aria-label"] == "yes"


def test_an_answer_is_kept_name_by_name_and_constants_are_the_templates_own():
    sent = {
        "tone": "pos",
        "flags": ["rude", "irony"],
        "age": 41.0,
        "why": " So.\r\nYes. ",
        "source": "forged",
    }
    assert checked_answer(questions(), sent) == {
        "tone": "pos", "flags": ["irony", "rude"], "age": 41, "why": "So.\nYes.", "source": "batch-a1",
    }  # fmt: skip
    assert checked_answer(questions(), {"tone": "neg"}) == {"tone": "neg", "flags": [], "source": "batch-a1"}


@pytest.mark.parametrize(
    ("sent", "values"),
    [
        ({}, ["an answer to “tone”"]),
        ({"tone": ""}, ["an answer to “tone”"]),
        ({"tone": "maybe"}, ["one of", "“tone”", "pos, neg"]),
        ({"tone": ["pos"]}, ["one of", "“tone”", "pos, neg"]),
        ({"tone": "pos", "mood": "x"}, ["“mood”", "tone, flags"]),
        ({"tone": "pos", "flags": "rude"}, ["a list", "“flags”", "irony, rude"]),
        ({"tone": "pos", "flags": ["kind"]}, ["a list", "“flags”", "irony, rude"]),
        ({"tone": "pos", "age": 121}, ["0 to 120", "“age”"]),
        ({"tone": "pos", "age": 1.5}, ["0 to 120", "“age”"]),
        ({"tone": "pos", "age": "41"}, ["0 to 120", "“age”"]),
        ({"tone": "pos", "age": True}, ["0 to 120", "“age”"]),
        ({"tone": "pos", "age": float("nan")}, ["0 to 120", "“age”"]),
        ({"tone": "pos", "why": "x" * 201}, ["shorter", "“why”", 200]),
        ({"tone": "pos", "why": "a\x00b"}, ["control characters", "“why”"]),
        ({"tone": "pos", "why": 5}, ["a text for “why”"]),
        ([], ["object", "tone"]),
        ({1: 2}, ["object", "tone"]),
    ],
)
def test_what_is_no_answer_is_refused_by_name(sent, values):
    with refuses(ValueError, *values):
        checked_answer(questions(), sent)


def test_a_worker_reads_what_is_missing_in_the_words_of_the_page():
    source = (
        '<fieldset><legend>Which tone?</legend><input type="radio" name="q1" value="a" required></fieldset>'
    )
    with pytest.raises(RefusedAnswer) as caught:
        checked_answer(questions(source), {})
    assert_names(str(caught.value.message), "Which tone?")


def test_a_box_that_is_needed_must_be_ticked():
    source = '<label><input type="checkbox" name="ok" required> I read it</label>'
    with pytest.raises(RefusedAnswer) as caught:
        checked_answer(questions(source), {"ok": []})
    assert_names(str(caught.value.message), "I read it")
    assert checked_answer(questions(source), {"ok": ["on"]}) == {"ok": ["on"]}


def test_steps_of_a_tenth_are_counted_without_the_errors_of_binary_fractions():
    source = '<input type="number" name="x" step="0.1" min="0">'
    assert checked_answer(questions(source), {"x": 0.3}) == {"x": 0.3}
    with pytest.raises(RefusedAnswer):
        checked_answer(questions(source), {"x": 0.35})


def test_a_plain_form_is_read_question_by_question():
    form = {"u2-0": "pos", "u2-1-1": "rude", "u2-2": "41", "u2-3": "", "u2-4": "So.", "u2-5": "forged"}
    assert answer_of_form(form, "u2", questions()) == {
        "tone": "pos",
        "flags": ["rude"],
        "age": 41,
        "why": "So.",
    }
    assert answer_of_form({}, "u2", questions()) is None
    assert answer_of_form({"u2-2": "", "u2-4": " "}, "u2", questions()) is None, "nothing was touched"
    assert answer_of_form({"u2-2": "old"}, "u2", questions()) == {"flags": [], "age": "old"}


def test_a_form_that_may_stay_as_it_is_is_an_answer_only_where_somebody_says_so():
    own = questions('<input type="range" name="x" min="0" max="10" value="5"><input type="text" name="y">')
    assert initial_answer(own) == {"x": 5}
    assert answer_of_form({"u1-0": "5", "u1-1": ""}, "u1", own) is None
    assert answer_of_form({"u1-0": "5", "u1-1": "", "u1-none": "1"}, "u1", own) == {"x": 5}
    assert answer_of_form({"u1-0": "6", "u1-1": ""}, "u1", own) == {"x": 6}


def test_a_slider_without_a_value_of_its_own_says_nothing_until_it_is_moved():
    source = '<input type="range" name="x" min="0" max="10"><input type="text" name="y">'
    own = questions(source)
    assert initial_answer(own) == {}
    with pytest.raises(RefusedAnswer):
        checked_answer(own, {"y": "So."})
    assert answer_of_form({"u1-0": "5", "u1-1": ""}, "u1", own) is None, "what a form without scripts sends"
    assert "data-open" in filled(source, {}).of("input")[0]
    assert "data-open" not in filled(source, {}, answer={"x": 7}).of("input")[0]


def test_what_was_answered_stands_in_the_controls_again():
    held = {"tone": "neg", "flags": ["rude"], "age": 41, "place": "Bonn", "why": "</textarea>x"}
    page = filled(TONE, CELLS, answer=held)
    checked = [one["value"] for one in page.of("input") if "checked" in one]
    assert checked == ["neg", "rude"]
    assert next(one for one in page.of("input") if one["type"] == "number")["value"] == "41"
    assert [one["value"] for one in page.of("option") if "selected" in one] == ["Bonn"]
    assert "</textarea>x" in page.text
