# Everything is a hit once it was asked for. Both presets have this; what differs is set by
# parameters on the command line.
vcl 4.1;

backend default {
    .host = "127.0.0.1";
    .port = "{{ ports.origin }}";
}

sub vcl_recv {
    unset req.http.Cookie;
    return (hash);
}

sub vcl_backend_response {
    # Its default is two minutes: a long sweep would fetch again and again.
    set beresp.ttl = 1h;
    set beresp.grace = 1h;
    unset beresp.http.Set-Cookie;
}
