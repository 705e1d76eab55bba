"""Operations of migrations that several apps share."""

from __future__ import annotations

from typing import Any

from django.db.migrations import RunPython


def move_content_types(*models: str, before: str, after: str) -> RunPython:
    """Give the content types of models whose tables stay the label of another app.

    Permissions of groups and the entries of the admin's log refer to content types, so they stay, too.

    Args:
        models: their names in small letters.
        before: the label of the app that they leave.
        after: the label of the app that they join.
    """

    def move(apps: Any, schema_editor: Any, before: str, after: str) -> None:
        types = apps.get_model("contenttypes", "ContentType").objects.using(schema_editor.connection.alias)
        types.filter(app_label=before, model__in=models).update(app_label=after)

    return RunPython(
        lambda apps, schema_editor: move(apps, schema_editor, before, after),
        lambda apps, schema_editor: move(apps, schema_editor, after, before),
    )
