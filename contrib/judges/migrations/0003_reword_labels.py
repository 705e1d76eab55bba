from django.db import migrations, models


class Migration(migrations.Migration):
    """Labels are reworded; no table is changed."""

    dependencies = [
        ('judges', '0002_words_of_pages'),
    ]

    operations = [
        migrations.AlterField(
            model_name='judgeanswer',
            name='state',
            field=models.CharField(choices=[('waiting', 'not asked yet'), ('asked', 'asked, no reply yet'), ('answered', 'answered'), ('failed', 'without a usable answer')], default='waiting', max_length=8),
        ),
    ]
