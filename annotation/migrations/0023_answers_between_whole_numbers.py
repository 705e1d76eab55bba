"""Room for answers such as 2.5."""

from django.db import migrations

from judgments.models.datasets import NumberField


class Migration(migrations.Migration):
    dependencies = [("annotation", "0022_names_with_marks")]

    operations = [
        migrations.AlterField("judgment", "value", NumberField(blank=True, null=True)),
        migrations.AlterField(
            "adjudication",
            "value",
            NumberField(blank=True, help_text="The final answer, in the unit's order.", null=True),
        ),
    ]
