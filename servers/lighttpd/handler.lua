-- Answers /lua/LENGTH with the bytes of the file of that length, from memory.
local answers = {
{% for document in documents %}
    ["{{ document.bytes }}"] = "{{ document.text }}",
{% endfor %}
}
local answer = answers[lighty.r.req_attr["uri.path"]:match("([0-9]+)$") or ""]
if not answer then
    return 404
end
lighty.r.resp_header["Content-Type"] = "text/html"
lighty.r.resp_body.set(answer)
return 200
