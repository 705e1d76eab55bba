"""A HIT template by hand at the requester pages, and as a page of its own at Mechanical Turk: out, and back."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotation.crowds.mturk.answers import write_answers
from annotation.crowds.mturk.pages import answers_of_page, html_page
from annotation.crowds.mturk.questions import PictureNotReachable
from annotation.models import Assignment, Judgment, Worker
from annotation.quality.controls import accuracy_of
from annotation.work.presentation import units_of_hit
from judgments.models import HIT, Item, Study
from judgments.studies.studies import design_of
from tests.annotation.crowds.requester_pages import page_of, results_of, rows_of, worked_row
from tests.templating import TONE, make_template_study

pytestmark = pytest.mark.django_db

PLAIN = """<p>${text}</p>
<label><input type="radio" name="tone" value="pos" required> Good</label>
<label><input type="radio" name="tone" value="neg" required> Bad</label>
<label><input type="checkbox" name="flags" value="irony"> Irony</label>
<label><input type="checkbox" name="flags" value="rude"> Rude</label>
<label>Age <input type="number" name="age" max="120"></label>
<label>Why <input type="text" name="why"></label>
<input type="hidden" name="source" value="batch-${id}">
"""
EVIL = '${quorum_hit} </p><script>alert(1)</script> "q" & \U0001f415 é'


def exported(study: Study, folder: Path, **options: str) -> tuple[str, list[dict[str, str]]]:
    call_command("export_batch", study.slug, output=folder / "batch", stdout=io.StringIO(), **options)
    return (folder / "batch" / "template.html").read_text(encoding="utf-8"), rows_of(
        folder / "batch" / "input.csv"
    )


def imported(study: Study, path: Path) -> str:
    said = io.StringIO()
    call_command("import_batch", study.slug, str(path), stdout=said)
    return said.getvalue()


def choose(name: str, values: list[str]) -> str:
    return values[-1] if values[0] else {"age": "41", "why": "So."}.get(name.rpartition("_")[2], "")


def test_a_row_goes_out_as_the_template_that_was_brought_and_its_answers_come_back(tmp_path: Path) -> None:
    study = make_template_study(tmp_path)
    template, rows = exported(study, tmp_path)
    assert "crowd-html-elements.js" in template, "the template as its author wrote it"
    assert '<crowd-text-area name="why" label="Grund" max-length="200">' in template
    assert set(rows[0]) == {"quorum_hit", "quorum_check", "text", "id"}, (
        "columns it does not show stay at home"
    )
    assert "Wunderbar &amp; &lt;sch&#246;n&gt;" in {row["text"] for row in rows}
    given = {
        "Answer.tone.pos": "true", "Answer.tone.neg": "false", "Answer.flags.irony": "false",
        "Answer.flags.rude": "true", "Answer.age": "41", "Answer.place": "Bonn", "Answer.why": "Darum",
    }  # fmt: skip
    path = results_of(tmp_path, *(worked_row(template, row, worker="AONE") | given for row in rows))
    assert imported(study, path).startswith("3 new assignments")
    answers = list(Judgment.objects.order_by("pk").values_list("answer", flat=True))
    assert [one | {"source": ""} for one in answers if one] == [
        {"tone": "pos", "flags": ["rude"], "age": 41, "place": "Bonn", "why": "Darum", "source": ""}
    ] * 3
    assert imported(study, path).startswith("0 new assignments, 3 that were there already.")
    call_command("check_integrity", stdout=io.StringIO())


def test_what_crowd_elements_send_as_json_is_understood(tmp_path: Path) -> None:
    source = """<crowd-form><crowd-classifier name="mood" categories="['happy', 'sad']" header="Mood?">
      <classification-target>${text}</classification-target></crowd-classifier>
      <crowd-classifier-multi-select name="themes" categories="['a', 'b']" header="Themes?">
      <classification-target>${text}</classification-target></crowd-classifier-multi-select>
      <crowd-checkbox name="sure">Sure</crowd-checkbox></crowd-form>"""
    study = make_template_study(tmp_path, source=source)
    template, rows = exported(study, tmp_path)
    sent = '[{"mood": {"label": "sad"}, "themes": {"labels": ["a", "b"]}, "sure": {"on": true}}]'
    imported(
        study,
        results_of(tmp_path, worked_row(template, rows[0], worker="AONE") | {"Answer.taskAnswers": sent}),
    )
    assert Judgment.objects.get().answer == {"mood": "sad", "themes": ["a", "b"], "sure": ["on"]}


def test_several_rows_with_control_items_make_one_page_whose_names_begin_with_their_place(
    tmp_path: Path,
) -> None:
    rows = [{"id": str(n), "text": f"Text {n}", "Expected.tone": ""} for n in range(6)] + [
        {"id": f"k{n}", "text": f"Known {n}", "Expected.tone": "neg"} for n in range(2)
    ]
    study = make_template_study(
        tmp_path, source=PLAIN, rows=rows, units_per_hit=4, controls={"per_hit": 1, "after": 1}
    )
    template, inputs = exported(study, tmp_path)
    assert set(inputs[0]) == {"quorum_hit", "quorum_check", "u1", "u2", "u3", "u4"}
    assert "Expected" not in template + "".join(inputs[0].values())
    page = page_of(template, inputs[0])
    assert {"u1_tone", "u1_flags", "u1_age", "u1_why", "u1_source", "u4_tone"} <= set(page.fields)
    assert page.required == {f"u{n}_tone" for n in range(1, 5)}
    path = results_of(tmp_path, *(worked_row(template, row, worker="AONE", choose=choose) for row in inputs))
    assert imported(study, path).startswith("2 new assignments")
    answers = Judgment.objects.values_list("answer", "unit__content")
    assert len(answers) == 8
    for answer, content in answers:
        assert answer == {
            "tone": "neg", "flags": ["rude"], "age": 41, "why": "So.", "source": f"batch-{content['fields']['id']}",
        }  # fmt: skip
    assert accuracy_of(study, Worker.objects.get()).share == 1.0


@pytest.mark.parametrize("rows_in_a_hit", [1, 2])
def test_a_hostile_cell_brings_neither_tags_nor_fields(tmp_path: Path, rows_in_a_hit: int) -> None:
    rows = [{"id": EVIL, "text": EVIL}, {"id": "2", "text": EVIL}]
    study = make_template_study(tmp_path, source=PLAIN, rows=rows, units_per_hit=rows_in_a_hit)
    template, inputs = exported(study, tmp_path)
    page = page_of(template, inputs[0])
    assert EVIL in page.text
    for row in inputs:
        assert "<script" not in "".join(row.values())
        assert row["quorum_hit"] not in page_of(template, row).text


def test_an_answer_that_the_form_does_not_take_is_named_and_nothing_comes_in(tmp_path: Path) -> None:
    study = make_template_study(tmp_path, source=PLAIN)
    template, rows = exported(study, tmp_path)
    wrong = worked_row(template, rows[0], worker="AONE", choose=choose) | {"Answer.age": "400"}
    with pytest.raises(CommandError, match="no answer, or none that counts, to question 1"):
        imported(study, results_of(tmp_path, wrong))
    assert not Assignment.objects.exists()


def test_consent_is_asked_for_in_the_template(tmp_path: Path) -> None:
    study = make_template_study(tmp_path, source=PLAIN, consent="You may **stop**.")
    template, rows = exported(study, tmp_path)
    assert "consent" in page_of(template, rows[0]).required
    imported(study, results_of(tmp_path, worked_row(template, rows[0], worker="AONE", choose=choose)))
    assert Assignment.objects.get().consent_version


# --- a page of its own at Mechanical Turk -------------------------------------------------------------------


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
    found = answers_of_page(write_answers(fields.items()), design=design, hit=hit, units=units)
    assert found.missing == []
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
    with pytest.raises(PictureNotReachable, match="row-1"):
        html_page(design=design, hit=hit, units=units_of_hit(hit.pk), hosts=hosts)
    Study.objects.update(design=study.design | {"crowd": study.design["crowd"] | {"backend": "local"}})
    with pytest.raises(CommandError, match="row-1"):
        exported(Study.objects.get(), tmp_path)
