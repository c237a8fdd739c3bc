-- Answers /lua/LENGTH with the bytes of the file of that length, from memory.
local answers = {
{% for document in documents %}
    ["{{ document.bytes }}"] = "{{ document.text }}",
{% endfor %}
}

function handle(request)
    local answer = answers[request.uri:match("([0-9]+)$") or ""]
    if not answer then
        return 404
    end
    request.content_type = "text/html"
    request:write(answer)
    return apache2.OK
end
