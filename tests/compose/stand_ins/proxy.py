"""An HTTP proxy that connects to any address, like a hospital's; runs in a container.

What real proxies refuse is in `tests/relay/test_squid.py`.
"""

import asyncio
import sys
from contextlib import suppress


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer one CONNECT, print its target, and forward what follows."""
    head = await reader.readuntil(b"\r\n\r\n")
    method, target, _ = head.decode().split(" ", 2)
    if method != "CONNECT":
        writer.write(b"HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n")
        writer.close()
        return
    print(target, flush=True)
    host, _, port = target.rpartition(":")
    onward = await asyncio.open_connection(host, int(port))
    writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
    await asyncio.gather(carry(reader, onward[1]), carry(onward[0], writer))


async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Write everything that is read, then close."""
    with suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()


async def main(port: int) -> None:
    """Serve until the process ends."""
    async with await asyncio.start_server(serve, "0.0.0.0", port) as server:  # noqa: S104
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
