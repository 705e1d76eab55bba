"""An outlook becomes the outcome bounds of a unit, as the glossary says."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("judgments", "0016_cached_figures")]

    operations = [
        migrations.RemoveConstraint(model_name="outlook", name="an_outlook_reaches_from_low_to_high"),
        migrations.RenameModel("Outlook", "OutcomeBounds"),
        migrations.AlterModelOptions(
            name="outcomebounds", options={"verbose_name_plural": "outcome bounds"}
        ),
        migrations.AlterField(
            model_name="outcomebounds",
            name="unit",
            field=models.OneToOneField(
                on_delete=django.db.models.deletion.CASCADE,
                primary_key=True,
                related_name="bounds",
                serialize=False,
                to="judgments.unit",
            ),
        ),
        migrations.AddConstraint(
            model_name="outcomebounds",
            constraint=models.CheckConstraint(
                condition=models.Q(("low__gte", -1), ("low__lte", models.F("high")), ("high__lte", 1)),
                name="outcome_bounds_are_in_order",
            ),
        ),
    ]
