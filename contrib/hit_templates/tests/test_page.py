"""New study → Import a HIT template: look at it first, then create it."""

import io
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from PIL import Image

from contrib.hit_templates.tests.templating import TONE
from judgments.models import Dataset, Item, Study
from judgments.studies.designs import design_of

pytestmark = pytest.mark.django_db

ADDRESS = "/admin/judgments/study/bring-template/"
CSV = "id,text,gold\na1,Wunderbar,pos\na2,Nie wieder,neg\n"


def file(name: str, content: str | bytes) -> io.BytesIO:
    held = io.BytesIO(content.encode() if isinstance(content, str) else content)
    held.name = name
    return held


def look(client: Client, template: str | bytes = TONE, inputs: str | bytes = CSV, **more: Any) -> str:
    fields = {"name": "Ton der Texte", "slug": "ton"} | more
    response = client.post(
        ADDRESS, {**fields, "template": file("t.html", template), "inputs": file("i.csv", inputs)}
    )
    assert response.status_code == 200
    return response.content.decode()


def create(client: Client, html: str) -> Any:
    (key,) = re.findall(r'name="_create" value="([0-9a-f]+)"', html)
    return client.post(ADDRESS, {"_create": key})


def test_a_template_is_looked_at_before_anything_is_stored(admin_client):
    html = look(admin_client)
    assert "A script left out" in html
    assert "no participant sees them: gold." in html
    assert "pos, neg" in html
    assert not Study.objects.exists()
    assert not Dataset.objects.exists()
    (address,) = set(re.findall(r'<iframe[^>]* src="([^"]+)"', html))
    page = admin_client.get(address).content.decode()
    assert "Wunderbar" in page
    assert "Preview." in page


def test_what_was_looked_at_becomes_a_draft(admin_client):
    response = create(admin_client, look(admin_client))
    study = Study.objects.get()
    assert response.headers["Location"] == f"/admin/judgments/study/{study.pk}/change/"
    assert (study.slug, study.name, study.state, study.protocol) == (
        "ton",
        "Ton der Texte",
        "draft",
        "template",
    )
    assert design_of(study).template.html == TONE.strip()
    assert Item.objects.filter(dataset__name="ton").count() == 2
    page = admin_client.get(response.headers["Location"]).content.decode()
    assert "with 2 rows of inputs" in page
    assert "${text}" in page, "the template stands in the form of the design"


def test_it_is_created_once(admin_client):
    html = look(admin_client)
    create(admin_client, html)
    again = create(admin_client, html)
    assert "upload the template" in again.content.decode()
    assert Study.objects.count() == 1


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"template": "<p>Nothing</p>"}, "asks nothing that can be answered here"),
        ({"inputs": "id,other\n1,2\n"}, "The template has the field ${text}, but i.csv has no such column"),
        ({"inputs": "id,text\n1\n"}, "i.csv, line 2: found 1 cell"),
        ({"template": b"\xff\xfe"}, "t.html is not UTF-8 (byte 1)"),
        ({"template": TONE + " " * 65_536}, "bytes; expected at most 65,536."),
        ({"template": "a\x00b"}, "U+0000"),
        ({"slug": "to ne"}, "Use only letters from a to z"),
    ],
)
def test_what_cannot_be_used_is_said_on_the_page_and_nothing_is_stored(
    admin_client, settings, tmp_path, values, said
):
    settings.DATA_DIR = tmp_path
    html = look(admin_client, **values)
    assert said in html.replace("&#x27;", "'")
    assert not Study.objects.exists()
    assert not Dataset.objects.exists()
    assert not list(tmp_path.glob("uploads/*"))


def test_a_taken_short_name_is_said_at_once(admin_client):
    create(admin_client, look(admin_client))
    assert "A study" in look(admin_client)


def test_pictures_come_along_in_a_zip(admin_client):
    picture = io.BytesIO()
    Image.new("RGB", (4, 4), "red").save(picture, "PNG")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("red.png", picture.getvalue())
    html = look(
        admin_client,
        '<img src="${picture}" alt="A square"><input name="x" required>',
        "picture\nred.png\n",
        pictures=file("p.zip", packed.getvalue()),
    )
    create(admin_client, html)
    study = Study.objects.get()
    assert Item.objects.get(dataset=study.dataset).picture
    page = admin_client.get(f"/s/{study.slug}/preview/").content.decode()
    assert re.search(r'<img src="/[^"]*pictur[^"]*" alt="A square"', page), page


def test_only_who_may_add_studies_brings_templates(client):
    assert client.get(ADDRESS).status_code == 302
    client.force_login(User.objects.create_user("staff", is_staff=True))
    assert client.get(ADDRESS).status_code == 403


def test_the_start_page_leads_there_and_the_form_has_a_template_to_begin_with(admin_client):
    assert ADDRESS in admin_client.get("/admin/judgments/study/add/").content.decode()
    Dataset.objects.create(name="rows", source_format="inputs", fingerprint="")
    assert ADDRESS in admin_client.get("/admin/judgments/study/add/").content.decode()
    form = admin_client.get("/admin/judgments/study/add/?protocol=template")
    assert form.status_code == 200
    assert "Does this text make sense?" in form.content.decode()


def test_an_upload_when_the_server_has_no_room_is_refused(
    admin_client: Client, settings: Any, tmp_path: Path
) -> None:
    settings.DATA_DIR, settings.UPLOADS_MB = tmp_path, 0
    assert "0 MB" in look(admin_client)
