use super::h2spec::{Case, Outcome, cases};
use super::served::port;
use super::testssl::{Finding, Looked, findings};
use super::{known, page};

const REPORT: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
  <testsuite name="3.5. HTTP/2 Connection Preface" package="http2/3.5" id="3.5" tests="2">
    <testcase package="http2/3.5" classname="Sends a preface" time="0.0"></testcase>
    <testcase package="http2/3.5" classname="Sends &#34;x&#34;" time="2.0">
      <failure>&#xA;Expect: GOAWAY&#xA;Actual: Timeout</failure>
    </testcase>
    <testcase package="http2/6.9" classname="Skips" time="0"><skipped></skipped></testcase>
  </testsuite>
</testsuites>"#;

fn case(section: &str, name: &str, outcome: Outcome) -> Case {
    Case {
        section: section.to_owned(),
        name: name.to_owned(),
        outcome,
    }
}

#[test]
fn a_report_of_h2spec_is_read() {
    let failed = Outcome::Failed("Expect: GOAWAY Actual: Timeout".to_owned());
    let expected = [
        case("http2/3.5", "Sends a preface", Outcome::Passed),
        case("http2/3.5", "Sends \"x\"", failed),
        case("http2/6.9", "Skips", Outcome::Skipped),
    ];
    assert_eq!(cases(REPORT), expected);
}

#[test]
fn a_report_of_testssl_is_read() {
    let report = "\"id\",\"fqdn/ip\",\"port\",\"severity\",\"finding\",\"cve\",\"cwe\"\n\
                  \"TLS1_3\",\"localhost/127.0.0.1\",\"80\",\"OK\",\"offered, final\",\"\",\"\"\n\
                  \"BEAST\",\"localhost/127.0.0.1\",\"80\",\"HIGH\",\"bad\"\n";
    let read = findings(report);
    let shown: Vec<_> = read
        .iter()
        .map(|one| (one.id.as_str(), one.is_bad()))
        .collect();
    assert_eq!(shown, [("TLS1_3", false), ("BEAST", true)]);
    assert_eq!((&*read[0].text, &*read[1].text), ("offered, final", "bad"));
}

#[test]
fn what_is_not_explained_is_counted() {
    let failed = case("http2/9", "a|b", Outcome::Failed("why".to_owned()));
    let passed = case("http2/9", "a|b", Outcome::Passed);
    let finding = |id: &str, severity: &str| Finding {
        id: id.to_owned(),
        severity: severity.to_owned(),
        text: "text".to_owned(),
    };
    let tls = Looked {
        version: "3.2".to_owned(),
        findings: vec![
            finding("cert_chain_of_trust", "CRITICAL"),
            finding("BEAST", "MEDIUM"),
            finding("HSTS", "LOW"),
        ],
    };
    let page = page::write(&[failed], &[passed], &tls);
    assert_eq!(page.unexplained, 2, "{}", page.text);
    assert!(
        page.text
            .contains("| http2/9 | a\\|b | **failed** | passed |")
    );
    assert!(page.text.contains("- LOW HSTS: text.\n"), "{}", page.text);
    assert!(page.summary.contains("0 passed, 0 skipped, 1 failed"));
}

#[test]
fn what_is_known_has_a_reason() {
    for (section, name, why) in known::CASES {
        assert_eq!(known::case(section, name), Some(*why));
        assert!(!why.ends_with('.'), "{why}");
    }
    assert!(known::finding("cert_chain_of_trust").is_some());
    assert_eq!(known::finding("BEAST"), None);
}

#[test]
fn where_origin_listens_is_found() {
    let line = "listening on https://127.0.0.1:4711/";
    assert_eq!(port(line), Some("4711".to_owned()));
    assert_eq!(port("a line"), None);
}
