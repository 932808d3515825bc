import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0008_settings_pages'),
        ('wallets', '0006_six_chains'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='WalletChange',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('chain', models.CharField(max_length=16)),
                ('address', models.CharField(max_length=80)),
                ('requested_at', models.DateTimeField()),
                ('effective_at', models.DateTimeField()),
                ('applied_at', models.DateTimeField(null=True)),
                ('cancelled_at', models.DateTimeField(null=True)),
                ('failed_at', models.DateTimeField(null=True)),
                ('failure', models.CharField(blank=True, max_length=200)),
                ('merchant', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='wallet_changes', to='accounts.merchant')),
                ('requested_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('applied_at', None), ('cancelled_at', None), ('failed_at', None)), fields=['effective_at'], name='wallet_change_due')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('applied_at', None), ('cancelled_at', None), ('failed_at', None)), fields=('merchant', 'chain'), name='wallet_change_open_once'), models.CheckConstraint(condition=models.Q(models.Q(('applied_at', None), ('cancelled_at', None)), models.Q(('applied_at', None), ('failed_at', None)), models.Q(('cancelled_at', None), ('failed_at', None)), _connector='OR'), name='wallet_change_ends_once')],
            },
        ),
    ]
