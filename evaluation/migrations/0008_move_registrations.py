from django.db import migrations


class Migration(migrations.Migration):
    """Move registrations to the app ``contrib.registration``; their table stays."""

    dependencies = [("evaluation", "0007_answers_between_whole_numbers")]

    operations = [
        migrations.SeparateDatabaseAndState(state_operations=[migrations.DeleteModel("Registration")])
    ]
