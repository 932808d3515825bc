"""Template filters for a settlement: its amounts, status, purpose, sender and gas in words."""

from django import template

from settlements.dashboard.rows import amount_of, gas_cost, planned_amount, purpose_label, sender_label, status_badge

register = template.Library()
for label in (amount_of, gas_cost, planned_amount, purpose_label, sender_label, status_badge):
    register.filter(label)
