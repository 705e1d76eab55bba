"""A control item is withdrawn, as the glossary says, no longer struck."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("judgments", "0017_outcome_bounds")]

    operations = [
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
