"""Say of a caption what all writings of its text share."""

import hashlib
import json
import unicodedata

from django.db import migrations, models

import judgments.models.datasets

ROWS_PER_BATCH = 2_000


def text_key(text):
    """Return `judgments.drawing.keys.text_key` as it was when this was written."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    form = unicodedata.normalize("NFC", text).strip()
    content = json.dumps([form], ensure_ascii=False, separators=(",", ":"))
    return f"c-{hashlib.sha256(content.encode()).hexdigest()[:20]}"


def fill(apps, schema_editor):
    connection = schema_editor.connection
    captions = apps.get_model("judgments", "Caption").objects.using(connection.alias)
    last = 0
    with connection.cursor() as cursor:
        while rows := list(captions.filter(pk__gt=last).order_by("pk").values_list("pk", "text")[:ROWS_PER_BATCH]):
            last, keys = rows[-1][0], [text_key(text) for _, text in rows]
            if connection.vendor == "postgresql":
                cursor.execute(
                    "UPDATE judgments_caption SET text_key = new.key "
                    "FROM unnest(%s::bigint[], %s::text[]) AS new (id, key) WHERE judgments_caption.id = new.id",
                    [[pk for pk, _ in rows], keys],
                )
            else:
                cursor.executemany(
                    "UPDATE judgments_caption SET text_key = %s WHERE id = %s",
                    [(key, pk) for key, (pk, _) in zip(keys, rows, strict=True)],
                )


class Migration(migrations.Migration):
    dependencies = [("judgments", "0029_systems_of_options")]

    operations = [
        migrations.AddField(
            "caption",
            "text_key",
            judgments.models.datasets.TextKeyField(default="", editable=False, max_length=22),
            preserve_default=False,
        ),
        migrations.RunPython(fill, migrations.RunPython.noop, elidable=True),
        migrations.AddIndex(
            "caption", models.Index(fields=["dataset", "text_key"], name="captions_by_text_key")
        ),
    ]
