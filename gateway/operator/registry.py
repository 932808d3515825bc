"""The tables that operators see. None holds money: no payment is changed by hand."""

from typing import Final

from accounts.models import AuditEntry, FiatInterest, Merchant, User
from gateway.operator.merchants import MerchantAdmin
from gateway.operator.people import UserAdmin
from gateway.operator.records import AuditEntryAdmin, FiatInterestAdmin, SourceDifferenceAdmin
from gateway.operator.site import OperatorSite
from wallets.models import SourceDifference

site: Final = OperatorSite()
site.register(Merchant, MerchantAdmin)
site.register(User, UserAdmin)
site.register(FiatInterest, FiatInterestAdmin)
site.register(SourceDifference, SourceDifferenceAdmin)
site.register(AuditEntry, AuditEntryAdmin)
