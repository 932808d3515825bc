"""Add what a merchant demands of the people who approve its payouts."""

from django.db import migrations, models


class Migration(migrations.Migration):

    stage = 'expand'

    dependencies = [
        ('accounts', '0005_idempotency_keys'),
    ]

    operations = [
        migrations.AddField(
            model_name='merchant',
            name='admins_approve',
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name='merchant',
            name='payout_approvals',
            field=models.PositiveSmallIntegerField(db_default=1, default=1),
        ),
        migrations.AddField(
            model_name='merchant',
            name='payout_second_above',
            field=models.DecimalField(db_default=1000, decimal_places=2, default=1000, max_digits=20),
        ),
        migrations.AddConstraint(
            model_name='merchant',
            constraint=models.CheckConstraint(condition=models.Q(('payout_approvals__gte', 1), ('payout_approvals__lte', 2), ('payout_second_above__gte', 0)), name='merchant_payout_approvals_in_range'),
        ),
    ]
