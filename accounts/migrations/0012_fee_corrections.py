"""Fees that are taken back or charged again are entries of their own, and no entry changes any more.

What was taken back so far becomes such an entry, of the moment it was taken back: no day's sum changes by that.
An audit entry's label is as long as an e-mail address may be.
"""

from importlib import import_module

import django.db.models.deletion
from django.db import migrations, models
from django.db.models.functions import Mod
from django.db.models.lookups import Exact

_days = import_module("accounts.migrations.0011_fee_days")

# Deferred checks that wait would keep the table from being altered.
CORRECT = """
INSERT INTO accounts_feeentry (merchant_id, kind, subject_id, number, corrects_id, chain, token, received, rate, amount, charged_at)
SELECT merchant_id, kind, subject_id, 1, id, chain, token, -received, rate, -amount, voided_at
FROM accounts_feeentry WHERE voided_at IS NOT NULL ORDER BY id;
SET CONSTRAINTS ALL IMMEDIATE;
"""

# What was charged again leaves no trace in the older books, so that their days are summed up anew.
FORGET = f"""
UPDATE accounts_feeentry SET voided_at = last.charged_at
FROM (SELECT DISTINCT ON (corrects_id) corrects_id, number, charged_at FROM accounts_feeentry
      WHERE number > 0 ORDER BY corrects_id, number DESC) last
WHERE last.corrects_id = accounts_feeentry.id AND last.number % 2 = 1;
DELETE FROM accounts_feeentry WHERE number > 0;
SET CONSTRAINTS ALL IMMEDIATE;
DELETE FROM accounts_feeday;
{_days.FILL}
"""  # noqa: S608 - only our own text is put in

TRIGGERS = """
CREATE FUNCTION fee_days_added() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO accounts_feeday (merchant_id, day, chain, count, amount)
    SELECT merchant_id, (charged_at AT TIME ZONE 'UTC')::date, chain, sum(1 - 2 * (number % 2)), sum(amount)
    FROM after GROUP BY 1, 2, 3;
    RETURN NULL;
END $$;

CREATE TRIGGER fee_days_added AFTER INSERT ON accounts_feeentry
    REFERENCING NEW TABLE AS after FOR EACH STATEMENT EXECUTE FUNCTION fee_days_added();

CREATE FUNCTION fee_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'fee entries are never changed'
        USING ERRCODE = 'check_violation', CONSTRAINT = 'fee_append_only';
END $$;

CREATE TRIGGER fee_append_only BEFORE UPDATE OR DELETE ON accounts_feeentry
    FOR EACH ROW EXECUTE FUNCTION fee_append_only();
"""

NO_TRIGGERS = """
DROP TRIGGER fee_append_only ON accounts_feeentry;
DROP FUNCTION fee_append_only();
DROP TRIGGER fee_days_added ON accounts_feeentry;
DROP FUNCTION fee_days_added();
"""


class Migration(migrations.Migration):
    """Numbers entries, and writes corrections for those that were void."""

    dependencies = [("accounts", "0011_fee_days")]
    operations = [
        migrations.RunSQL(_days.NO_TRIGGERS, _days.TRIGGERS),
        migrations.RemoveConstraint("feeentry", "fee_charged_once"),
        migrations.RemoveConstraint("feeentry", "fee_not_negative"),
        migrations.AddField(
            "feeentry", "number", models.PositiveIntegerField(db_default=0, default=0)
        ),
        migrations.AddField(
            "feeentry",
            "corrects",
            models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="accounts.feeentry",
            ),
        ),
        migrations.RunSQL(CORRECT, FORGET),
        migrations.RemoveIndex("feeentry", "fee_voided"),
        migrations.RemoveField("feeentry", "voided_at"),
        migrations.AddIndex(
            "feeentry",
            models.Index(
                condition=models.Q(("number__gt", 0)),
                fields=["merchant", "charged_at"],
                name="fee_corrections",
            ),
        ),
        migrations.AddConstraint(
            "feeentry",
            models.UniqueConstraint(
                fields=("kind", "subject_id", "number"), name="fee_booked_once"
            ),
        ),
        migrations.AddConstraint(
            "feeentry",
            models.CheckConstraint(
                condition=models.Q(number=0, corrects=None)
                | models.Q(number__gt=0, corrects__isnull=False),
                name="fee_correction_says_of_what",
            ),
        ),
        migrations.AddConstraint(
            "feeentry",
            models.CheckConstraint(
                condition=models.Q(rate__gte=0)
                & (
                    models.Q(Exact(Mod("number", 2), 0), received__gte=0, amount__gte=0)
                    | models.Q(
                        Exact(Mod("number", 2), 1), received__lte=0, amount__lte=0
                    )
                ),
                name="fee_signed_by_number",
            ),
        ),
        migrations.RunSQL(TRIGGERS, NO_TRIGGERS),
        migrations.AlterField(
            "auditentry", "actor_label", models.CharField(max_length=254)
        ),
    ]
