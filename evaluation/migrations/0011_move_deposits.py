from django.db import migrations


class Migration(migrations.Migration):
    """Move deposits to the app ``contrib.archives``; their table stays."""

    dependencies = [("evaluation", "0010_move_challenges")]

    operations = [migrations.SeparateDatabaseAndState(state_operations=[migrations.DeleteModel(name="Deposit")])]
