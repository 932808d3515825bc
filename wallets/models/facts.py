"""The base class of chain facts."""

from django.contrib.postgres.functions import RandomUUID
from django.db import models
from django.db.models import TextField, Value
from django.db.models.functions import Cast, Concat, Replace

from gateway.core.money import TOKEN_DIGITS
from wallets.networks import decimals_of, six_decimals
from wallets.states import TransferState


def fresh_id(prefix: str) -> Concat:
    """Return a public id made by the database: a prefix with its underscore, then 122 random bits.

    Watchers insert many rows with one SQL statement.
    """
    text = TextField()
    dash, nothing = Value("-", text), Value("", text)
    digits = Replace(Cast(RandomUUID(), text), dash, nothing, output_field=text)
    return Concat(Value(prefix, text), digits, output_field=text)


class ChainFact(models.Model):
    """A token movement as its chain reports it; only its confirmation state changes.

    `position` is its ordinal among its transaction's own transfers (decision 4), which stays the same when the transaction is
    mined again in another block.
    """

    chain = models.CharField(max_length=16)
    tx_hash = models.CharField(max_length=100)
    position = models.PositiveIntegerField()
    token = models.CharField(max_length=12)
    # Base units; six decimals for every accepted token, the token's own for others.
    units = models.DecimalField(max_digits=TOKEN_DIGITS, decimal_places=0)
    block_height = models.BigIntegerField()
    block_hash = models.CharField(max_length=80)
    block_time = models.DateTimeField()
    state = models.CharField(max_length=9, choices=TransferState, default=TransferState.DETECTED)
    detected_at = models.DateTimeField()
    confirmed_at = models.DateTimeField(null=True)
    orphaned_at = models.DateTimeField(null=True)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.chain}:{self.tx_hash}/{self.position}"

    @property
    def decimals(self) -> int:
        """Return its token's decimals."""
        return decimals_of(self.chain, self.token)

    @property
    def priced_units(self) -> int:
        """Return its units cut to six decimals, to compare them with a price."""
        return six_decimals(self.chain, self.token, int(self.units))
