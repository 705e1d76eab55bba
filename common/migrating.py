"""Tables of an empty database in one step, and what several migrations do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.db import router
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations import RunPython
from django.db.migrations.executor import MigrationExecutor


def create_tables(connection: BaseDatabaseWrapper) -> bool:
    """Create what all migrations come to in an empty database, all or nothing; return whether it was empty.

    Django renders all related models again for each operation, which takes ten times as long as the tables. Of the
    migrations' own steps only those of initial ones have anything to do without rows.
    """
    executor = MigrationExecutor(connection)
    recorder = executor.recorder
    if set(connection.introspection.table_names()) - {recorder.Migration._meta.db_table}:
        return False
    recorder.ensure_schema()
    if recorder.applied_migrations():
        return False
    steps = [one for one, _ in executor.migration_plan(executor.loader.graph.leaf_nodes(), clean_start=True)]
    apps = executor.loader.project_state().apps
    with connection.schema_editor() as editor:
        for model in apps.get_models():
            if model._meta.can_migrate(connection) and router.allow_migrate_model(connection.alias, model):
                editor.create_model(model)
        for step in steps:
            for operation in step.operations:
                if step.initial and isinstance(operation, RunPython):
                    operation.code(apps, editor)
        names = [name for step in steps for name in (*step.replaces, (step.app_label, step.name))]
        recorder.migration_qs.bulk_create(recorder.Migration(app=app, name=name) for app, name in names)
    return True


def drop_key_indexes(app_label: str, columns: Mapping[str, Sequence[str]]) -> Callable[[Any, Any], None]:
    """Return a step that drops the indexes of these foreign keys, if present: model -> columns.

    It finds them by their columns, as their names end with a hash.
    """

    def drop(apps: Any, editor: Any) -> None:
        for model, names in columns.items():
            table = apps.get_model(app_label, model)._meta.db_table
            with editor.connection.cursor() as cursor:
                there = editor.connection.introspection.get_constraints(cursor, table)
            for index, about in there.items():
                if about["index"] and not about["unique"] and about["columns"] in [[name] for name in names]:
                    editor.execute(f"DROP INDEX {editor.quote_name(index)}")

    return drop
