<%@ page contentType="text/html" session="false" buffer="64kb" trimDirectiveWhitespaces="true" %>
<%-- A page of Java, which becomes a servlet: each answer is a text in its code. --%>
<%
    switch (request.getPathInfo()) {
{% for document in documents %}
        case "/{{ document.bytes }}":
            response.setContentLength({{ document.bytes }});
            out.print("{{ document.text }}");
            break;
{% endfor %}
        default:
            response.sendError(404);
    }
%>
