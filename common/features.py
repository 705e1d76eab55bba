"""What features that an installation can leave out add to the lists of the platform, and how models move to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from django.apps import apps
from django.conf import settings
from django.utils.module_loading import import_string

if TYPE_CHECKING:
    from django.db.migrations import RunPython

# The settings with those of features, which are no names of config.settings, so mypy does not know them.
feature_settings: Any = settings


def of_features(attribute: str) -> list[Any]:
    """Return what the features that are on declare under an attribute of ``config.features.Feature``, loaded."""
    features = getattr(settings, "FEATURES", {})  # commands on files run without
    return [import_string(path) for feature in features.values() for path in getattr(feature, attribute)]


def of_apps(attribute: str) -> list[tuple[str, Any]]:
    """Return what the features declare, on or off, loaded: each with the name of the feature."""
    return [
        (app.label, import_string(path))
        for app in apps.app_configs.values()
        for path in getattr(app, attribute, ())
    ]


def declared_by_features(attribute: str) -> dict[str, Any]:
    """Return the mappings that the features that are on declare under an attribute, as one."""
    features = getattr(settings, "FEATURES", {})
    return {key: value for feature in features.values() for key, value in getattr(feature, attribute).items()}


def loaded_when_called(path: str) -> Callable[..., Any]:
    """Return a function that loads the one at the path when it is called. Connect it to signals with weak=False."""
    return lambda *args, **about: import_string(path)(*args, **about)


def move_content_types(*models: str, before: str, after: str) -> RunPython:
    """Return an operation that gives the content types of models whose tables stay the label of another app.

    Permissions of groups and the entries of the admin's log refer to content types, so they stay, too.

    Args:
        models: their names in small letters.
        before: the label of the app that they leave.
        after: the label of the app that they join.
    """
    from django.db.migrations import RunPython  # which takes time, and migrations alone need

    def move(apps: Any, schema_editor: Any, before: str, after: str) -> None:
        types = apps.get_model("contenttypes", "ContentType").objects.using(schema_editor.connection.alias)
        types.filter(app_label=before, model__in=models).update(app_label=after)

    return RunPython(
        lambda apps, schema_editor: move(apps, schema_editor, before, after),
        lambda apps, schema_editor: move(apps, schema_editor, after, before),
    )
