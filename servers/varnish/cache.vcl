# Everything is a hit once it was asked for. Both presets have this; what differs is set by
# parameters on the command line.
vcl 4.1;

backend default {
    .host = "127.0.0.1";
    .port = "{{ ports[variant] }}";
}

sub vcl_recv {
    unset req.http.Cookie;
{% for document in documents %}
{% if "cache-miss" in needs %}
    if (req.url == "/cache-miss/{{ document.bytes }}") {
        set req.url = "{{ '/small/' if document.bytes < 16384 else '/large/' }}{{ document.bytes }}{{ '.html' if document.bytes < 16384 else '.bin' }}";
        # It asks the server behind it each time.
        set req.hash_always_miss = true;
    }
{% endif %}
{% endfor %}
    return (hash);
}

sub vcl_backend_response {
    # Its default is two minutes: a long sweep would fetch again and again.
    set beresp.ttl = 1h;
    set beresp.grace = 1h;
    unset beresp.http.Set-Cookie;
}
