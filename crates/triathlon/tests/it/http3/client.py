"""aioquic asks origin: client.py PORT CA. Prints "content" if all is as HTTP/3 has it."""

import asyncio
import sys

from aioquic.asyncio import QuicConnectionProtocol, connect
from aioquic.h3.connection import H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated
from aioquic.quic.packet import QuicProtocolVersion

PORT, CA = int(sys.argv[1]), sys.argv[2]
V1, V2 = QuicProtocolVersion.VERSION_1, QuicProtocolVersion.VERSION_2


class Client(QuicConnectionProtocol):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.http = H3Connection(self._quic)
        self.exchanges = {}

    def ask(self, method, target, headers=(), content=b"", waits=False):
        stream = self._quic.get_next_available_stream_id()
        head = [
            (b":method", method),
            (b":scheme", b"https"),
            (b":authority", b"127.0.0.1"),
            (b":path", target),
            *headers,
        ]
        self.http.send_headers(stream, head, end_stream=not content and not waits)
        if content:
            self.http.send_data(stream, content, end_stream=True)
        future = asyncio.get_running_loop().create_future()
        self.exchanges[stream] = ({}, bytearray(), future)
        self.transmit()
        return future

    def quic_event_received(self, event):
        if isinstance(event, ConnectionTerminated):
            for _, _, future in self.exchanges.values():
                if not future.done():
                    future.set_exception(ConnectionError(str(event)))
        for event in self.http.handle_event(event):
            fields, content, future = self.exchanges[event.stream_id]
            if isinstance(event, HeadersReceived):
                fields.update(event.headers)
                # aioquic reads no further after an interim answer.
                if fields[b":status"] == b"100":
                    future.set_result(100)
            elif isinstance(event, DataReceived):
                content += event.data
            if event.stream_ended:
                future.set_result((int(fields[b":status"]), bytes(content)))


def configuration(**change):
    result = QuicConfiguration(is_client=True, alpn_protocols=["h3"], **change)
    result.load_verify_locations(CA)
    return result


def to_origin(**change):
    return connect(
        "127.0.0.1", PORT, configuration=configuration(**change), create_protocol=Client
    )


async def main():
    large = b"x" * 300_000
    async with to_origin() as client:
        assert await client.ask(b"GET", b"/small") == (200, b"7 bytes")
        assert (await client.ask(b"GET", b"/missing"))[0] == 404
        part = await client.ask(b"GET", b"/large", [(b"range", b"bytes=-3")])
        assert part == (206, b"xxx")
        # Many at once, and more in all than are allowed at once.
        many = [client.ask(b"GET", b"/large") for _ in range(10)]
        assert set(await asyncio.gather(*many)) == {(200, large)}
        for _ in range(5):
            many = [client.ask(b"GET", b"/small") for _ in range(50)]
            assert set(await asyncio.gather(*many)) == {(200, b"7 bytes")}
        # Fields that are new each time would fill the dynamic table, if there were one.
        for number in range(20):
            fields = [(b"x-number", b"%d" % number), (b"cookie", b"a" * 1_000)]
            assert (await client.ask(b"GET", b"/small", fields))[0] == 200
        up = await client.ask(b"POST", b"/.triathlon/null", content=large)
        assert up == (200, b"origin\n"), up
        # A body that is not wanted is refused before it comes.
        other = [(b"expect", b"something")]
        refused = await client.ask(b"POST", b"/.triathlon/null", other, waits=True)
        assert refused[0] == 417, refused
        # A key that changes in between.
        client._quic.request_key_update()
        assert await client.ask(b"GET", b"/small") == (200, b"7 bytes")
    # It is told to come.
    async with to_origin() as client:
        waits = [(b"expect", b"100-continue")]
        assert await client.ask(b"POST", b"/.triathlon/null", waits, waits=True) == 100
    # The server names the versions that it speaks, and version 1 is one of them.
    async with to_origin(supported_versions=[V2, V1], original_version=V2) as client:
        assert await client.ask(b"GET", b"/small") == (200, b"7 bytes")


asyncio.run(asyncio.wait_for(main(), 50))
print("content")
