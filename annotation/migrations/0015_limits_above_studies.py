"""Limits above studies, who moved money and by which door, and the currency of each budget."""

import django.db.models.deletion
import django.db.models.expressions
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


def name_currencies_and_commitments(apps, editor):
    """Nobody recorded who committed what before: it counts for the installation alone."""
    Budget = apps.get_model("annotation", "Budget")
    Commitment = apps.get_model("annotation", "Commitment")
    for budget in Budget.objects.select_related("study"):
        panel = budget.study.design.get("panel", {}).get("preset", "")
        if budget.place == "prolific" or (budget.place == "external" and panel == "prolific"):
            Budget.objects.filter(pk=budget.pk).update(currency="GBP")
        cents = budget.reserved_cents + budget.spent_cents
        if cents:
            Commitment.objects.create(budget=budget, account=None, cents=cents)


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0014_slots'),
        ('judgments', '0016_names_of_the_glossary'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Commitment',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('cents', models.PositiveBigIntegerField(default=0)),
                ('account', models.ForeignKey(blank=True, help_text='Empty for what commands ordered, and what the crowd paid without being asked.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('budget', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='commitments', to='annotation.budget')),
            ],
            options={
                'constraints': [
                    models.UniqueConstraint(fields=('budget', 'account'), name='one_commitment_of_an_account'),
                    models.UniqueConstraint(condition=models.Q(('account', None)), fields=('budget',), name='one_commitment_of_nobody'),
                ],
            },
        ),
        migrations.CreateModel(
            name='SpendingLimit',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('currency', models.CharField(help_text='ISO 4217, such as USD.', max_length=3)),
                ('day_cents', models.PositiveBigIntegerField(blank=True, null=True, verbose_name='limit per day')),
                ('total_cents', models.PositiveBigIntegerField(blank=True, null=True, verbose_name='total limit')),
                ('account_day_cents', models.PositiveBigIntegerField(blank=True, null=True, verbose_name='limit per account and day')),
                ('account_total_cents', models.PositiveBigIntegerField(blank=True, null=True, verbose_name='total limit per account')),
                ('confirm_cents', models.PositiveBigIntegerField(blank=True, null=True, verbose_name='amount above which a second person confirms')),
                ('account', models.ForeignKey(blank=True, help_text='Empty: the whole installation.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [
                    models.UniqueConstraint(fields=('account', 'currency'), name='one_limit_of_an_account'),
                    models.UniqueConstraint(condition=models.Q(('account', None)), fields=('currency',), name='one_limit_of_the_installation'),
                    models.CheckConstraint(condition=models.Q(('account', None), models.Q(('account_day_cents', None), ('account_total_cents', None), ('confirm_cents', None)), _connector='OR'), name='the_installation_alone_has_rules_for_all'),
                ],
            },
        ),
        migrations.CreateModel(
            name='SpendingRequest',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('operation', models.CharField(help_text='Its name, such as open or bonus.', max_length=20)),
                ('values', models.JSONField(blank=True, default=dict, help_text='Its parameters.')),
                ('cents', models.PositiveBigIntegerField(help_text='What it would commit, fees included.')),
                ('currency', models.CharField(max_length=3)),
                ('situation', models.CharField(help_text='A digest of what it was asked about.', max_length=64)),
                ('state', models.CharField(choices=[('waiting', 'waiting'), ('done', 'confirmed and done'), ('refused', 'refused'), ('void', 'void (the study changed after the request)')], default='waiting', max_length=7)),
                ('door', models.CharField(blank=True, help_text='page, api, job or command', max_length=7, verbose_name='source of the request')),
                ('asked_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('decided_at', models.DateTimeField(blank=True, null=True)),
                ('words', models.CharField(blank=True, help_text='What became of it.', max_length=1000)),
                ('asked_by', models.ForeignKey(blank=True, help_text='Empty for a command.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('decided_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='spending_requests', to='judgments.study')),
            ],
            options={
                'ordering': ['id'],
                'permissions': [('confirm_spending', "Can confirm orders above the installation's sum")],
                'constraints': [
                    models.CheckConstraint(condition=models.Q(('decided_by', None), ('asked_by', None), models.Q(('decided_by', models.F('asked_by')), _negated=True), models.Q(('state', 'done'), _negated=True), _connector='OR'), name='who_asks_for_money_does_not_confirm'),
                ],
            },
        ),
        migrations.RemoveConstraint(
            model_name='budget',
            name='reserved_and_spent_within_the_budget',
        ),
        migrations.AddField(
            model_name='budget',
            name='currency',
            field=models.CharField(default='USD', help_text='ISO 4217, such as USD.', max_length=3),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name='budget',
            name='over_cents',
            field=models.PositiveBigIntegerField(default=0, help_text='Beyond the budget, because the crowd paid it without being asked.'),
        ),
        migrations.AddField(
            model_name='ledgerentry',
            name='by',
            field=models.ForeignKey(blank=True, help_text='Empty if the platform, the crowd or a command caused the entry.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='account'),
        ),
        migrations.AddField(
            model_name='ledgerentry',
            name='door',
            field=models.CharField(blank=True, help_text='page, api, job or command', max_length=7, verbose_name='source of the request'),
        ),
        migrations.AddField(
            model_name='ledgerentry',
            name='request',
            field=models.CharField(blank=True, help_text='The address of the request, the kind and number of the job, or the name of the command.', max_length=200),
        ),
        migrations.AddIndex(
            model_name='ledgerentry',
            index=models.Index(fields=['at'], name='ledger_entries_of_a_day'),
        ),
        migrations.AddConstraint(
            model_name='budget',
            constraint=models.CheckConstraint(condition=models.Q(('reserved_cents__gte', 0), ('spent_cents__gte', 0), ('budget_cents__gte', django.db.models.expressions.CombinedExpression(django.db.models.expressions.CombinedExpression(models.F('reserved_cents'), '+', models.F('spent_cents')), '-', models.F('over_cents')))), name='what_is_over_the_budget_is_known'),
        ),
        migrations.RunPython(name_currencies_and_commitments, migrations.RunPython.noop),
    ]
