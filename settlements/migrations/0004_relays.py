"""Names transactions of gas accounts that carry out what a paying wallet signed for a payout. The column stays as it is."""

from django.db import migrations, models


class Migration(migrations.Migration):

    stage = 'expand'

    dependencies = [
        ('settlements', '0003_gas_transactions_expire'),
    ]

    operations = [
        migrations.AlterField(
            model_name='gastransaction',
            name='purpose',
            field=models.CharField(choices=[('sweep', 'Sweep'), ('x402', 'X402'), ('relay', 'Relay'), ('cancel', 'Cancel')], max_length=8),
        ),
    ]
