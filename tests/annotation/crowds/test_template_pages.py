"""A HIT template as a self-contained page at Mechanical Turk: out, and back."""

from pathlib import Path
from typing import Any

import pytest

from annotation.crowds.mturk.pages import QuestionProblem, answers_of_page, html_page
from annotation.work.worksheet import units_of_hit
from judgments.models import HIT, Item, Study
from judgments.studies.studies import design_of
from tests.fakes.mturk.questions import answers_document
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
    with pytest.raises(QuestionProblem, match="row-1"):
        html_page(design=design, hit=hit, units=units_of_hit(hit.pk), hosts=hosts)
