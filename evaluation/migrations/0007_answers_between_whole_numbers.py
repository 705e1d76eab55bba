"""Room for answers such as 2.5."""

from django.db import migrations

from judgments.models.datasets import NumberField


class Migration(migrations.Migration):
    dependencies = [("evaluation", "0006_open_answers_of_judges")]

    operations = [
        migrations.AlterField(
            "judgeanswer", "value", NumberField(blank=True, help_text="In the unit's order.", null=True)
        ),
    ]
