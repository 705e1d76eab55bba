from django.db import migrations, models


class Migration(migrations.Migration):
    """Blocks that are there already get the format 0, which nobody reads: they are made anew."""

    dependencies = [
        ("evaluation", "0002_store_columns_in_blocks"),
    ]

    operations = [
        migrations.AddField(
            model_name="columnblock",
            name="rows",
            field=models.PositiveIntegerField(default=0),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="columnblock",
            name="format",
            field=models.PositiveSmallIntegerField(
                default=0, help_text="What the columns mean; a block of another format is not read."
            ),
            preserve_default=False,
        ),
    ]
