"""Template tags of the audit log: an action's label, and what an entry changed."""

from django import template

from accounts.dashboard.audit_log import action_words, changed_values

register = template.Library()
register.filter(action_words)
register.simple_tag(changed_values)
