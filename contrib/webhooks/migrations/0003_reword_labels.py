from django.db import migrations, models


class Migration(migrations.Migration):
    """Labels are reworded; no table is changed."""

    dependencies = [
        ('webhooks', '0002_words_of_pages'),
    ]

    operations = [
        migrations.AlterField(
            model_name='webhookdelivery',
            name='state',
            field=models.CharField(choices=[('waiting', 'waiting'), ('sending', 'being sent'), ('delivered', 'delivered'), ('given-up', 'not delivered')], default='waiting', max_length=9),
        ),
    ]
