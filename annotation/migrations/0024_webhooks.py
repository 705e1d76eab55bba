from django.db import migrations


class Migration(migrations.Migration):
    """The tables stay, of the app webhooks."""

    dependencies = [("annotation", "0023_answers_between_whole_numbers")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.DeleteModel(name="WebhookDelivery"),
                migrations.DeleteModel(name="Webhook"),
            ]
        )
    ]
