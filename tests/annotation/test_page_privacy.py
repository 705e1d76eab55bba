"""Who sees which page and picture, what a page never tells, and what it never runs."""

import io
import re
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.template.loader import render_to_string
from django.test import Client
from django.utils.html import escape
from PIL import Image

from annotation.models import Assignment, ProblemReport
from annotation.views.visitors import WORKER_COOKIE
from annotation.work.sheet import units
from common.errors import WrongState
from judgments.access.roles import give_role
from judgments.datasets.operations import OPERATIONS
from judgments.datasets.scaling import scaled_path
from judgments.design.reading.checking import make_design
from judgments.jobs.claims import run_job
from judgments.jobs.queues import enqueue
from judgments.models import Caption, Item, Job, Study, System, Unit
from judgments.studies.studies import create_study
from tests.annotation.casting import joined, make_dataset, make_study, picture_bytes
from tests.annotation.posting import KINDS, submit, work_of
from tests.crowd import first_answers
from tests.doors import signed_in
from tests.marks import long_except

pytestmark = pytest.mark.django_db


def test_another_worker_s_page_of_work_is_not_there() -> None:
    dataset = make_dataset()
    study, other = make_study(dataset, "pairwise"), make_study(dataset, "graded")
    ada, eve = joined(study, "ada"), joined(study, "eve")
    html, assignment = work_of(study, ada)
    base = f"/s/{study.slug}/work/{assignment.pk}/"
    for stranger in (eve.client, Client()):
        for address in ("return/", "report/1/"):
            assert stranger.get(base + address).status_code == 404
        for address, fields in (
            ("submit/", first_answers(html)),
            ("save/", {"u1": "1"}),
            ("return/", {"confirm": "1"}),
            ("report/1/", {"what": "other"}),
        ):
            assert stranger.post(base + address, fields).status_code == 404
        saved = stranger.post(base + "save/", {"answers": []}, content_type="application/json")
        assert saved.status_code == 404
        seen = stranger.get(f"/pictures/{assignment.pk}/1/").status_code
        assert seen == (404 if stranger is eve.client else 401)
    assert ada.client.post(f"/s/{other.slug}/work/{assignment.pk}/submit/").status_code == 404
    assignment.refresh_from_db()
    assert (assignment.state, assignment.answers) == ("accepted", {})
    assert not ProblemReport.objects.exists()


def test_a_stranger_is_sent_from_work_and_last_page_to_the_study_s_link() -> None:
    study = make_study(make_dataset())
    for address in ("work/", "start/", "done/"):
        for stranger in (
            Client(),
            joined(make_study(study.dataset, "graded", slug=f"g-{address[0]}"), address).client,
        ):
            assert stranger.get(f"/s/{study.slug}/{address}")["Location"] == f"/s/{study.slug}/"


def test_a_form_without_its_token_is_refused_with_a_page_in_words() -> None:
    study = make_study(make_dataset())
    ada = joined(study)
    _, assignment = work_of(study, ada)
    careful = Client(enforce_csrf_checks=True)
    careful.cookies[WORKER_COOKIE] = ada.token
    for address in ("submit/", "save/", "return/", "report/1/"):
        response = careful.post(f"/s/{study.slug}/work/{assignment.pk}/{address}", {"u1": "1"})
        assert response.status_code == 403
        assert "Nothing was sent, please try again" in response.content.decode()


def shown_items(assignment: Assignment) -> list[Item]:
    """The images of an assignment in the order its worker sees them."""
    assert assignment.hit is not None
    places = assignment.hit.places.select_related("unit__item").order_by("position")
    items = [place.unit.item for place in places]
    return [items[place] for place in assignment.order] if assignment.order else items


def bytes_of(item: Item) -> bytes:
    with item.picture.open("rb") as file:
        return bytes(file.read())


def test_a_picture_goes_to_its_worker_byte_for_byte_and_is_kept_by_that_browser_alone() -> None:
    study = make_study(make_dataset(), "pairwise")
    ada = joined(study)
    html, assignment = work_of(study, ada)
    address = f"/pictures/{assignment.pk}/1/"
    assert f'src="{address}"' in html
    response = ada.client.get(address)
    item = shown_items(assignment)[0]
    assert response.getvalue() == bytes_of(item)
    assert response["Content-Type"] == "image/jpeg"
    assert "private" in response["Cache-Control"]
    assert item.name not in str(response.headers)
    unchanged = ada.client.get(address, headers={"If-None-Match": response["ETag"]})
    assert unchanged.status_code == 304
    response.close()
    by_token = Client().get(address, headers={"Authorization": f"Token {ada.token}"})
    assert by_token.status_code == 200
    by_token.close()
    assert ada.client.get(f"/pictures/{assignment.pk}/99/").status_code == 404
    assert ada.client.get(f"/pictures/{assignment.pk}/0/").status_code == 404


def test_every_position_has_the_picture_of_the_unit_that_is_shown_there() -> None:
    study = make_study(make_dataset(), "graded")
    orders = set()
    for name in ("ada", "ben", "cleo", "dora"):
        person = joined(study, name)
        _, assignment = work_of(study, person)
        orders.add(tuple(assignment.order))
        for position, item in enumerate(shown_items(assignment), start=1):
            response = person.client.get(f"/pictures/{assignment.pk}/{position}/")
            assert response.getvalue() == bytes_of(item)
    assert len(orders) > 1  # workers see the items in an order of their own


def test_staff_with_a_role_see_pictures_and_nobody_else_does(django_user_model: Any) -> None:
    study = make_study(make_dataset(), "pairwise")
    _, assignment = work_of(study, joined(study))
    item = Item.objects.first()
    assert item is not None
    for name, is_staff, has_role, status in (
        ("viewer", True, True, 200),
        ("stranger", True, False, 404),
        ("visitor", False, False, 404),
    ):
        user = django_user_model.objects.create_user(name, is_staff=is_staff)
        if has_role:
            give_role(study=study, user=user, role="viewer")
        client = signed_in(user)
        for address in (f"/pictures/{assignment.pk}/1/", f"/pictures/preview/{item.pk}/"):
            response = client.get(address)
            assert response.status_code == status
            response.close()


def test_a_picture_whose_file_is_gone_is_not_there_and_the_page_still_works() -> None:
    study = make_study(make_dataset(), "graded")
    ada = joined(study)
    for item in Item.objects.all():
        item.picture.delete(save=False)
        Item.objects.filter(pk=item.pk).update(picture="pictures/gone.jpg")
    html, assignment = work_of(study, ada)
    assert ada.client.get(f"/pictures/{assignment.pk}/1/").status_code == 404
    assert "cannot be loaded" in html


def test_an_item_without_picture_or_address_says_so_and_can_be_reported() -> None:
    study = make_study(make_dataset(pictures=False), "graded")
    html, assignment = work_of(study, joined(study))
    assert '<p class="broken" data-broken>' in html
    assert f"/s/{study.slug}/work/{assignment.pk}/report/1/" in html


def test_an_item_that_has_only_an_address_is_linked_directly() -> None:
    dataset = make_dataset(pictures=False)
    Item.objects.update(url="https://pictures.example/x.jpg")
    html, _ = work_of(make_study(dataset, "graded"), joined(Study.objects.get()))
    assert 'src="https://pictures.example/x.jpg"' in html


def test_a_file_that_is_no_picture_is_never_served_as_a_document() -> None:
    dataset = make_dataset()
    for item in Item.objects.all():
        item.picture.save("evil.svg", picture_file(b"<svg xmlns='http://www.w3.org/2000/svg'/>"))
    study = make_study(dataset, "graded")
    ada = joined(study)
    _, assignment = work_of(study, ada)
    response = ada.client.get(f"/pictures/{assignment.pk}/1/")
    assert response["Content-Type"] == "application/octet-stream"
    assert response["X-Content-Type-Options"] == "nosniff"
    response.close()


def picture_file(content: bytes = picture_bytes()) -> Any:
    return ContentFile(content)


def shown_picture(html: str) -> dict[str, str]:
    tag = re.findall(r"<img [^>]*>", html)[0]
    return dict(re.findall(r'([a-z]+)="([^"]*)"', tag))


def test_a_large_picture_is_served_scaled_to_its_worker_alone_and_opens_as_it_is(settings: Any) -> None:
    dataset = make_dataset()
    large = picture_bytes("teal", (2400, 1600))
    for item in Item.objects.all():
        item.picture.save("large.jpg", picture_file(large))
    Item.objects.filter(position=7).update(picture="", url="https://pictures.example/x.jpg")
    sentence = OPERATIONS["scale-pictures"].carry_out(dataset=dataset, by=None)
    assert sentence == "The pictures of shapes are now being scaled in the background."
    with pytest.raises(WrongState, match="already running"):
        OPERATIONS["scale-pictures"].carry_out(dataset=dataset, by=None)
    assert run_job(Job.objects.get().pk)
    assert Job.objects.get().result == {"pictures": 7, "scaled": 7}
    study = make_study(dataset, "pairwise")
    ada, eve = joined(study, "ada"), joined(study, "eve")
    html, assignment = work_of(study, ada)
    address = f"/pictures/{assignment.pk}/1/"
    image = shown_picture(html)
    assert (image["src"], image["width"], image["height"]) == (address, "2400", "1600")
    assert image["srcset"] == f"{address}?width=720 720w, {address}?width=1280 1280w"
    small = ada.client.get(f"{address}?width=720")
    assert small["Content-Type"] == "image/webp"
    assert "private" in small["Cache-Control"]
    with Image.open(io.BytesIO(small.getvalue())) as picture:
        assert picture.size == (720, 480)
    headers = {"If-None-Match": small["ETag"]}
    assert ada.client.get(f"{address}?width=720", headers=headers).status_code == 304
    assert ada.client.get(f"{address}?width=1280", headers=headers).status_code == 200
    assert eve.client.get(f"{address}?width=720").status_code == 404
    assert Client().get(f"{address}?width=720").status_code == 401
    for original in (address, f"{address}?width=9", f"{address}?width=../720"):
        assert ada.client.get(original).getvalue() == large

    # one lost file, one replaced picture: the originals are served, until the job makes these two again
    first, second = shown_items(assignment)[0], Item.objects.exclude(picture="").last()
    scaled_path(str(first.picture), 720).unlink()
    assert ada.client.get(f"{address}?width=720").getvalue() == large
    assert second is not None
    second.picture.save("new.jpg", picture_file(large))
    job = enqueue(kind="scale_pictures", args={"dataset": dataset.name})
    assert run_job(job.pk)
    job.refresh_from_db()
    assert job.result == {"pictures": 7, "scaled": 2 if first.pk != second.pk else 1}
    assert ada.client.get(f"{address}?width=720").getvalue() == small.getvalue()


@pytest.mark.parametrize("protocol", KINDS)
def test_a_page_of_work_tells_nothing_about_controls_systems_or_sides(protocol: str) -> None:
    study = make_study(make_dataset(), protocol)
    ada = joined(study)
    html, assignment = work_of(study, ada)
    assert Unit.objects.filter(hits=assignment.hit_id, control=True).exists()
    told = html + submit(study, ada, assignment, {}).content.decode()
    told += ada.client.post(
        f"/s/{study.slug}/work/{assignment.pk}/save/", {"answers": []}, content_type="application/json"
    ).content.decode()
    secrets = {"control", "expected", "flip", "swap", "gold", "filtered", "secret-file", "bleu"}
    secrets |= {key.lower() for key in Unit.objects.values_list("key", flat=True)}
    secrets |= {key.lower() for key in Caption.objects.values_list("key", flat=True)}
    secrets |= {name.lower() for name in System.objects.values_list("name", flat=True)}
    secrets |= {hit.key.lower() for hit in study.hits.all()}
    words = re.sub(r"csrfmiddlewaretoken\" value=\"[^\"]+\"", "", told).lower()
    assert [secret for secret in secrets if secret in words] == []


HOSTILE = [
    "<script>alert('x')</script> & <b>bold</b>",
    '" onmouseover="alert(1)',
    "A man‮ backwards text",
    "كلب أسود يركض على الثلج",
    "{{ design.seed }} {% now %}",
    "long " * 220,
    "x" * 1100,
]


@pytest.mark.parametrize("protocol", long_except(KINDS, "triplet", "graded"))
def test_a_hostile_caption_is_shown_as_text_and_stays_in_its_place(protocol: str) -> None:
    study = make_study(make_dataset(), protocol)
    ada = joined(study)
    for text in HOSTILE:
        Caption.objects.update(text=text)
        units._cached_units.cache_clear()  # captions of a study change nowhere else
        html, _ = work_of(study, ada)
        assert f'<bdi class="said" dir="auto">{escape(text)}</bdi>' in html
        assert "<script>alert" not in html
        assert "<b>bold" not in html


def test_a_caption_without_anything_to_see_says_so() -> None:
    study = make_study(make_dataset())
    ada = joined(study)
    for text in ("", " ", "​", " ‌‍", "\u2066\u2069"):
        Caption.objects.update(text=text)
        units._cached_units.cache_clear()  # captions of a study change nowhere else
        html, _ = work_of(study, ada)
        assert ">(empty)<" in html


@pytest.mark.parametrize("protocol", long_except(KINDS, "pairwise", "relevance"))
def test_no_page_holds_script_or_style_of_its_own(protocol: str) -> None:
    study = make_study(make_dataset(), protocol, consent="Agree.", instructions="# Do\n\n- this")
    ada = joined(study, consent=True)
    html, assignment = work_of(study, ada)
    pages = [html]
    base = f"/s/{study.slug}/"
    pages += [ada.client.get(address).content.decode() for address in ("/", base + "start/", base + "done/")]
    pages.append(Client().get(base).content.decode())
    for address in ("report/1/", "return/"):
        pages.append(ada.client.get(f"{base}work/{assignment.pk}/{address}").content.decode())
    data = r'<script data-[a-z]+="\d*" type="application/json">'  # which no browser runs
    for page in pages:
        plain = re.sub(data, "", page)
        assert not re.search(r"<script(?![^>]*\ssrc=)|<style|\sstyle=|\son[a-z]+=", plain)
        assert '<html lang="en">' in page
        assert len(re.findall(r"<h1", page)) == 1


def test_a_page_of_twenty_triplets_is_light() -> None:
    exactly: dict[str, Any] = {"sampling": {"pairs": {"MM": 5}, "references": 4}, "controls": {"per_hit": 0}}
    study = make_study(make_dataset(), units_per_hit=20, **exactly)
    html, _ = work_of(study, joined(study))
    assert html.count("data-step ") == 20
    assert len(html.encode()) < 60_000


@pytest.mark.parametrize("name", ["403.html", "403_csrf.html", "404.html", "500.html"])
def test_an_error_page_needs_neither_request_nor_database(name: str, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(0):
        page = render_to_string(name)
    assert len(re.findall("<h1>", page)) == 1
    assert "Oops" not in page


@pytest.mark.parametrize("protocol", KINDS)
def test_a_designer_sees_the_worker_s_page_before_anything_is_stored(
    protocol: str, admin_client: Client
) -> None:
    generated = make_study(make_dataset(), protocol, opened=False)
    draft = create_study(design=make_design(generated.design | {"slug": "draft"}))
    units = Unit.objects.count()
    for study in (generated, draft):
        response = admin_client.get(f"/s/{study.slug}/preview/")
        html = response.content.decode()
        assert response.status_code == 200
        assert "Nothing that you do here is stored" in html
        assert "data-save" not in html
        assert "formaction" not in html
        assert first_answers(html)
        for address in set(re.findall(r'src="(/pictures/[^"]+)"', html)):
            picture = admin_client.get(address)
            assert picture.status_code == 200
            picture.close()
    assert Unit.objects.count() == units
    assert not Assignment.objects.exists()


def test_a_preview_of_a_design_that_gives_nothing_says_what_to_change(admin_client: Client) -> None:
    dataset = make_dataset()
    wanted = {
        "name": "Too many",
        "dataset": dataset.name,
        "protocol": "triplet",
        "sampling": {"pairs": {"MM": 900}},
    }
    study = create_study(design=make_design(wanted))
    response = admin_client.get(f"/s/{study.slug}/preview/")
    assert response.status_code == 400
    assert "MM" in response.content.decode()


def test_imported_judgments_have_nothing_to_preview(admin_client: Client) -> None:
    study = make_study(make_dataset(), opened=False)
    study.hits.all().delete()
    response = admin_client.get(f"/s/{study.slug}/preview/")
    assert response.status_code == 409
    assert "has no pages of work" in response.content.decode()
