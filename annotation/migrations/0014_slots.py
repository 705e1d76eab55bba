"""An assignment takes a slot of its HIT, as the glossary says, no longer a seat."""

from django.db import migrations, models

LIVE = ("reserved", "accepted", "submitted", "approved", "rejected")


class Migration(migrations.Migration):
    dependencies = [("annotation", "0013_gaps_of_leases")]

    operations = [
        migrations.RemoveConstraint(model_name="assignment", name="a_seat_is_taken_once"),
        migrations.RenameField(model_name="assignment", old_name="seat", new_name="slot"),
        migrations.AddConstraint(
            model_name="assignment",
            constraint=models.UniqueConstraint(
                fields=["hit", "slot"],
                condition=models.Q(state__in=LIVE),
                name="a_slot_is_taken_once",
            ),
        ),
    ]
