"""What gas costs, added up by ten minutes by whoever changes it: triggers that cannot be forgotten. And doubts.

A span is added to in place and locked last of all, after the account and the transaction.
"""

import django.db.models.deletion
from django.db import migrations, models

# A newer attempt pays no less than an older one.
MOST = """
UPDATE settlements_gastransaction t
SET most_wei = t.gas_limit * COALESCE(
    (SELECT max(a.max_fee) FROM settlements_gasattempt a WHERE a.transaction_id = t.id), 0)
"""

TRIGGERS = """
CREATE FUNCTION gas_spans_add(of_account bigint, asked_at timestamptz, change numeric) RETURNS void LANGUAGE sql AS $$
    INSERT INTO settlements_gasspan AS kept (account_id, begins_at, wei)
    SELECT of_account, date_bin('10 minutes', asked_at, timestamptz 'epoch'), change WHERE change <> 0
    ON CONFLICT (account_id, begins_at) DO UPDATE SET wei = kept.wei + EXCLUDED.wei
$$;

CREATE FUNCTION gas_spent() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' AND OLD.state <> 'dropped' THEN
        PERFORM gas_spans_add(OLD.account_id, OLD.created_at, -COALESCE(OLD.cost_wei, OLD.most_wei));
    END IF;
    IF TG_OP <> 'DELETE' AND NEW.state <> 'dropped' THEN
        PERFORM gas_spans_add(NEW.account_id, NEW.created_at, COALESCE(NEW.cost_wei, NEW.most_wei));
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER gas_spent_or_freed AFTER INSERT OR DELETE ON settlements_gastransaction
    FOR EACH ROW EXECUTE FUNCTION gas_spent();
CREATE TRIGGER gas_spent_changed AFTER UPDATE ON settlements_gastransaction
    FOR EACH ROW WHEN (
        (OLD.account_id, OLD.created_at, OLD.state = 'dropped', COALESCE(OLD.cost_wei, OLD.most_wei)) IS DISTINCT FROM
        (NEW.account_id, NEW.created_at, NEW.state = 'dropped', COALESCE(NEW.cost_wei, NEW.most_wei))
    ) EXECUTE FUNCTION gas_spent();
"""

NO_TRIGGERS = """
DROP TRIGGER gas_spent_or_freed ON settlements_gastransaction;
DROP TRIGGER gas_spent_changed ON settlements_gastransaction;
DROP FUNCTION gas_spent();
DROP FUNCTION gas_spans_add(bigint, timestamptz, numeric);
"""

# Behind the triggers, which keep writers out until this is committed. Older ones are never asked about.
FILL = """
INSERT INTO settlements_gasspan (account_id, begins_at, wei)
SELECT account_id, date_bin('10 minutes', created_at, timestamptz 'epoch'), sum(COALESCE(cost_wei, most_wei))
FROM settlements_gastransaction WHERE state <> 'dropped' AND created_at > now() - interval '2 days'
GROUP BY 1, 2
"""


class Migration(migrations.Migration):

    dependencies = [("settlements", "0002_troubles")]

    operations = [
        migrations.AddField(
            model_name="gasaccount",
            name="doubt_told_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="gastransaction",
            name="most_wei",
            field=models.DecimalField(decimal_places=0, default=0, max_digits=78),
            preserve_default=False,
        ),
        migrations.RunSQL(MOST, migrations.RunSQL.noop),
        migrations.CreateModel(
            name="GasSpan",
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
                ("begins_at", models.DateTimeField()),
                ("wei", models.DecimalField(decimal_places=0, max_digits=78)),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="spans",
                        to="settlements.gasaccount",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=["account", "begins_at"], name="gas_span_once"
                    )
                ]
            },
        ),
        migrations.AddIndex(
            model_name="gasattempt",
            index=models.Index(
                condition=models.Q(("raw", b""), _negated=True),
                fields=["signed_at"],
                name="gas_attempt_has_raw",
            ),
        ),
        migrations.RunSQL(TRIGGERS, NO_TRIGGERS),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
    ]
