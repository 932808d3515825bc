"""The official client of the Model Context Protocol, as an assistant's program has it.

Reads a list of talks from standard input, and prints for each the tools that it was offered, the answers of its calls, and the
questions that a person would have been asked. A talk is `{"url", "key", "mode", "agrees", "calls": [[name, arguments], ...]}` with
a server's address, or `{"command", "environment", ...}` with a server that it starts.
"""

import asyncio
import json
import sys
from contextlib import AsyncExitStack
from typing import Any

import httpx2
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ElicitResult, Implementation


async def main() -> None:
    talks = json.load(sys.stdin)
    sys.stdout.write(json.dumps([await talk(each) for each in talks]))


async def talk(plan: dict[str, Any]) -> dict[str, Any]:
    asked: list[str] = []

    async def agree(_context: Any, question: Any) -> ElicitResult:
        asked.append(question.message)
        if plan["agrees"] is None:
            return ElicitResult(action="decline")
        return ElicitResult(action="accept", content={"agreed": plan["agrees"]})

    async with AsyncExitStack() as stack:
        client = Client(
            await server(plan, stack),
            mode=plan.get("mode", "auto"),
            client_info=Implementation(name="Tester", version="1"),
            elicitation_callback=agree if "agrees" in plan else None,
        )
        await stack.enter_async_context(client)
        tools = (await client.list_tools()).tools
        answers = [await answer(client, name, arguments) for name, arguments in plan.get("calls", [])]
    shown = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]
    return {"tools": shown, "answers": answers, "asked": asked}


async def server(plan: dict[str, Any], stack: AsyncExitStack) -> Any:
    if "command" in plan:
        first, *others = plan["command"]
        return StdioServerParameters(command=first, args=others, env=plan["environment"])
    headers = {"Authorization": f"Bearer {plan['key']}"}
    http = await stack.enter_async_context(httpx2.AsyncClient(headers=headers))
    return streamable_http_client(plan["url"], http_client=http)


async def answer(client: Client, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    try:
        found = await client.call_tool(name, arguments)
    except MCPError as error:
        return {"failed": True, "text": str(error), "data": None}
    text = "\n".join(part.text for part in found.content)
    return {"failed": bool(found.is_error), "text": text, "data": found.structured_content}


asyncio.run(main())
