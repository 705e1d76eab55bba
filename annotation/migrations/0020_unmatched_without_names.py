"""Payments for work that does not count here: their keys hold a keyed hash of the person's pseudonym instead of it."""

import hashlib
import hmac

from django.apps.registry import Apps
from django.conf import settings
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def hide_people(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    entries = apps.get_model("annotation", "LedgerEntry")._base_manager
    for entry in entries.filter(what="unmatched", key__contains=":p-").iterator():
        place, worker, *rest = entry.key.rsplit(":", 3)
        text = "\x1f".join(("mark", "unmatched", worker)).encode()
        mark = hmac.new(settings.PSEUDONYM_KEY.encode(), text, hashlib.sha256).hexdigest()[:16]
        entries.filter(pk=entry.pk).update(key=":".join([place, mark, *rest]))


class Migration(migrations.Migration):
    dependencies = [("annotation", "0019_seats")]

    operations = [migrations.RunPython(hide_people, migrations.RunPython.noop, elidable=True)]
