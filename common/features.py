"""Collect what optional features add to the platform, and move the content types of models that join a feature.

``Feature`` (config.features) lists the attributes by which a feature adds something.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, cast

from django.apps import apps
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils.functional import SimpleLazyObject
from django.utils.module_loading import import_string

if TYPE_CHECKING:
    from django.db.migrations import RunPython

T = TypeVar("T")

# All settings. mypy does not find the settings of features in config.settings.
feature_settings: Any = settings


def of_features(attribute: str) -> list[Any]:
    """Import and return the objects that the active features list, by their paths, in an attribute of ``Feature``."""
    objects: list[Any] = []
    for feature in _active_features():
        objects.extend(import_string(path) for path in getattr(feature, attribute))
    return objects


@cache
def of_apps(attribute: str) -> Mapping[str, tuple[str, Any]]:
    """Import the objects, or classes, that features list in an attribute. Return (feature's name, object) by ``name``.

    Unlike in ``of_features``, inactive features count, too.
    """
    apps.check_apps_ready()  # otherwise an incomplete result would be cached
    objects: dict[str, tuple[str, Any]] = {}
    for app in apps.app_configs.values():
        for path in getattr(app, attribute, ()):
            declared_object = import_string(path)
            objects[declared_object.name] = (app.label, declared_object)
    return objects


def lazy_registry(read: Callable[[], T]) -> T:
    """Return a proxy of a registry that ``read`` returns. The registry is read when it is first used.

    Features declare subclasses of classes in the registry's package. If the registry were read when its package is
    imported, a feature's module could not be the first one that is imported. It still cannot be if it imports a
    module that uses the registry while it is imported, such as `evaluation.management.agreement`.

    The proxy has no ``|`` of mappings, and is no dict for ``json.dumps``: write ``{**first, **second}``.
    """
    return cast("T", SimpleLazyObject(read))


def declared_by_features(attribute: str) -> dict[str, Any]:
    """Return the union of the mappings that active features have in an attribute.

    Raise ImproperlyConfigured if two features declare the same key.
    """
    union: dict[str, Any] = {}
    for feature in _active_features():
        mapping = getattr(feature, attribute)
        if repeated_keys := union.keys() & mapping.keys():
            raise ImproperlyConfigured(
                f"Two features declare {attribute} {', '.join(sorted(repeated_keys))}."
            )
        union |= mapping
    return union


def _active_features() -> Iterable[Any]:
    features: dict[str, Any] = getattr(settings, "FEATURES", {})  # commands on files run without settings
    return features.values()


def lazy_function(path: str) -> Callable[..., Any]:
    """Return a function that imports the function at a path when it is called, and calls it.

    To connect it to a signal, use ``weak=False``, since nothing else refers to it.
    """
    return lambda *args, **kwargs: import_string(path)(*args, **kwargs)


def move_content_types(*models: str, before: str, after: str) -> RunPython:
    """Return a migration operation that moves the content types of models to another app. Tables do not change.

    Permissions of groups and entries of the admin's log refer to content types, so they remain valid.

    Args:
        models: names of the models in lower case.
        before: label of the app that the models leave.
        after: label of the app that they join.
    """
    from django.db.migrations import RunPython  # slow, and only for migrations

    def change_app(apps: Any, schema_editor: Any, before: str, after: str) -> None:
        types = apps.get_model("contenttypes", "ContentType").objects.using(schema_editor.connection.alias)
        types.filter(app_label=before, model__in=models).update(app_label=after)

    return RunPython(
        lambda apps, schema_editor: change_app(apps, schema_editor, before, after),
        lambda apps, schema_editor: change_app(apps, schema_editor, after, before),
    )
