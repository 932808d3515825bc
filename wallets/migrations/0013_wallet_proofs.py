import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0015_closing'),
        ('wallets', '0012_public_ids'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='receivingwallet',
            name='released_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='receivingwallet',
            name='taken_over_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.CreateModel(
            name='WalletProof',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('chain', models.CharField(max_length=16)),
                ('address', models.CharField(max_length=80)),
                ('nonce', models.CharField(max_length=32, unique=True)),
                ('requested_at', models.DateTimeField()),
                ('expires_at', models.DateTimeField()),
                ('used_at', models.DateTimeField(null=True)),
                ('signature', models.CharField(blank=True, max_length=200)),
                ('public_key', models.CharField(blank=True, max_length=66)),
                ('merchant', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='wallet_proofs', to='accounts.merchant')),
                ('requested_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.AddField(
            model_name='receivingwallet',
            name='proof',
            field=models.OneToOneField(null=True, on_delete=django.db.models.deletion.RESTRICT, related_name='wallet', to='wallets.walletproof'),
        ),
        migrations.AddField(
            model_name='walletchange',
            name='proof',
            field=models.OneToOneField(null=True, on_delete=django.db.models.deletion.RESTRICT, related_name='change', to='wallets.walletproof'),
        ),
        migrations.AddConstraint(
            model_name='walletchange',
            constraint=models.UniqueConstraint(condition=models.Q(('applied_at', None), ('cancelled_at', None), ('failed_at', None), ('chain__in', ('ethereum', 'solana', 'ton', 'tron')), ('proof__isnull', False)), fields=('chain', 'address'), name='proven_wallet_awaited_by_one'),
        ),
    ]
