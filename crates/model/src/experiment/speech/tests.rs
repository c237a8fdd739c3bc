use super::*;
use crate::Experiment;

fn read(load: &str, tls: &str) -> Result<Experiment, String> {
    let tls = match tls {
        "" => String::new(),
        tls => format!(r#""tls": {tls},"#),
    };
    let text = format!(
        r#"{{
            "experiment": {{ "name": "n", "question": "q", "rounds": 1, "duration": "1s" }},
            "server": [{{ "product": "nginx" }}],
            "workload": [{{ "name": "w", "body": {{ "bytes": 7 }} }}], {tls}
            "load": {{ "connections": 1 {load} }}
        }}"#
    );
    let file: ExperimentFile = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    Experiment::try_from(file).map_err(|error| error.to_string())
}

fn labels(load: &str, tls: &str) -> Vec<String> {
    let experiment = read(load, tls).unwrap();
    let labels = experiment.servers().iter();
    labels.map(|server| server.label.clone()).collect()
}

#[test]
fn a_label_tells_what_differs_and_nothing_else() {
    assert_eq!(labels("", ""), ["nginx"]);
    assert_eq!(labels(r#", "protocol": "http2-tls""#, ""), ["nginx"]);
    let both = r#"{ "certificate": ["ecdsa-p256", "rsa-2048"] }"#;
    assert_eq!(
        labels(r#", "protocol": ["http1", "http2-tls"]"#, both),
        [
            "nginx http1",
            "nginx http2-tls ecdsa-p256",
            "nginx http2-tls rsa-2048"
        ]
    );
    assert_eq!(
        labels(r#", "protocol": "http1-tls""#, both),
        ["nginx ecdsa-p256", "nginx rsa-2048"]
    );
    assert_eq!(
        labels(
            r#", "protocol": ["http1", "http1-tls"]"#,
            r#"{ "handshake": ["full", "resumed"] }"#
        ),
        [
            "nginx http1",
            "nginx http1-tls full",
            "nginx http1-tls resumed"
        ]
    );
}

#[test]
fn a_group_that_the_version_does_not_have_is_refused() {
    let secure = r#", "protocol": "http1-tls""#;
    let why = read(secure, r#"{ "version": "1.2", "group": "X25519MLKEM768" }"#).unwrap_err();
    assert!(why.contains("TLS 1.2 has no X25519MLKEM768"), "{why}");
    read(secure, r#"{ "group": "X25519MLKEM768" }"#).unwrap();
}

#[test]
fn one_version_suite_and_group_are_demanded_and_full_handshakes_unless_asked() {
    let experiment = read(r#", "protocol": "http2-tls""#, "").unwrap();
    let speech = experiment.servers()[0].speech;
    let demands = experiment.tls_demands(speech, "a.pem").unwrap();
    assert_eq!(demands.versions, [TlsVersion::Tls13]);
    assert_eq!(demands.suites, [TlsSuite::Aes128Tls13]);
    assert_eq!(demands.groups, [TlsGroup::X25519]);
    assert!(demands.no_resumption && !demands.insecure);
    let old = r#"{ "version": "1.2", "certificate": "rsa-2048" }"#;
    let experiment = read(r#", "protocol": "http1-tls""#, old).unwrap();
    let speech = experiment.servers()[0].speech;
    let demands = experiment.tls_demands(speech, "a.pem").unwrap();
    assert_eq!(demands.suites, [TlsSuite::Aes128Rsa]);
    let resumed = r#"{ "handshake": "resumed" }"#;
    let experiment = read(r#", "protocol": "http1-tls""#, resumed).unwrap();
    let speech = experiment.servers()[0].speech;
    let demands = experiment.tls_demands(speech, "a.pem").unwrap();
    assert!(!demands.no_resumption);
    let experiment = read(r#", "protocol": "http3", "streams": 4"#, "").unwrap();
    let speech = experiment.servers()[0].speech;
    assert_eq!(speech.said(), "http3, ecdsa-p256, full");
    let demands = experiment.tls_demands(speech, "a.pem").unwrap();
    assert_eq!(demands.suites, [TlsSuite::Aes128Tls13]);
    let clear = read("", "").unwrap();
    assert_eq!(clear.tls_demands(Speech::CLEAR, "a.pem"), None);
}

#[test]
fn what_does_not_fit_together_is_refused() {
    let secure = r#", "protocol": "http1-tls""#;
    let check = |load: &str, tls: &str, expected: &str| {
        let said = read(load, tls).unwrap_err();
        assert!(said.contains(expected), "{said}");
    };
    check("", "{}", "tls: no protocol has TLS");
    check(
        r#", "streams": 2"#,
        "",
        "load.streams: only HTTP/2 and HTTP/3 have streams",
    );
    check(
        r#", "protocol": "http2", "streams": 0"#,
        "",
        "give 1 to 1000",
    );
    check(
        r#", "protocol": []"#,
        "",
        "load.protocol: give at least one",
    );
    check(
        r#", "protocol": ["http1", "http1"]"#,
        "",
        "load.protocol: 'http1' is given twice",
    );
    check(
        secure,
        r#"{ "suite": "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256" }"#,
        "does not belong to TLS 1.3",
    );
    check(
        secure,
        r#"{ "version": "1.2", "suite": "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256" }"#,
        "does not go with a certificate of ecdsa-p256",
    );
    check(r#", "protocol": "http4""#, "", "unknown variant `http4`");
    let quic = r#", "protocol": ["http1", "http3"]"#;
    check(
        quic,
        r#"{ "version": "1.2" }"#,
        "HTTP/3 always uses TLS 1.3",
    );
    check(
        quic,
        r#"{ "suite": "TLS_AES_256_GCM_SHA384" }"#,
        "tls.suite: HTTP/3 is measured with TLS_AES_128_GCM_SHA256 only",
    );
    check(
        secure,
        r#"{ "handshake": [] }"#,
        "tls.handshake: give at least one",
    );
}
