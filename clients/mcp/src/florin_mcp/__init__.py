"""MCP server of Florin's API. `florin_mcp.cli` runs it; `florin_mcp.reading` and `florin_mcp.writing` have the tools."""

from typing import Final

VERSION: Final = "0.1.0"
