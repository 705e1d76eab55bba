"""Say of a caption what all writings of its text share."""

import hashlib
import json
import unicodedata

from django.db import migrations, models
from django.db.models import F

import judgments.models.datasets

ROWS_AT_ONCE = 2_000


def text_key(text):
    """Return `judgments.drawing.material.text_key` as it was when this was written."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    form = unicodedata.normalize("NFC", text).strip()
    content = json.dumps([form], ensure_ascii=False, separators=(",", ":"))
    return f"c-{hashlib.sha256(content.encode()).hexdigest()[:20]}"


def fill(apps, schema_editor):
    captions = apps.get_model("judgments", "Caption").objects.using(schema_editor.connection.alias)
    # most candidates are written in one form, of which their ids are made
    captions.filter(role="candidate", key__startswith="c-", key__regex=r"^.{22}$").update(text_key=F("key"))
    last = 0
    while rows := list(captions.filter(pk__gt=last).order_by("pk").only("pk", "text", "text_key")[:ROWS_AT_ONCE]):
        last, changed = rows[-1].pk, []
        for row in rows:
            key = text_key(row.text)
            if key != row.text_key:
                row.text_key = key
                changed.append(row)
        captions.bulk_update(changed, ["text_key"])


class Migration(migrations.Migration):
    dependencies = [("judgments", "0029_systems_of_options")]

    operations = [
        migrations.AddField(
            "caption",
            "text_key",
            judgments.models.datasets.TextKeyField(default="", editable=False, max_length=22),
            preserve_default=False,
        ),
        migrations.AddIndex(
            "caption", models.Index(fields=["dataset", "text_key"], name="captions_by_text_key")
        ),
        migrations.RunPython(fill, migrations.RunPython.noop, elidable=True),
    ]
