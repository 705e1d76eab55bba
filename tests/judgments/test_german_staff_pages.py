"""The staff's pages in German: no English left on them."""

from __future__ import annotations

import re

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from judgments.jobs import enqueue
from judgments.kinds import KINDS
from tests.annotation.foreign_pages import english_on
from tests.studies import make_study

pytestmark = pytest.mark.django_db
OWN = ("change", "hits", "plan", "people", "log", "reuse", "study-file")


@pytest.fixture
def german() -> Client:
    """An administrator whose browser asks for German."""
    client = Client(headers={"accept-language": "de"})
    client.force_login(User.objects.create_superuser("jutta"))
    return client


def seen(client: Client, address: str, status: int = 200, **data: object) -> str:
    response = client.post(address, data) if data else client.get(address)
    assert response.status_code == status, address
    html = response.content.decode()
    assert english_on(html, staff=True) == [], address
    assert re.findall(r'(?:value|min|max|step)="-?\d+,\d+"', html) == [], address
    return html


def test_the_pages_of_a_study_and_its_dataset(german: Client) -> None:
    seen(german, "/admin/")
    seen(german, reverse("admin:judgments_study_add"))
    study = make_study(opened=False)
    assert "Ihre Studien" in seen(german, "/admin/")
    for name in OWN[:-1]:
        seen(german, reverse(f"admin:judgments_study_{name}", args=[study.pk]))
    seen(german, reverse("admin:judgments_study_delete", args=[study.pk]))
    seen(german, reverse("admin:judgments_dataset_change", args=[study.dataset_id]))
    for name in ("candidates", "rankings", "judgments"):
        seen(german, reverse(f"admin:judgments_dataset_{name}", args=[study.dataset_id]))
