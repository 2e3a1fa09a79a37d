"""Plays what it is told on stdin through Python's MCP client, one JSON a line: {"list": true} or {"tool", "arguments"}.

Started with the protocol mode and the server's command; the test beside it says what to do and judges the answers.
"""

import json
import os
import sys

import anyio
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client


async def main(mode: str, command: str, *args: str) -> None:
    server = StdioServerParameters(command=command, args=list(args), env=dict(os.environ))
    async with Client(stdio_client(server), mode=mode) as client:
        tell({"protocol": client.protocol_version})
        while line := await anyio.to_thread.run_sync(sys.stdin.readline):
            wanted = json.loads(line)
            if wanted.get("list"):
                listed = await client.list_tools()
                tell({"tools": [{"name": tool.name} for tool in listed.tools]})
            else:
                result = await client.call_tool(wanted["tool"], wanted["arguments"])
                text = "".join(getattr(part, "text", "") for part in result.content)
                tell({"isError": result.is_error, "structured": result.structured_content, "text": text})


def tell(answer: dict) -> None:
    print(json.dumps(answer), flush=True)


anyio.run(main, *sys.argv[1:])
