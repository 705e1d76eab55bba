"""Rename the fields `place` and `given` of deposits to `archive` and `statements`; the columns keep their names."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("evaluation", "0004_import_predictions")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RenameField("deposit", "place", "archive"),
                migrations.AlterField(
                    "deposit",
                    "archive",
                    models.CharField(
                        choices=[("zenodo", "Zenodo"), ("huggingface", "Hugging Face")], db_column="place", max_length=11
                    ),
                ),
                migrations.RenameField("deposit", "given", "statements"),
                migrations.AlterField(
                    "deposit",
                    "statements",
                    models.JSONField(
                        blank=True,
                        db_column="given",
                        default=dict,
                        help_text="Creators, keywords, papers, and what was said of rights.",
                    ),
                ),
            ]
        )
    ]
