<?php
// Answers /fastcgi-php/LENGTH with the bytes of the file of that length.
$answers = [
{% for document in documents %}
    "{{ document.bytes }}" => "{{ document.text }}",
{% endfor %}
];
$length = basename($_SERVER["REQUEST_URI"]);
if (!isset($answers[$length])) {
    http_response_code(404);
    exit;
}
header("Content-Type: text/html");
header("Content-Length: $length");
header("X-Handler: fastcgi-php " . getmypid());
echo $answers[$length];
