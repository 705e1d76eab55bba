"""The group whose members design studies of their own, and see no others' (docs/roles.md)."""

from __future__ import annotations

from typing import Any

from django.db import migrations

NAME = "Researchers"
MAY = {
    "study": ["add"],
    "dataset": ["add", "view"],
    "system": ["view"],
    "item": ["view"],
    "caption": ["view"],
}


def make_group(apps: Any, schema_editor: Any) -> None:
    """Permissions are made after all migrations, so those that the group needs are made here where they lack. A group
    of this name that is there keeps what it has."""
    group, made = apps.get_model("auth", "Group").objects.get_or_create(name=NAME)
    if not made:
        return
    for model, verbs in MAY.items():
        kind, _ = apps.get_model("contenttypes", "ContentType").objects.get_or_create(
            app_label="judgments", model=model
        )
        for verb in verbs:
            permission, _ = apps.get_model("auth", "Permission").objects.get_or_create(
                content_type=kind, codename=f"{verb}_{model}", defaults={"name": f"Can {verb} {model}"}
            )
            group.permissions.add(permission)


class Migration(migrations.Migration):
    dependencies = [
        ("judgments", "0008_api_tokens"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
    ]

    operations = [migrations.RunPython(make_group, migrations.RunPython.noop)]
