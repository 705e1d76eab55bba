"""Keys of tokens from before scopes existed were stored as they are, and had no end.

Each keeps working as a hashed token, which its owner sees and can revoke, until 90 days after the upgrade.
"""

from datetime import timedelta
from hashlib import sha256

from django.conf import settings
from django.db import migrations
from django.utils import timezone

NAME = "Made before tokens had scopes; make a new one"
# All scopes at the time of this migration
FOR_PARTICIPANTS = ["submissions:read", "submissions:write"]
FOR_STAFF = [
    "studies:read", "studies:write", "judgments:read", "workers:read", "workers:write", "reports:read",
    "reports:write", "exports:read", "exports:write", "webhooks:read", "webhooks:write", *FOR_PARTICIPANTS,
    "money:read", "money:write",
]  # fmt: skip


def hash_keys(apps, schema_editor):
    old_tokens = apps.get_model("authtoken", "Token").objects.using(schema_editor.connection.alias)
    api_tokens = apps.get_model("judgments", "ApiToken").objects.using(schema_editor.connection.alias)
    for old in old_tokens.select_related("user").order_by("created"):
        api_tokens.create(
            user_id=old.user_id,
            name=NAME,
            prefix=old.key[:6],
            digest=sha256(old.key.encode()).hexdigest(),
            scopes=FOR_STAFF if old.user.is_staff else FOR_PARTICIPANTS,
            created_at=old.created,
            expires_at=timezone.now() + timedelta(days=90),
        )
    old_tokens.all().delete()


class Migration(migrations.Migration):
    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("authtoken", "0003_tokenproxy"),
        ("judgments", "0022_index_of_changed_hits"),
    ]

    operations = [migrations.RunPython(hash_keys, migrations.RunPython.noop)]
