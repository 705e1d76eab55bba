"""Allow answers that are not whole numbers, such as 2.5."""

from django.db import migrations
from django.db.migrations.exceptions import IrreversibleError
from django.db.models import Q
from django.db.models.functions import Floor

from judgments.models.datasets import NumberField


def refuse_what_no_smallint_holds(apps, schema_editor):
    rows = apps.get_model("evaluation", "JudgeAnswer").objects.using(schema_editor.connection.alias)
    lost = rows.filter(Q(value__gt=Floor("value")) | Q(value__lt=-32768) | Q(value__gt=32767)).count()
    if lost:
        raise IrreversibleError(
            f"{lost} answers of judges are no whole numbers, or too large, for the version before this one"
        )


class Migration(migrations.Migration):
    dependencies = [("evaluation", "0006_open_answers_of_judges")]

    operations = [
        migrations.AlterField(
            "judgeanswer", "value", NumberField(blank=True, help_text="In the unit's order.", null=True)
        ),
        migrations.RunPython(migrations.RunPython.noop, refuse_what_no_smallint_holds),
    ]
