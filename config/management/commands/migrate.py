"""Django's migrate, changed to create the tables of an empty database in one step."""

from __future__ import annotations

from typing import Any

from django.core.management.commands import migrate
from django.db import connections, router
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations import RunPython
from django.db.migrations.executor import MigrationExecutor

from common.commands import START_CHECKS

# Options with which `migrate` does not create all tables.
NOT_ALL_TABLES = ("app_label", "plan", "check_unapplied", "fake", "fake_initial", "prune")


class Command(migrate.Command):
    requires_system_checks = START_CHECKS

    def handle(self, *args: Any, **options: Any) -> None:
        if not any(options[name] for name in NOT_ALL_TABLES):
            was_empty = create_tables(connections[options["database"]])
            if was_empty and options["verbosity"] > 0:
                self.stdout.write("The database was empty: all tables are created.")
        super().handle(*args, **options)


def create_tables(connection: BaseDatabaseWrapper) -> bool:
    """Create the final state of all migrations in an empty database, in one transaction.

    Django's `migrate` renders all related models again for each operation, which takes ten times as long. Of the steps
    that change rows, only those of initial migrations have an effect on empty tables. All of them are in Python.

    Returns:
        Whether the database was empty. If not, nothing is done.
    """
    executor = MigrationExecutor(connection)
    recorder = executor.recorder
    if set(connection.introspection.table_names()) - {recorder.Migration._meta.db_table}:
        return False
    recorder.ensure_schema()
    if recorder.applied_migrations():
        return False
    plan = [step for step, _ in executor.migration_plan(executor.loader.graph.leaf_nodes(), clean_start=True)]
    apps = executor.loader.project_state().apps
    with connection.schema_editor() as editor:
        for model in apps.get_models():
            if model._meta.can_migrate(connection) and router.allow_migrate_model(connection.alias, model):
                editor.create_model(model)
        for step in plan:
            for operation in step.operations:
                if step.initial and isinstance(operation, RunPython):
                    operation.code(apps, editor)
        names: list[tuple[str, str]] = []  # of apps and migrations
        for step in plan:
            names.extend(step.replaces)  # the migrations that were squashed into this one
            names.append((step.app_label, step.name))
        recorder.migration_qs.bulk_create(recorder.Migration(app=app, name=name) for app, name in names)
    return True
