"""h2 and httpx ask origin: h2_client.py PORT CA. Prints "content" if all is as HTTP/2 has it."""

import socket
import ssl
import sys

import httpx
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    ResponseReceived,
    StreamEnded,
    StreamReset,
)

PORT, CA = int(sys.argv[1]), sys.argv[2]
ORIGIN = f"https://127.0.0.1:{PORT}"
# Nothing here takes long; what waits for ever is to end with words.
PATIENCE = 50
LARGE = b"x" * 500_000


def trusting():
    context = ssl.create_default_context(cafile=CA)
    context.set_alpn_protocols(["h2"])
    return context


class Client:
    """One connection, whose windows are opened only as content is read."""

    def __init__(self):
        plain = socket.create_connection(("127.0.0.1", PORT), timeout=PATIENCE)
        self.socket = trusting().wrap_socket(plain, server_hostname="127.0.0.1")
        assert self.socket.selected_alpn_protocol() == "h2"
        self.http = H2Connection(H2Configuration(header_encoding="utf-8"))
        self.http.initiate_connection()
        self.fields, self.content, self.over = {}, {}, set()
        self.largest = 0
        self.flush()

    def flush(self):
        self.socket.sendall(self.http.data_to_send())

    def ask(self, method, target):
        stream = self.http.get_next_available_stream_id()
        head = [
            (":method", method),
            (":scheme", "https"),
            (":authority", "127.0.0.1"),
            (":path", target),
        ]
        self.http.send_headers(stream, head, end_stream=True)
        self.content[stream] = b""
        self.flush()
        return stream

    def hear(self):
        """Takes what comes next."""
        received = self.socket.recv(65_536)
        assert received, "the server ended the connection"
        for event in self.http.receive_data(received):
            if isinstance(event, ResponseReceived):
                self.fields[event.stream_id] = dict(event.headers)
            elif isinstance(event, DataReceived):
                self.content[event.stream_id] += event.data
                length = event.flow_controlled_length
                self.largest = max(self.largest, length)
                self.http.acknowledge_received_data(length, event.stream_id)
            elif isinstance(event, StreamEnded):
                self.over.add(event.stream_id)
            elif isinstance(event, (StreamReset, ConnectionTerminated)):
                raise ConnectionError(str(event))
        self.flush()

    def answer(self, stream):
        while stream not in self.over:
            self.hear()
        fields = self.fields[stream]
        return int(fields[":status"]), fields, self.content[stream]

    def give_up(self, stream):
        self.http.reset_stream(stream, ErrorCodes.CANCEL)
        self.flush()


def by_h2():
    client = Client()
    # Several at once, answered in any order; more than all windows hold at first.
    asked = [(client.ask("GET", "/large"), client.ask("GET", "/small")) for _ in range(8)]
    for large, small in asked:
        status, fields, content = client.answer(large)
        assert (status, fields["content-length"]) == (200, "500000"), fields
        assert content == LARGE, len(content)
        status, _, content = client.answer(small)
        assert (status, content) == (200, b"7 bytes")
    assert client.largest <= client.http.max_inbound_frame_size
    status, fields, content = client.answer(client.ask("HEAD", "/large"))
    assert (status, fields["content-length"], content) == (200, "500000", b""), fields
    status, fields, content = client.answer(client.ask("GET", "/missing"))
    assert (status, content) == (404, b"404 Not Found\n"), (status, content)
    # A stream that is given up in its midst takes no other with it.
    gone = client.ask("GET", "/large")
    while not client.content[gone]:
        client.hear()
    assert len(client.content[gone]) < len(LARGE), "it was to be larger than its window"
    client.give_up(gone)
    for _ in range(3):
        assert client.answer(client.ask("GET", "/large"))[2] == LARGE
    assert gone not in client.over


def by_httpx():
    limits = {"verify": trusting(), "http1": False, "http2": True, "timeout": PATIENCE}
    with httpx.Client(base_url=ORIGIN, trust_env=False, **limits) as client:
        for method, target, status, content in [
            ("GET", "/small", 200, b"7 bytes"),
            ("GET", "/large", 200, LARGE),
            ("HEAD", "/large", 200, b""),
            ("GET", "/missing", 404, b"404 Not Found\n"),
        ]:
            answer = client.request(method, target)
            assert answer.http_version == "HTTP/2"
            assert (answer.status_code, answer.content) == (status, content), target
        up = client.post("/.triathlon/null", content=LARGE)
        assert (up.status_code, up.content) == (200, b"origin\n"), up
        # Given up after its first bytes.
        with client.stream("GET", "/large") as answer:
            assert next(answer.iter_raw(1_000)) == LARGE[:1_000]
        assert client.get("/small").content == b"7 bytes"


by_h2()
by_httpx()
print("content")
