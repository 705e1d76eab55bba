"""Jobs are carried out by Celery: each waits in a queue, may be sent to the broker, and may be cancelled."""

from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('judgments', '0023_hash_old_tokens'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='job',
            name='job_finished_when_ended',
        ),
        migrations.RemoveField(
            model_name='job',
            name='retry_at',
        ),
        migrations.AddField(
            model_name='job',
            name='queue',
            field=models.CharField(db_default='heavy', default='heavy', max_length=16),
        ),
        migrations.AddField(
            model_name='job',
            name='sent_at',
            field=models.DateTimeField(blank=True, help_text="Time at which the broker delivers the job's message. Empty: no message was sent.", null=True),
        ),
        migrations.AlterField(
            model_name='job',
            name='state',
            field=models.CharField(choices=[('queued', 'waiting'), ('running', 'running'), ('done', 'done'), ('failed', 'failed'), ('cancelled', 'cancelled')], default='queued', max_length=16),
        ),
        migrations.AddIndex(
            model_name='job',
            index=models.Index(condition=models.Q(('sent_at', None), ('state', 'queued')), fields=['queue', 'created_by'], name='jobs_not_sent'),
        ),
        migrations.AddConstraint(
            model_name='job',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('finished_at__isnull', False), ('state__in', ['done', 'failed', 'cancelled'])), models.Q(('finished_at__isnull', True), ('state__in', ['queued', 'running'])), _connector='OR'), name='job_finished_when_ended'),
        ),
    ]
