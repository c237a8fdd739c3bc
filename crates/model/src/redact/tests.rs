use super::*;
use crate::environment::settings::SETTINGS;
use crate::fixture;
use crate::plan::{Plan, PlanError, Url};
use crate::record::Class;

#[test]
fn names_of_secrets_are_known_in_any_case() {
    for name in [
        "Authorization",
        "COOKIE",
        "proxy-authorization",
        "Set-Cookie",
    ] {
        assert!(is_secret(name), "{name}");
    }
    for name in ["Accept", "Authorization2", "Cookies", ""] {
        assert!(!is_secret(name), "{name}");
    }
    let mut sorted = SECRET_FIELDS;
    sorted.sort_unstable();
    assert_eq!(sorted, SECRET_FIELDS);
}

#[test]
fn urls_lose_their_user() {
    for (given, expected) in [
        ("http://u:p@host/a", "http://(redacted)@host/a"),
        ("http://u@host", "http://(redacted)@host"),
        ("u:p@host:80/a", "(redacted)@host:80/a"),
        ("http://u:p@x@host/", "http://(redacted)@host/"),
        ("http://host/a@b", "http://host/a@b"),
        ("http://host?a@b", "http://host?a@b"),
        ("http://host#a@b", "http://host#a@b"),
        ("//u:p@host/a@b", "//(redacted)@host/a@b"),
        ("host", "host"),
    ] {
        assert_eq!(url(given), expected, "{given}");
    }
}

#[test]
fn secrets_are_found_in_command_lines() {
    for (given, expected) in [
        ("Authorization: Bearer x y", "Authorization: (redacted)"),
        ("cookie:a=b; c=d", "cookie:(redacted)"),
        ("-HAuthorization: x", "-HAuthorization: (redacted)"),
        ("--header=Cookie: x ", "--header=Cookie: (redacted) "),
        (
            "Proxy-Authorization : x",
            "Proxy-Authorization : (redacted)",
        ),
        ("Authorization:", "Authorization:"),
        ("http://u:p@host/", "http://(redacted)@host/"),
        ("--url=http://u@host/", "--url=http://(redacted)@host/"),
        ("u:p@host/", "(redacted)@host/"),
        ("@file", "@file"),
        ("a@b", "a@b"),
        ("Accept: a@b", "Accept: a@b"),
        (
            r#"w[0].headers=[["Authorization","Bearer X"],["private-token","Y"]]"#,
            r#"w[0].headers=[["Authorization","(redacted)"],["private-token","(redacted)"]]"#,
        ),
        (
            "server[0].url=http://h/?next=http://u:p@h/",
            "server[0].url=http://h/?next=http://(redacted)@h/",
        ),
        ("load", "load"),
    ] {
        let mut given = [given.to_owned()];
        words(&mut given);
        assert_eq!(given[0], expected);
    }
}

#[test]
fn a_stored_trial_has_no_secret_in_any_byte() {
    let secret = "c0ffee-c0ffee";
    let mut trial = fixture::closed();
    let request = &mut trial.plan.requests[0];
    for name in ["Authorization", "cookie", "Proxy-Authorization"] {
        request.headers.push((name.to_owned(), secret.to_owned()));
    }
    request.headers.push(("Accept".to_owned(), "a".to_owned()));
    request.url = format!("http://u:{secret}@127.0.0.1/");
    let reference = trial.record.reference.get_or_insert_default();
    reference
        .headers
        .push(("Set-Cookie".to_owned(), secret.to_owned()));
    for place in ["http:", ""] {
        let place = format!("{place}//u:{secret}@127.0.0.1/a@b");
        reference.headers.push(("Location".to_owned(), place));
    }
    let reference = Some(reference.clone());
    trial.record.classes.push(Class {
        reference,
        ..Class::default()
    });
    let environment = &mut trial.environment;
    environment
        .sysctls
        .insert("net.ipv4.tcp_fastopen_key".to_owned(), secret.to_owned());
    environment.command_line = Some(format!("quiet ks={secret}"));
    trial.point = None;
    let server = trial.context.server.get_or_insert_default();
    server.command = vec!["db".to_owned(), format!("--password={secret}")];
    let field = format!("proxy_set_header Authorization \"{secret}\";");
    server.configuration = [("proxy.conf".to_owned(), field)].into();
    let mut ours = trial.clone();
    ours.point = fixture::first_heat().remove(0).point;
    let server = ours.context.server.get_or_insert_default();
    server.command = vec!["proxy".to_owned(), format!("http://u:{secret}@h/")];
    ours.redact();
    let text = serde_json::to_string(&ours).unwrap();
    assert!(!text.contains(secret), "{text}");
    trial.redact();
    let text = serde_json::to_string(&trial).unwrap();
    assert!(!text.contains(secret), "{text}");
    assert!(text.contains(r#"["Accept","a"]"#), "{text}");
    let kept = &trial.environment.sysctls;
    assert!(!kept.is_empty() && kept.keys().all(|name| SETTINGS.contains(&name.as_str())));
    let again = trial.clone();
    trial.redact();
    assert_eq!(trial, again);
}

#[test]
fn a_plan_whose_secret_was_taken_out_does_not_run() {
    let mut file = fixture::closed().plan;
    file.requests[0]
        .headers
        .push(("Cookie".to_owned(), "a=b".to_owned()));
    assert!(Plan::try_from(file.clone()).is_ok());
    file.redact();
    let error = Plan::try_from(file).unwrap_err().to_string();
    assert!(
        error.contains("Cookie") && error.contains("again"),
        "{error}"
    );
}

#[test]
fn a_refused_url_is_not_repeated_with_its_password() {
    for text in ["http://u:hunter2@host/", "https://u:hunter2@host/"] {
        let error = Url::parse(text).unwrap_err();
        assert!(matches!(error, PlanError::Url { .. }));
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
}
