"""Template tags of the audit log: an action's label, an entry's sentence, and what an entry changed besides."""

from collections.abc import Sequence
from typing import Any

from django import template

from accounts.dashboard.audit_log import action_words, changed_values
from accounts.dashboard.audit_sentences import SentencePart, said_by, sentence_of
from accounts.models import AuditEntry

register = template.Library()
register.filter(action_words)


@register.simple_tag(takes_context=True)
def sentence(context: dict[str, Any], entry: AuditEntry) -> list[SentencePart]:
    """Return an entry's sentence in pieces, some of them links; empty where its label has to do."""
    return sentence_of(entry, context["names"], context["request"].seat)


@register.simple_tag
def unsaid_values(entry: AuditEntry, parts: Sequence[SentencePart]) -> list[tuple[str, str | None, str | None]]:
    """Return what an entry changed and its sentence, `parts`, does not say: name, old and new value."""
    return changed_values(entry.before, entry.after, said_by(entry) if parts else ())
