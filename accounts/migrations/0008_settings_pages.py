from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0007_known_addresses'),
    ]

    operations = [
        migrations.AddField(
            model_name='merchant',
            name='next_wallet_change_hours',
            field=models.PositiveSmallIntegerField(null=True),
        ),
        migrations.AddField(
            model_name='merchant',
            name='next_wallet_change_hours_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='merchant',
            name='wallet_change_hours',
            field=models.PositiveSmallIntegerField(default=24),
        ),
        migrations.AddConstraint(
            model_name='merchant',
            constraint=models.CheckConstraint(condition=models.Q(('wallet_change_hours__lte', 168)), name='merchant_wallet_change_hours_in_range'),
        ),
        migrations.AddConstraint(
            model_name='merchant',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('next_wallet_change_hours', None), ('next_wallet_change_hours_at', None)), models.Q(('next_wallet_change_hours__lt', models.F('wallet_change_hours')), ('next_wallet_change_hours_at__isnull', False)), _connector='OR'), name='merchant_next_wallet_change_hours_are_fewer'),
        ),
        migrations.AddIndex(
            model_name='auditentry',
            index=models.Index(fields=['merchant', 'action', '-id'], name='audit_by_action'),
        ),
        migrations.AddIndex(
            model_name='auditentry',
            index=models.Index(fields=['merchant', 'actor', '-id'], name='audit_by_actor'),
        ),
    ]
