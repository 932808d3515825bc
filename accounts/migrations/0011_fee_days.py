"""What each day's fees add up to, kept by whoever charges them or takes them back, and the days of what there is already."""

import django.db.models.deletion
from django.db import migrations, models

TRIGGERS = """
CREATE FUNCTION fee_days_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- Those of an insert have no rows before them, those of a delete none after.
    IF TG_OP = 'INSERT' THEN
        INSERT INTO accounts_feeday (merchant_id, day, chain, count, amount)
        SELECT merchant_id, (charged_at AT TIME ZONE 'UTC')::date, chain, count(*), sum(amount)
        FROM after GROUP BY 1, 2, 3;
    ELSIF TG_OP = 'DELETE' THEN
        INSERT INTO accounts_feeday (merchant_id, day, chain, count, amount)
        SELECT part.merchant_id, (part.moment AT TIME ZONE 'UTC')::date, part.chain, sum(part.n), sum(part.n * part.amount)
        FROM before b
        CROSS JOIN LATERAL (VALUES
            (b.merchant_id, b.charged_at, b.chain, b.amount, -1), (b.merchant_id, b.voided_at, b.chain, b.amount, 1)
        ) part (merchant_id, moment, chain, amount, n)
        WHERE part.moment IS NOT NULL
        GROUP BY 1, 2, 3;
    ELSE
        INSERT INTO accounts_feeday (merchant_id, day, chain, count, amount)
        SELECT part.merchant_id, (part.moment AT TIME ZONE 'UTC')::date, part.chain, sum(part.n), sum(part.n * part.amount)
        FROM before b JOIN after a ON a.id = b.id
        CROSS JOIN LATERAL (VALUES
            (b.merchant_id, b.charged_at, b.chain, b.amount, -1), (b.merchant_id, b.voided_at, b.chain, b.amount, 1),
            (a.merchant_id, a.charged_at, a.chain, a.amount, 1), (a.merchant_id, a.voided_at, a.chain, a.amount, -1)
        ) part (merchant_id, moment, chain, amount, n)
        WHERE part.moment IS NOT NULL
        GROUP BY 1, 2, 3
        HAVING sum(part.n) <> 0 OR sum(part.n * part.amount) <> 0;
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER fee_days_added AFTER INSERT ON accounts_feeentry
    REFERENCING NEW TABLE AS after FOR EACH STATEMENT EXECUTE FUNCTION fee_days_changed();
CREATE TRIGGER fee_days_removed AFTER DELETE ON accounts_feeentry
    REFERENCING OLD TABLE AS before FOR EACH STATEMENT EXECUTE FUNCTION fee_days_changed();
CREATE TRIGGER fee_days_changed AFTER UPDATE ON accounts_feeentry
    REFERENCING OLD TABLE AS before NEW TABLE AS after FOR EACH STATEMENT EXECUTE FUNCTION fee_days_changed();
"""

NO_TRIGGERS = """
DROP TRIGGER fee_days_added ON accounts_feeentry;
DROP TRIGGER fee_days_removed ON accounts_feeentry;
DROP TRIGGER fee_days_changed ON accounts_feeentry;
DROP FUNCTION fee_days_changed();
"""

# Behind the triggers, which keep writers out until this is committed.
FILL = """
INSERT INTO accounts_feeday (merchant_id, day, chain, count, amount, is_sum)
SELECT merchant_id, day, chain, sum(n), sum(n * amount), true
FROM (
    SELECT merchant_id, (charged_at AT TIME ZONE 'UTC')::date AS day, chain, 1 AS n, amount FROM accounts_feeentry
    UNION ALL
    SELECT merchant_id, (voided_at AT TIME ZONE 'UTC')::date, chain, -1, amount FROM accounts_feeentry
    WHERE voided_at IS NOT NULL
) booked
GROUP BY 1, 2, 3
"""


class Migration(migrations.Migration):
    """Adds the table and the triggers."""

    dependencies = [("accounts", "0010_fees")]
    operations = [
        migrations.CreateModel(
            name="FeeDay",
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
                ("day", models.DateField()),
                ("chain", models.CharField(max_length=16)),
                ("count", models.BigIntegerField(default=0)),
                (
                    "amount",
                    models.DecimalField(decimal_places=2, default=0, max_digits=96),
                ),
                ("is_sum", models.BooleanField(db_default=False, default=False)),
                (
                    "merchant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="accounts.merchant",
                    ),
                ),
            ],
        ),
        migrations.AddConstraint(
            model_name="feeday",
            constraint=models.UniqueConstraint(
                condition=models.Q(("is_sum", True)),
                fields=("merchant", "day", "chain"),
                name="fee_day_once",
            ),
        ),
        migrations.AddIndex(
            model_name="feeday",
            index=models.Index(fields=["merchant", "day"], name="fee_day_report"),
        ),
        migrations.AddIndex(
            model_name="feeday",
            index=models.Index(
                condition=models.Q(("is_sum", False)),
                fields=["id"],
                name="fee_day_change",
            ),
        ),
        migrations.RunSQL(TRIGGERS, NO_TRIGGERS),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
    ]
