"""Names as in the glossary: cached figures, outcome bounds, withdrawn control items."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("judgments", "0015_jobs_without_messages")]

    operations = [
        migrations.RenameModel("KeptFigures", "CachedFigures"),
        migrations.AlterModelOptions(
            name="cachedfigures", options={"verbose_name_plural": "cached figures"}
        ),
        migrations.AlterField(
            model_name="cachedfigures",
            name="study",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="cached_figures",
                to="judgments.study",
            ),
        ),
        migrations.RemoveConstraint(model_name="outlook", name="an_outlook_reaches_from_low_to_high"),
        migrations.RenameModel("Outlook", "OutcomeBounds"),
        migrations.AlterModelOptions(
            name="outcomebounds", options={"verbose_name_plural": "outcome bounds"}
        ),
        migrations.AlterField(
            model_name="outcomebounds",
            name="unit",
            field=models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='bounds', serialize=False, to='judgments.unit', verbose_name='item'),
        ),
        migrations.AddConstraint(
            model_name="outcomebounds",
            constraint=models.CheckConstraint(
                condition=models.Q(("low__gte", -1), ("low__lte", models.F("high")), ("high__lte", 1)),
                name="outcome_bounds_are_in_order",
            ),
        ),
        migrations.RemoveConstraint(model_name="unit", name="only_control_items_can_be_struck"),
        migrations.RenameField(model_name="unit", old_name="struck", new_name="withdrawn"),
        migrations.AddConstraint(
            model_name="unit",
            constraint=models.CheckConstraint(
                condition=models.Q(withdrawn=False) | models.Q(control=True),
                name="only_control_items_are_withdrawn",
            ),
        ),
    ]
