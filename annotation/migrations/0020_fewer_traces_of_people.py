"""Keys of payments for work that does not count here lose the pseudonym, rows of erased people their exact times."""

import hashlib
import hmac
from datetime import UTC

from django.apps.registry import Apps
from django.conf import settings
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.models.functions import TruncDay, TruncMinute


def hide_people(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    entries = apps.get_model("annotation", "LedgerEntry")._base_manager
    for entry in entries.filter(what="unmatched", key__contains=":p-").iterator():
        place, worker, *rest = entry.key.rsplit(":", 3)
        text = "\x1f".join(("mark", "unmatched", worker)).encode()
        mark = hmac.new(settings.PSEUDONYM_KEY.encode(), text, hashlib.sha256).hexdigest()[:16]
        entries.filter(pk=entry.pk).update(key=":".join([place, mark, *rest]))


def cut_times(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    work, answers, reports, invitations = (
        apps.get_model("annotation", name)._base_manager
        for name in ("Assignment", "Judgment", "ProblemReport", "Invitation")
    )
    of_erased = {"assignment__worker__erased": True}
    answers.filter(**of_erased).update(made_at=TruncMinute("made_at", tzinfo=UTC))
    reports.filter(**of_erased).update(created_at=TruncMinute("created_at", tzinfo=UTC))
    work.filter(worker__erased=True).update(expires_at=None)
    invitations.filter(worker=None).update(used_at=TruncDay("used_at", tzinfo=UTC))


class Migration(migrations.Migration):
    dependencies = [("annotation", "0019_seats")]

    operations = [
        migrations.RunPython(hide_people, migrations.RunPython.noop, elidable=True),
        migrations.RunPython(cut_times, migrations.RunPython.noop, elidable=True),
    ]
