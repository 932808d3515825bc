"""Compares what refunds promise with what is kept of it, once a day: sources with payouts, and returns with sources."""

from typing import Final

import structlog
from django.db import connection

log = structlog.get_logger(__name__)

# A payout without sources is no refund.
_SUMS: Final = """
    SELECT p.id FROM payouts_payout p
    LEFT JOIN payouts_source s ON s.payout_id = p.id
    WHERE p.kind = 'refund' AND p.imported_tx = ''
    GROUP BY p.id HAVING COALESCE(sum(s.units), 0) <> p.units
    ORDER BY p.id
"""

# Of an outflow of another amount, which a person accepted, only part may be reserved and returned. What a reorg removed is not
# returned, and stays reserved.
_RETURNS: Final = """
    SELECT COALESCE(r.transfer_id, d.transfer_id) FROM wallets_transferreturn r
    FULL JOIN (
        SELECT s.transfer_id, bool_or(m.units <> p.units) AS is_part,
               COALESCE(sum(s.units) FILTER (WHERE p.status NOT IN ('cancelled', 'expired')), 0) AS reserved,
               COALESCE(sum(s.units) FILTER (WHERE p.status = 'paid' AND p.exception <> 'reversed'), 0) AS returned
        FROM payouts_source s JOIN payouts_payout p ON p.id = s.payout_id
        LEFT JOIN wallets_watchedmovement m ON m.id = p.movement_id
        GROUP BY s.transfer_id
    ) d ON d.transfer_id = r.transfer_id
    WHERE CASE WHEN COALESCE(d.is_part, false)
        THEN r.transfer_id IS NULL OR r.reserved > d.reserved OR r.returned > d.returned
        ELSE (COALESCE(r.reserved, 0), COALESCE(r.returned, 0)) <> (COALESCE(d.reserved, 0), COALESCE(d.returned, 0))
    END
    ORDER BY 1
"""


def check_payouts() -> int:
    """Log each refund whose sources do not add up to it, and each transfer whose returns are not its refunds'; return how many.

    Each statement sees one moment, so a refund that is asked for meanwhile is in both of its tables or in neither.
    """
    with connection.cursor() as cursor:
        cursor.execute(_SUMS)
        refunds = [pk for (pk,) in cursor]
        cursor.execute(_RETURNS)
        transfers = [pk for (pk,) in cursor]
    for pk in refunds:
        log.error("sources of a refund do not add up to it", payout=pk)
    for pk in transfers:
        log.error("what is promised back of a transfer is not what its refunds say", transfer=pk)
    return len(refunds) + len(transfers)
