"""Batches of requests, split for nodes that accept less."""

from collections.abc import Sequence
from typing import Any, Final

from wallets.chains.base import RangeTooLargeError
from wallets.chains.rpc.client import BatchRefusedError, Call, Node

USUAL_BATCH: Final = 50


def ask_all(node: Node, calls: Sequence[Call], *, at_once: int = USUAL_BATCH) -> list[Any]:
    """Return the answers in order of the calls, asked in batches of `at_once`, or smaller ones if those are refused.

    Raises what Node.batch does but BatchRefusedError, and RangeTooLargeError where a single answer is too large.
    """
    answers: list[Any] = []
    for start in range(0, len(calls), at_once):
        answers += ask_in_parts(node, calls[start : start + at_once])
    return answers


def ask_in_parts(node: Node, calls: Sequence[Call]) -> list[Any]:
    """Ask in one request, or in smaller ones if the node refuses it or the answer is too large."""
    if len(calls) == 1:
        return [node.call(*calls[0])]
    if len(calls) > node.most_in_batch:
        return ask_all(node, calls, at_once=node.most_in_batch)
    half = (len(calls) + 1) // 2
    try:
        return node.batch(calls)
    except BatchRefusedError:
        answers = ask_all(node, calls, at_once=half)
        # Remembered only after success: if the node failed altogether, smaller batches would have failed too.
        node.most_in_batch = min(node.most_in_batch, half)
        return answers
    except RangeTooLargeError:
        return ask_all(node, calls, at_once=half)
