"""What each day brought a merchant, kept by whoever writes it; filled in here from what there is already."""

from django.db import migrations, models

FILL = """
    INSERT INTO checkouts_dailytotal
        (merchant_id, mode, day, chain, token, slot, created, completed, expired, volume, first_id, last_id)
    SELECT merchant_id, mode, day, chain, token, 0, sum(created), sum(completed), sum(expired), sum(volume),
           min(made), max(made)
    FROM (
        SELECT merchant_id, mode, (created_at AT TIME ZONE 'UTC')::date AS day, '' AS chain, '' AS token,
               1 AS created, 0 AS completed, 0 AS expired, 0 AS volume, id AS made
        FROM checkouts_checkout
        UNION ALL
        SELECT merchant_id, mode, (expires_at AT TIME ZONE 'UTC')::date, '', '', 0, 0, 1, 0, NULL
        FROM checkouts_checkout WHERE status = 'expired'
        UNION ALL
        SELECT c.merchant_id, c.mode, (c.paid_at AT TIME ZONE 'UTC')::date, last.chain, last.token, 0, 1, 0, c.amount, NULL
        FROM checkouts_checkout c
        CROSS JOIN LATERAL (
            SELECT t.chain, t.token FROM checkouts_payment p JOIN wallets_transfer t ON t.id = p.transfer_id
            WHERE p.checkout_id = c.id AND p.credited_at <= c.paid_at ORDER BY t.id DESC LIMIT 1
        ) last
        WHERE c.paid_at IS NOT NULL
    ) facts
    GROUP BY merchant_id, mode, day, chain, token
"""


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0007_known_addresses"),
        ("checkouts", "0008_finding"),
    ]

    operations = [
        migrations.CreateModel(
            name="DailyTotal",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                (
                    "mode",
                    models.CharField(
                        choices=[("live", "Live"), ("test", "Test")], max_length=4
                    ),
                ),
                ("day", models.DateField()),
                ("chain", models.CharField(blank=True, max_length=16)),
                ("token", models.CharField(blank=True, max_length=12)),
                ("slot", models.PositiveSmallIntegerField()),
                ("created", models.BigIntegerField(default=0)),
                ("completed", models.BigIntegerField(default=0)),
                ("expired", models.BigIntegerField(default=0)),
                (
                    "volume",
                    models.DecimalField(decimal_places=2, default=0, max_digits=38),
                ),
                ("first_id", models.BigIntegerField(null=True)),
                ("last_id", models.BigIntegerField(null=True)),
                (
                    "merchant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=models.deletion.CASCADE,
                        related_name="+",
                        to="accounts.merchant",
                    ),
                ),
            ],
        ),
        migrations.AddConstraint(
            model_name="dailytotal",
            constraint=models.UniqueConstraint(
                fields=("merchant", "mode", "day", "chain", "token", "slot"),
                name="daily_total_slot",
            ),
        ),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
    ]
