from django.db import migrations, models


class Migration(migrations.Migration):
    """Names, help texts and labels in the words of the pages; no table is changed."""

    dependencies = [
        ('webhooks', '0001_initial'),
    ]

    operations = [
        migrations.AlterField(
            model_name='webhook',
            name='exclusions',
            field=models.BooleanField(default=False, help_text='Hears of excluded participants.'),
        ),
        migrations.AlterField(
            model_name='webhook',
            name='submissions',
            field=models.BooleanField(default=False, help_text='Hears of submitted pages of work.'),
        ),
    ]
