"""Published sets in an installation that leaves their readers out."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.installations import Installation, Installations

SET = """
from pathlib import Path
from tempfile import mkdtemp

folder = Path(mkdtemp()) / "flickr8k"
folder.mkdir()
(folder / "Flickr8k.token.txt").write_text("".join(f"a.jpg#{n}\\tA dog runs {n}\\n" for n in range(5)))
(folder / "ExpertAnnotations.txt").write_text("a.jpg\\ta.jpg#2\\t1\\t2\\t4\\n")
"""
USED = f"""{SET}
from contrib.judgment_imports.importing import import_judgments
from judgments.datasets.importing.datasets import import_dataset

import_dataset(format="flickr8k", path=folder, name="flickr8k")
import_judgments(format="flickr8k-expert", path=folder, dataset="flickr8k", study="experts")
"""
VISIT = f"""{SET}
import json
import django
django.setup()
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from judgments.datasets.understanding import inspect_upload
from judgments.models import Job, Study

study = Study.objects.get(slug="experts")
browser = Client()
browser.force_login(User.objects.create_superuser("rosa", password="a long enough password"))
dataset = f"/admin/judgments/dataset/{{study.dataset_id}}/"
pages = {{
    "new": browser.get(reverse("admin:judgments_dataset_add"), follow=True).content.decode(),
    **{{name: browser.get(f"{{dataset}}{{name}}/").content.decode() for name in ("candidates", "judgments")}},
}}
file = SimpleUploadedFile("ExpertAnnotations.txt", b"a.jpg\\ta.jpg#2\\t1\\t2\\t4\\n")
browser.post(f"{{dataset}}judgments/", {{"study": "more", "format": "flickr8k-expert", "files": file}})
(folder / "captions.csv").write_text("image,caption\\na.jpg,A dog\\n")
understood = inspect_upload(folder, [], uploaded=[], maps={{}})
answer = {{
    "offered": [
        f"{{page}}: {{name}}"
        for page, content in pages.items()
        for name in ("flickr8k", "flickr8k-expert", "flickr8k-crowd", "coco", "pascal-50s", "abstract-50s")
        if f'value="{{name}}"' in content
    ],
    "tables": ['value="csv"' in content for content in pages.values()],
    "stored": [Study.objects.count(), Job.objects.count()],
    "understood": list({{part.format for part in understood.parts}}),
    "results": browser.get(f"/admin/judgments/study/{{study.pk}}/results/").status_code,
    "source": study.dataset.source_format,
    "folder": str(folder),
}}
print(json.dumps(answer))
"""


@pytest.fixture
def installation(installations: Installations) -> Iterator[Installation]:
    with installations.fresh("sqlite", after=USED) as installation:
        installation.turn_off("published_sets")
        yield installation


@pytest.mark.long
def test_what_was_imported_stays_and_no_page_or_command_offers_the_formats(
    installation: Installation,
) -> None:
    answer = installation.reply_of(VISIT)
    folder = answer.pop("folder")
    assert answer == {
        "offered": [],
        "tables": [True, True, True],
        "stored": [1, 0],
        "understood": ["csv"],
        "results": 200,
        "source": "flickr8k",
    }
    for line in (
        ("import_dataset", "flickr8k", folder, "--name", "more"),
        ("import_candidates", "coco", folder, "--dataset", "flickr8k", "--system", "more"),
        ("import_judgments", "flickr8k-expert", folder, "--dataset", "flickr8k", "--study", "more"),
        ("agreement", folder, "--with", folder, "--first-format", "flickr8k-expert"),
    ):
        done = installation.run_new("manage.py", *line)
        assert done.returncode != 0
        assert "invalid choice" in done.stderr
        assert "'csv'" in done.stderr
        assert "'pascal-50s'" not in done.stderr


@pytest.mark.long
def test_a_pack_that_reads_a_set_is_refused_and_others_run(
    installation: Installation, tmp_path: Path
) -> None:
    flickr = tmp_path / "flickr8k"
    flickr.mkdir()
    for name in ("Flickr8k.token.txt", "ExpertAnnotations.txt", "CrowdFlowerAnnotations.txt"):
        (flickr / name).touch()
    output = tmp_path / "out"
    data = ("--data", str(tmp_path), "--output", str(output))
    done = installation.run_new("manage.py", "replicate", "graded-sets", *data)
    assert done.returncode != 0
    [sentence] = [line for line in done.stderr.splitlines() if "flickr8k" in line]
    assert "published_sets in CONTRIB_APPS" in sentence
    assert not output.exists()
    listed = installation.run_new("manage.py", "replicate", "graded-sets", "--list", "--data", str(tmp_path))
    assert "NOT READABLE" in listed.stdout
    assert installation.run_new("manage.py", "replicate", "thumb", *data).returncode == 0
    assert (output / "verdicts.json").exists()
