// Answers /js/LENGTH with the bytes of the file of that length, from memory.
const answers = {
{% for document in documents %}
    "{{ document.bytes }}": "{{ document.text }}",
{% endfor %}
};

function answer(request) {
    const text = answers[request.uri.split("/").pop()];
    if (text === undefined) {
        request.return(404);
        return;
    }
    request.headersOut["Content-Type"] = "text/html";
    request.return(200, text);
}

export default { answer };
