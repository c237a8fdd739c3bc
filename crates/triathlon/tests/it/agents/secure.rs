//! A broker over TLS whose users have credentials: an operator, accounts and users as `nsc` makes
//! them, made by the test.

use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use nkeys::KeyPair;
use serde_json::{Value, json};

use super::nats::{Nats, agent_with, load_with};
use super::right;
use crate::support::need;
use crate::support::process::Run;
use crate::tls::Files;

/// Whoever may say which accounts there are, with one account.
struct Operator {
    operator: KeyPair,
    account: KeyPair,
}

impl Operator {
    fn new() -> Self {
        Self {
            operator: KeyPair::new_operator(),
            account: KeyPair::new_account(),
        }
    }

    /// What the broker is told.
    fn configuration(&self) -> String {
        let of_operator = json!({ "type": "operator", "version": 2 });
        let no_limit = json!({
            "subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1,
            "wildcards": true, "conn": -1, "leaf": -1,
        });
        let of_account = json!({ "type": "account", "version": 2, "limits": no_limit });
        format!(
            "operator: {}\nresolver: MEMORY\nresolver_preload {{ {}: {} }}\n",
            token(&self.operator, &self.operator, &of_operator),
            self.account.public_key(),
            token(&self.operator, &self.account, &of_account)
        )
    }

    /// Writes the credentials of a user who may say and hear that, below `folder`.
    fn user(&self, folder: &Path, name: &str, publish: &[&str], subscribe: &[&str]) -> PathBuf {
        let user = KeyPair::new_user();
        let claims = json!({
            "type": "user", "version": 2, "subs": -1, "data": -1, "payload": -1,
            "pub": { "allow": publish }, "sub": { "allow": subscribe },
        });
        let path = folder.join(name);
        let text = format!(
            "-----BEGIN NATS USER JWT-----\n{}\n------END NATS USER JWT------\n\n\
             -----BEGIN USER NKEY SEED-----\n{}\n------END USER NKEY SEED------\n",
            token(&self.account, &user, &claims),
            user.seed().expect("it is a whole key")
        );
        fs::write(&path, text).expect("a file");
        path
    }
}

/// What `issuer` says of `subject`: a token as NATS signs them.
fn token(issuer: &KeyPair, subject: &KeyPair, claims: &Value) -> String {
    let header = json!({ "typ": "JWT", "alg": "ed25519-nkey" });
    let body = json!({
        "jti": "test", "iat": 1, "name": "test", "nats": claims,
        "iss": issuer.public_key(), "sub": subject.public_key(),
    });
    let encoded = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let signed = format!("{}.{}", encoded(&header), encoded(&body));
    let signature = issuer.sign(signed.as_bytes()).expect("it is a whole key");
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
}

#[test]
fn agents_and_load_meet_over_tls_with_credentials() {
    let name = "agents_and_load_meet_over_tls_with_credentials";
    let Some([nats]) = need(name, ["nats-server"]) else {
        return;
    };
    let files = Files::new();
    files.sign("broker", |_| {});
    let tls = format!(
        "tls {{ cert_file: \"{}\", key_file: \"{}\" }}",
        files.path("broker.pem").display(),
        files.path("broker.key").display()
    );
    let operator = Operator::new();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let of_agents = ["triathlon.agents", "triathlon.agent.>", "_INBOX.>"];
    let theirs = operator.user(folder.path(), "agent.creds", &["_INBOX.>"], &of_agents);
    let ours = operator.user(folder.path(), "me.creds", &["triathlon.>"], &["_INBOX.>"]);
    let strange = Operator::new().user(folder.path(), "strange.creds", &[">"], &[">"]);
    let settings = format!("{}{tls}\n", operator.configuration());
    let nats = Nats::start_bare(&nats, &settings);
    let url = nats.url().replace("nats://", "tls://");
    let (authority, server) = (files.path("ca.pem"), right());
    let trusting = [("SSL_CERT_FILE", authority.as_path())];
    let with = |creds: &Path, flags: &str| format!("{flags} --creds {}", creds.display());
    let flags = with(&theirs, "--targets 127.0.0.0/8");
    let _agent = agent_with(&url, "a", &flags, &trusting);
    let load = |flags: &str, trusting: &[(&str, &Path)]| -> Run {
        load_with(&server.url(), &url, flags, trusting).finish()
    };
    let flags = "--agents a -t 1 -c 2 -n 10";
    load(&with(&ours, flags), &trusting).expect_measured();
    let refused = |run: Run, words: &[&str]| {
        let run = run.expect_code(1).expect_complaint(words);
        assert_eq!(run.stdout, "", "{run:#?}");
    };
    let cannot = "cannot connect to the NATS server at tls://";
    // An account that the operator has not named, and nobody at all.
    let words = [cannot, "authorization violation"];
    refused(load(&with(&strange, flags), &trusting), &words);
    refused(load(flags, &trusting), &words);
    // An authority that this machine does not know.
    refused(load(&with(&ours, flags), &[]), &[cannot, "certificate"]);
    // Agents give no orders.
    let words = ["this user may not ask agents", "permissions violation"];
    refused(load(&with(&theirs, flags), &trusting), &words);
    fs::write(folder.path().join("empty"), "").expect("a file");
    for name in ["empty", "missing"] {
        let words = ["cannot use the credentials in", name];
        let run = load(&with(&folder.path().join(name), flags), &trusting);
        refused(run, &words);
    }
}
