"""Migration operations on many tables or indexes at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.operations import AddIndex, CreateModel
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState


class CreateModels(Operation):
    """Create models or indexes and render all models once.

    Django renders all related models again for each operation, which is quadratic in their number.
    """

    def __init__(self, operations: Sequence[CreateModel | AddIndex]) -> None:
        self.operations = operations

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        state.__dict__.pop("apps", None)  # or all are rendered for each operation
        for operation in self.operations:
            operation.state_forwards(app_label, state)

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: Any, to_state: Any
    ) -> None:
        for operation in self.operations:
            operation.database_forwards(app_label, schema_editor, from_state, to_state)

    def database_backwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: Any, to_state: Any
    ) -> None:
        for operation in reversed(self.operations):
            operation.database_backwards(app_label, schema_editor, from_state, to_state)

    def describe(self) -> str:
        return f"Create {len(self.operations)} models or indexes"


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
