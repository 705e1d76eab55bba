"""A HIT template as its workers see and answer it: over the plain page and over the API."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotation.crowds.mturk.pages import answers_of_page, html_page
from annotation.crowds.mturk.questions import QuestionProblem
from annotation.models import Judgment
from annotation.work.sheet.units import units_of_hit
from common.errors import DataConflict, DesignError
from contrib.hit_templates.importing import check_template, import_template
from contrib.hit_templates.reading import TemplateProblem
from contrib.hit_templates.tests.templating import ROWS, TONE, inputs_file, make_template_study
from contrib.rehearsals.simulation.crowd import RehearsalCrowd
from contrib.rehearsals.simulation.run import rehearse
from judgments.importers import ImportProblem
from judgments.models import HIT, Dataset, HITUnit, Item, Study
from judgments.studies.designs import design_of
from judgments.studies.generation.hits import generate_hits
from tests.annotation.calling import accept, begin, is_problem, patch
from tests.annotation.calling import submit as send
from tests.annotation.casting import joined, with_person
from tests.annotation.posting import submit, work_of
from tests.fakes.mturk.questions import answers_document
from tests.refusals import refuses
from tests.studies import make_worker

pytestmark = pytest.mark.django_db


def answers_of(study: Study) -> list[Any]:
    return list(Judgment.objects.of_study(study).order_by("pk").values_list("answer", flat=True))


def test_every_row_becomes_a_unit_and_every_column_goes_along(tmp_path):
    study = make_template_study(tmp_path)
    assert study.protocol == "template"
    assert [dict(item.fields) for item in Item.objects.filter(dataset__name="tone")] == ROWS
    contents = [row.unit.content for row in HITUnit.objects.filter(hit__study=study).select_related("unit")]
    assert sorted(one["fields"]["id"] for one in contents) == ["a1", "a2", "a3"]
    assert study.hits.count() == 3, "a HIT is a row, as on the requester pages"
    assert study.notes["left_out"][0] == "A script left out: nothing of the template runs here."
    assert design_of(study).template.html == TONE.strip()


def test_what_the_page_does_not_show_is_said_and_no_worker_sees_it(tmp_path):
    study = make_template_study(tmp_path)
    assert "no participant sees them: gold." in " ".join(study.notes["left_out"])
    _, headers = make_worker(study)
    unit = accept(study, headers).json()["units"][0]
    assert set(unit) == {"position", "protocol", "question", "fields", "questions"}
    assert set(unit["fields"]) == {"text", "id"}
    assert unit["questions"][0] == {
        "name": "tone", "shape": "choice", "label": "tone", "required": True, "options": ["pos", "neg"],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "source", "values"),
    [
        ([{"Text": "x", "id": "1"}], TONE, ["${text}", "inputs.csv", "'Text'"]),
        ([{"other": "x"}], TONE, ["${text}", "inputs.csv", "one of other"]),
        ([{"text": "x"}], "<p>${text}</p>", ["asks nothing"]),
    ],
)
def test_a_template_and_inputs_that_do_not_fit_are_refused_and_nothing_is_stored(
    tmp_path, rows, source, values
):
    with refuses(TemplateProblem, *values):
        import_template(slug="tone", source=source, inputs=inputs_file(tmp_path, rows))
    assert not Study.objects.exists()
    assert not Dataset.objects.exists()


@pytest.mark.parametrize(
    ("text", "line", "values"),
    [
        ("", 1, ["no header"]),
        ("text,id\n", None, ["no rows"]),
        ("text,text\na,b\n", 1, ["column twice"]),
        ("text,\na,b\n", 1, ["name for every column"]),
        ("text,id\na,b,c\n", 2, ["3 cells", "2 as in the header"]),
        ('text,id\n"a,b\n', 2, ["quotation mark", "never closed"]),
    ],
)
def test_damaged_inputs_are_refused_with_their_line(tmp_path, text, line, values):
    path = tmp_path / "inputs.csv"
    path.write_text(text, encoding="utf-8")
    with refuses(ImportProblem, *values, line=line):
        check_template(source=TONE, inputs=path)


def test_cells_with_html_are_told_of(tmp_path):
    found = check_template(
        source=TONE, inputs=inputs_file(tmp_path, [{"id": "1", "text": "a <b>c</b>"}, {"id": "2", "text": "3 < 4"}])
    )  # fmt: skip
    assert "Column “text” holds HTML in 1 row: it is shown as text, tags and all." in found.omission_notes
    assert (found.row_count, found.columns) == (2, ("id", "text"))


def test_a_taken_slug_or_name_changes_nothing(tmp_path):
    make_template_study(tmp_path, opened=False)
    with refuses(DataConflict, "tone"):
        import_template(slug="tone", source=TONE, inputs=inputs_file(tmp_path))
    with pytest.raises(DesignError):
        import_template(slug="to ne", source=TONE, inputs=inputs_file(tmp_path))
    assert Study.objects.count() == 1


def test_the_command_looks_first_and_then_stores(tmp_path, capsys):
    template = tmp_path / "template.html"
    template.write_text(TONE, encoding="utf-8")
    inputs = inputs_file(tmp_path)
    call_command("import_template", "tone", str(template), str(inputs), "--dry-run")
    told = capsys.readouterr().out
    assert "nothing was stored" in told
    assert "question tone: radio, needed" in told
    assert "A script left out" in told
    assert not Dataset.objects.exists()
    call_command("import_template", "tone", str(template), str(inputs), "--name", "Ton")
    assert Study.objects.get(slug="tone").name == "Ton"
    assert "3 rows of inputs" in capsys.readouterr().out
    with refuses(CommandError, "tone"):
        call_command("import_template", "tone", str(template), str(inputs))


def test_ten_thousand_rows_are_looked_at_one_by_one(tmp_path):
    rows = [{"id": str(number), "text": f"text {number}"} for number in range(10_000)]
    assert check_template(source=TONE, inputs=inputs_file(tmp_path, rows)).row_count == 10_000


def test_a_study_file_holds_the_template(tmp_path, capsys):
    study = make_template_study(tmp_path, opened=False)
    call_command("export_study", study.slug)
    text = capsys.readouterr().out.replace('slug = "tone"', 'slug = "again"')
    (tmp_path / "again.toml").write_text(text, encoding="utf-8")
    call_command("create_study", str(tmp_path / "again.toml"))
    again = design_of(Study.objects.get(slug="again"))
    assert again.template == design_of(study).template


@pytest.mark.parametrize(("html", "value"), [("", "empty"), ("<p>x</p>", "asks nothing")])
def test_a_design_that_does_not_fit_says_why(tmp_path, html, value):
    with refuses(DesignError, value, field="template.html"):
        make_template_study(tmp_path, template={"html": html})
    assert not Study.objects.exists()


def test_a_row_is_answered_by_a_plain_form(tmp_path):
    study, ada = with_person(make_template_study(tmp_path))
    html, assignment = work_of(study, ada)
    assert "<blockquote>" in html
    assert '<script src="https' not in html
    fields = {"u1-0": "pos", "u1-1-1": "rude", "u1-2": "41", "u1-3": "Bonn", "u1-4": "So.", "u1-5": "forged"}
    assert submit(study, ada, assignment, fields).status_code == 303
    (answer,) = answers_of(study)
    assert answer["source"].startswith("batch-a")
    assert answer | {"source": ""} == {
        "tone": "pos", "flags": ["rude"], "age": 41, "place": "Bonn", "why": "So.", "source": "",
    }  # fmt: skip


def test_a_form_without_what_is_needed_comes_back_with_what_was_given(tmp_path):
    study, ada = with_person(make_template_study(tmp_path))
    _, assignment = work_of(study, ada)
    response = submit(study, ada, assignment, {"u1-2": "41", "u1-4": "Darum", "u1-1-0": "irony"})
    html = response.content.decode()
    assert response.status_code == 422
    assert "“tone” has no answer" in html
    assert ">Darum</textarea>" in html
    assert 'value="41"' in html
    assert answers_of(study) == []


def test_five_rows_on_a_page_do_not_clash(tmp_path):
    study, ada = with_person(make_template_study(tmp_path, units_per_hit=3))
    html, assignment = work_of(study, ada)
    for number in (1, 2, 3):
        assert f'id="t{number}-age"' in html
        assert f'for="t{number}-age"' in html
    fields = {f"u{number}-0": tone for number, tone in ((1, "pos"), (2, "neg"), (3, "pos"))}
    assert submit(study, ada, assignment, fields).status_code == 303
    assert [one["tone"] for one in answers_of(study)] == ["pos", "neg", "pos"]


def test_a_saved_answer_stands_in_the_form_again_and_can_be_changed_after_submitting(tmp_path):
    study, ada = with_person(make_template_study(tmp_path))
    _, assignment = work_of(study, ada)
    ada.client.post(f"/s/{study.slug}/work/{assignment.pk}/save/", {"u1-0": "neg", "u1-2": "7"})
    html, _ = work_of(study, ada)
    assert [one for one in re.findall(r"<input [^>]*>", html) if 'value="neg"' in one and "checked" in one]
    assert submit(study, ada, assignment, {"u1-0": "neg", "u1-2": "7"}).status_code == 303
    page = ada.client.get(f"/s/{study.slug}/work/{assignment.pk}/change/").content.decode()
    assert 'value="7"' in page
    ada.client.post(f"/s/{study.slug}/work/{assignment.pk}/change/", {"u1-0": "pos", "u1-2": "8"})
    latest = Judgment.objects.of_study(study).current().get()
    assert latest.answer is not None
    assert (latest.answer["tone"], latest.answer["age"]) == ("pos", 8)


def test_a_form_that_may_stay_as_it_is_asks_to_say_so(tmp_path):
    source = '<p>${text}</p><label>Note <input name="note"></label>'
    study, ada = with_person(make_template_study(tmp_path, source=source))
    html, assignment = work_of(study, ada)
    assert "Leave it as it is" in html
    assert submit(study, ada, assignment, {"u1-0": ""}).status_code == 422
    assert submit(study, ada, assignment, {"u1-0": "", "u1-none": "1"}).status_code == 303
    assert answers_of(study) == [{}]


def test_a_hostile_row_stays_a_text_on_the_page(tmp_path):
    evil = "</textarea></form><script>alert(1)</script><img src=x onerror=alert(1)>"
    study = make_template_study(tmp_path, rows=[{"id": evil, "text": evil}])
    html, _ = work_of(study, joined(study))
    assert "<script>alert" not in html
    assert "<img src=x" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html


def test_a_client_answers_name_by_name(tmp_path):
    study = make_template_study(tmp_path)
    headers, held = begin(study)
    address = f"/api/assignments/{held['id']}/"
    wrong = patch(address, {"answers": [{"position": 1, "answer": {"tone": "maybe"}}]}, headers)
    assert "expected one of these values for “tone”: pos, neg" in is_problem(wrong, 400)["detail"]
    assert (
        send(held["id"], [{"position": 1, "answer": {"tone": "pos", "age": 3}}], headers).status_code == 200
    )
    assert answers_of(study)[0] | {"source": ""} == {"tone": "pos", "flags": [], "age": 3, "source": ""}


def test_a_rehearsal_answers_every_form_and_finds_its_truth(tmp_path):
    study = make_template_study(tmp_path, opened=False)
    generate_hits(study=study)
    report = rehearse(study=study, crowd=RehearsalCrowd(workers=9, spammers=0.0, accuracy=1.0, seed=1))
    assert report.recovered == 1.0
    assert len(answers_of(study)) == 9


PLAIN = """<p>${text}</p>
<label><input type="radio" name="tone" value="pos" required> Good</label>
<label><input type="radio" name="tone" value="neg" required> Bad</label>
<label><input type="checkbox" name="flags" value="irony"> Irony</label>
<label><input type="checkbox" name="flags" value="rude"> Rude</label>
<label>Age <input type="number" name="age" max="120"></label>
<label>Why <input type="text" name="why"></label>
<input type="hidden" name="source" value="batch-${id}">
"""


def turk_study(folder: Path, **values: Any) -> tuple[Study, HIT]:
    crowd = {"backend": "mturk", "question": "html", "budget_cents": 100}
    study = make_template_study(folder, crowd=crowd, **({"source": TONE} | values))
    return study, HIT.objects.filter(study=study).order_by("position")[0]


def test_a_template_can_be_asked_on_a_page_that_needs_no_server(tmp_path: Path) -> None:
    study, hit = turk_study(tmp_path)
    design, units = design_of(study), units_of_hit(hit.pk)
    page = html_page(design=design, hit=hit, units=units, hosts=["https://www.mturk.com"])
    assert page.count("<script") == 1, "none of the template's"
    assert "assets.crowd.aws" not in page
    assert "media-src https:" in page
    fields = {"u1-0": "pos", "u1-1-1": "rude", "u1-2": "41", "u1-3": "Ulm", "u1-4": "So.", "layout": "0"}
    found = answers_of_page(answers_document(list(fields.items())), design=design, hit=hit, units=units)
    assert found.missing_positions == []
    assert found.answers[0]["answer"] == {
        "tone": "pos", "flags": ["rude"], "age": 41, "place": "Ulm", "why": "So.",
    }  # fmt: skip


def test_a_picture_of_a_row_must_be_one_that_workers_there_can_load(tmp_path: Path) -> None:
    study, hit = turk_study(tmp_path, source=f'<img src="${{picture}}">{PLAIN}', rows=[
        {"id": "1", "text": "x", "picture": "https://pictures.example.org/a.jpg"},
    ])  # fmt: skip
    design, hosts = design_of(study), ["https://www.mturk.com"]
    page = html_page(design=design, hit=hit, units=units_of_hit(hit.pk), hosts=hosts)
    assert 'src="https://pictures.example.org/a.jpg"' in page
    Item.objects.update(picture="uploaded.jpg", url="")
    with pytest.raises(QuestionProblem, match="row-1"):
        html_page(design=design, hit=hit, units=units_of_hit(hit.pk), hosts=hosts)
