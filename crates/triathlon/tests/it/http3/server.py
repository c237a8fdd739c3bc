"""aioquic answers: server.py CERTIFICATE KEY RETRY [CA]. Prints its port, and serves until it is
ended.

With RETRY "retry" each client has to prove its address first. With CA each has to show a
certificate that CA has signed; for each connection that does, the certificate's name is printed.
"""

import asyncio
import sys

from aioquic import tls
from aioquic.asyncio import QuicConnectionProtocol, serve
from aioquic.h3.connection import ErrorCode, H3Connection
from aioquic.h3.events import HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import HandshakeCompleted
from aioquic.quic.packet import QuicErrorCode, QuicFrameType
from cryptography.x509.oid import NameOID

FILES = {b"/small": b"7 bytes", b"/large": b"x" * 300_000}
# As /small, byte by byte and without the last one.
SLOW = {b"/reset", b"/stall"}


CA = sys.argv[4] if len(sys.argv) > 4 else None


class Context(tls.Context):
    """A handshake that asks for a certificate, where one is demanded."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._request_client_certificate = CA is not None


tls.Context = Context


class Server(QuicConnectionProtocol):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.http = H3Connection(self._quic)
        self.is_refused = False

    def check_certificate(self):
        certificate = self._quic.tls._peer_certificate
        alert = None
        if certificate is None:
            alert = tls.AlertDescription.certificate_required
        else:
            try:
                chain = self._quic.tls._peer_certificate_chain
                tls.verify_certificate(certificate, chain, cafile=CA)
            except tls.Alert as refusal:
                alert = refusal.description
        if alert is None:
            [name] = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
            print(name.value, flush=True)
        else:
            self.is_refused = True
            code = QuicErrorCode.CRYPTO_ERROR + int(alert)
            self._quic.close(code, QuicFrameType.CRYPTO, alert.name)

    def quic_event_received(self, event):
        if CA is not None and isinstance(event, HandshakeCompleted):
            self.check_certificate()
        if self.is_refused:
            return
        for event in self.http.handle_event(event):
            if not isinstance(event, HeadersReceived):
                continue
            path = dict(event.headers)[b":path"]
            content = FILES[b"/small" if path in SLOW else path]
            head = [
                (b":status", b"200"),
                (b"server", b"aioquic"),
                (b"content-length", b"%d" % len(content)),
            ]
            self.http.send_headers(event.stream_id, head)
            if path in SLOW:
                asyncio.ensure_future(self.answer_slowly(event.stream_id, path, content))
                continue
            self.http.send_data(event.stream_id, content, end_stream=True)
        self.transmit()

    async def answer_slowly(self, stream, path, content):
        """A byte now and then, but not the last one; then a reset, or nothing."""
        for byte in content[:-1]:
            self.http.send_data(stream, bytes([byte]), end_stream=False)
            self.transmit()
            await asyncio.sleep(0.03)
        if path == b"/reset":
            self._quic.reset_stream(stream, ErrorCode.H3_INTERNAL_ERROR)
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
