"""Runs commands from stdin in one of Python's MCP clients. Commands and responses are lines of JSON.

Arguments: the client (`mcp-2 legacy`, `mcp-2 auto`, `mcp-1`, `fastmcp`), then the server:
`stdio COMMAND ARGUMENT…`, `http URL TOKEN` or `ws URL`. `python.test.mjs` sends the commands and
checks the responses. Only the selected client is imported, because each is installed in its own
virtual environment.
"""

import json
import os
import sys
from contextlib import asynccontextmanager

import anyio


def respond(response: dict) -> None:
    print(json.dumps(response), flush=True)


async def next_command() -> dict | None:
    line = await anyio.to_thread.run_sync(sys.stdin.readline)
    return json.loads(line) if line else None


def text_of(content) -> str:
    return "".join(getattr(part, "text", "") for part in content)


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@asynccontextmanager
async def mcp_2(server: list[str], mode: str):
    from mcp.client import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    kind, *rest = server
    if kind == "stdio":
        target = stdio_client(StdioServerParameters(command=rest[0], args=rest[1:], env=dict(os.environ)))
    else:
        from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

        target = streamable_http_client(rest[0], http_client=create_mcp_http_client(headers=bearer(rest[1])))
    async with Client(target, mode=mode) as client:

        async def call(tool, arguments, on_progress=None):
            result = await client.call_tool(tool, arguments, progress_callback=on_progress)
            return {"isError": result.is_error, "structured": result.structured_content, "text": text_of(result.content)}

        yield client.protocol_version, client, call


@asynccontextmanager
async def mcp_1(server: list[str]):
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client
    from mcp.client.streamable_http import streamablehttp_client
    from mcp.client.websocket import websocket_client

    kind, *rest = server
    connecting = {
        "stdio": lambda: stdio_client(StdioServerParameters(command=rest[0], args=rest[1:], env=dict(os.environ))),
        "http": lambda: streamablehttp_client(rest[0], headers=bearer(rest[1])),
        "ws": lambda: websocket_client(rest[0]),
    }[kind]()
    async with connecting as streams, ClientSession(streams[0], streams[1]) as session:
        version = (await session.initialize()).protocolVersion

        async def call(tool, arguments, on_progress=None):
            result = await session.call_tool(tool, arguments, progress_callback=on_progress)
            return {"isError": result.isError, "structured": result.structuredContent, "text": text_of(result.content)}

        yield version, session, call


@asynccontextmanager
async def fastmcp(server: list[str]):
    from fastmcp import Client
    from fastmcp.client.transports import StdioTransport

    kind, *rest = server
    target = rest[0] if kind == "http" else StdioTransport(command=rest[0], args=rest[1:], env=dict(os.environ))
    async with Client(target, auth=rest[1] if kind == "http" else None) as client:

        async def call(tool, arguments, on_progress=None):
            result = await client.call_tool_mcp(tool, arguments, progress_handler=on_progress)
            return {"isError": result.isError, "structured": result.structuredContent, "text": text_of(result.content)}

        yield client.initialize_result.protocolVersion, client.session, call


async def notify_cancelled(session, request: int) -> None:
    """Notifies the server of a canceled call. Version 1 of the client does not do this itself."""
    from mcp import types

    params = types.CancelledNotificationParams(requestId=request, reason="canceled by the test")
    await session.send_notification(types.ClientNotification(types.CancelledNotification(params=params)))


async def cancel(client, call, tool: str, arguments: dict) -> None:
    """Begins a call, and cancels it at the next command."""
    # Only version 1 has this counter of requests. Version 2 notifies the server itself.
    request = getattr(client, "_request_id", None)
    async with anyio.create_task_group() as group:
        group.start_soon(call, tool, arguments)
        await next_command()
        if request is not None:
            await notify_cancelled(client, request)
        group.cancel_scope.cancel()
    respond({"cancelled": True})


async def run_commands(version: str, client, call) -> None:
    respond({"protocol": version})
    while command := await next_command():
        match command["do"]:
            case "list":
                respond({"tools": [{"name": tool.name} for tool in (await client.list_tools()).tools]})
            case "call":
                respond(await call(command["tool"], command["arguments"]))
            case "resources":
                respond({"resources": [str(resource.uri) for resource in (await client.list_resources()).resources]})
            case "read":
                respond({"text": (await client.read_resource(command["uri"])).contents[0].text})
            case "prompt":
                result = await client.get_prompt(command["name"], command["arguments"])
                respond({"text": result.messages[0].content.text})
            case "progress":
                steps = []

                async def on_progress(progress, total, message):
                    steps.append({"progress": progress, "total": total})

                await call(command["tool"], command["arguments"], on_progress)
                respond({"progress": steps})
            case "cancel":
                await cancel(client, call, command["tool"], command["arguments"])


async def main(kind: str, *arguments: str) -> None:
    server = list(arguments)
    opened = {
        "mcp-2": lambda: mcp_2(server[1:], server[0]),
        "mcp-1": lambda: mcp_1(server),
        "fastmcp": lambda: fastmcp(server),
    }[kind]()
    async with opened as (version, client, call):
        await run_commands(version, client, call)


anyio.run(main, *sys.argv[1:])
