use super::*;

#[test]
fn text_is_never_markup() {
    let check = |text: &str, expected: &str| assert_eq!(escape(text), expected, "{text:?}");
    check("a < b && c > d", "a &lt; b &amp;&amp; c &gt; d");
    check(
        "\"><script>alert('x')</script>",
        "&quot;&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;",
    );
    check("bell \u{7} and tab\t", "bell \\u{7} and tab\t");
}

#[test]
fn json_cannot_end_its_script() {
    let text = json(&"</script><!-- \u{2028}");
    assert_eq!(text, "\"\\u003c/script\\u003e\\u003c!-- \\u2028\"");
    assert_eq!(
        serde_json::from_str::<String>(&text).unwrap(),
        "</script><!-- \u{2028}"
    );
}
