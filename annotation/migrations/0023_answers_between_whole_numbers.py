import judgments.models.datasets


"""Room for answers such as 2.5."""

from django.db import migrations
from django.db.migrations.exceptions import IrreversibleError
from django.db.models import Q
from django.db.models.functions import Floor

from judgments.models.datasets import NumberField


def refuse_what_no_smallint_holds(apps, schema_editor):
    for name in ("judgment", "adjudication"):
        rows = apps.get_model("annotation", name).objects.using(schema_editor.connection.alias)
        lost = rows.filter(Q(value__gt=Floor("value")) | Q(value__lt=-32768) | Q(value__gt=32767)).count()
        if lost:
            raise IrreversibleError(
                f"{lost} values of {name} are no whole numbers, or too large, for the version before this one"
            )


class Migration(migrations.Migration):
    dependencies = [("annotation", "0022_names_with_marks")]

    operations = [
        migrations.AlterField("judgment", "value", NumberField(blank=True, null=True)),
        migrations.AlterField(
            "adjudication",
            "value",
            judgments.models.datasets.NumberField(blank=True, help_text="The final answer, in the item's order.", null=True),
        ),
        migrations.RunPython(migrations.RunPython.noop, refuse_what_no_smallint_holds),
    ]
