package Triathlon;
# Answers /perl/LENGTH with the bytes of the file of that length, from memory.
use strict;
use warnings;
use Apache2::RequestRec ();
use Apache2::RequestIO ();
use Apache2::Response ();
use Apache2::Const -compile => qw(OK NOT_FOUND);

my %answers = (
{% for document in documents %}
    "{{ document.bytes }}" => "{{ document.text }}",
{% endfor %}
);

sub handler {
    my $request = shift;
    my ($length) = $request->uri =~ m{([0-9]+)$};
    my $answer = $answers{$length // ""};
    return Apache2::Const::NOT_FOUND unless defined $answer;
    $request->content_type("text/html");
    $request->set_content_length(length $answer);
    $request->print($answer);
    return Apache2::Const::OK;
}

1;
