"""aioquic answers: server.py CERTIFICATE KEY RETRY. Prints its port, and serves until it is ended.

With RETRY "retry" each client has to prove its address first.
"""

import asyncio
import sys

from aioquic.asyncio import QuicConnectionProtocol, serve
from aioquic.h3.connection import H3Connection
from aioquic.h3.events import HeadersReceived
from aioquic.quic.configuration import QuicConfiguration

FILES = {b"/small": b"7 bytes", b"/large": b"x" * 300_000}


class Server(QuicConnectionProtocol):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.http = H3Connection(self._quic)

    def quic_event_received(self, event):
        for event in self.http.handle_event(event):
            if not isinstance(event, HeadersReceived):
                continue
            content = FILES[dict(event.headers)[b":path"]]
            head = [
                (b":status", b"200"),
                (b"server", b"aioquic"),
                (b"content-length", b"%d" % len(content)),
            ]
            self.http.send_headers(event.stream_id, head)
            self.http.send_data(event.stream_id, content, end_stream=True)
        self.transmit()


async def main():
    configuration = QuicConfiguration(is_client=False, alpn_protocols=["h3"])
    configuration.load_cert_chain(sys.argv[1], sys.argv[2])
    server = await serve(
        "127.0.0.1",
        0,
        configuration=configuration,
        create_protocol=Server,
        retry=sys.argv[3] == "retry",
    )
    print(server._transport.get_extra_info("sockname")[1], flush=True)
    await asyncio.Future()


asyncio.run(main())
