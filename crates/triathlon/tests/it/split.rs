//! Response times that are cut by the kernel's own times, on real sockets.

use std::thread;
use std::time::Duration;

use model::Outcome;
use model::record::TimeSplit;
use model::units::Span;

use crate::serve::Served;
use crate::support::need;
use crate::support::process::{Run, triathlon};
use crate::support::stub::{Next, RIGHT, Stub, send};

/// So long the server takes for an answer.
const SERVER: Duration = Duration::from_millis(20);

fn cut(run: &Run) -> TimeSplit {
    let split = run.trial().record.split;
    split.unwrap_or_else(|| panic!("it was asked for: {run:#?}"))
}

/// Quantile `q` of what was seen.
fn of(times: &model::Distribution, q: f64) -> Span {
    times.quantile(q).expect("some were recorded")
}

#[test]
fn what_a_server_takes_is_not_laid_at_the_clients_door() {
    let server = Stub::start(|stream, _| {
        thread::sleep(SERVER);
        send(stream, RIGHT);
        Next::Keep
    });
    let url = server.url();
    let words = [
        "load",
        &url,
        "-c",
        "4",
        "-n",
        "120",
        "--split=2",
        "--json",
        "-",
    ];
    let run = triathlon(words).expect_measured();
    let record = run.trial().record;
    let split = cut(&run);
    assert_eq!(record.backend, "readiness");
    assert_eq!(split.connections, 2, "{run:#?}");
    assert_eq!(split.refused, 0, "{run:#?}");
    // Each connection has as many exchanges as the others, more or less.
    let count = split.response.count();
    assert!((30..=90).contains(&count), "{count} {run:#?}");
    assert!(split.incomplete <= 2, "{run:#?}");
    // A sleep may be too long, on a busy machine much; it is never too short.
    assert!(split.outside.min() >= Some(Span::from_ms(20)), "{run:#?}");
    let (client, outside) = (of(&split.client_added, 0.5), of(&split.outside, 0.5));
    assert!(client < outside, "{client} {outside} {run:#?}");
    assert!(of(&split.client_send, 0.5) < Span::from_ms(10), "{run:#?}");
}

#[test]
fn the_parts_are_told_and_add_up_over_tls_too() {
    let name = "the_parts_are_told_and_add_up_over_tls_too";
    let Some([]) = need(name, []) else {
        return;
    };
    let files: [(&str, &[u8]); 2] = [("a", b"1234567"), ("large", &[7; 200_000])];
    let clear = Served::start(&files, "");
    let secure = Served::start(&files, "--tls-self-signed");
    for (url, more) in [
        (clear.url("/a"), &[][..]),
        (clear.url("/large"), &[][..]),
        (
            secure.url("/a").replace("http:", "https:"),
            &["--insecure"][..],
        ),
    ] {
        let mut words = vec!["load", &url, "-c", "8", "-n", "2000", "--split=1"];
        words.extend(more);
        let text = triathlon(words.iter().copied()).expect_measured();
        assert!(text.stdout.contains("where it went"), "{text:#?}");
        assert!(text.stdout.contains("network and server"), "{text:#?}");
        words.extend(["--json", "-"]);
        let run = triathlon(words).expect_measured();
        let record = run.trial().record;
        let split = cut(&run);
        assert_eq!(record.total.outcomes[Outcome::Ok], 2_000, "{run:#?}");
        assert_eq!(split.response.count() + split.incomplete, 2_000, "{run:#?}");
        assert!(split.incomplete <= 20, "{run:#?}");
        let parts = [
            &split.blocked,
            &split.late,
            &split.client_send,
            &split.outside,
            &split.client_wakeup,
        ];
        let sum: f64 = parts.iter().map(|part| part.sum().as_s_f64()).sum();
        let all = split.response.sum().as_s_f64();
        assert!((0.98..1.02).contains(&(sum / all)), "{sum} {all} {run:#?}");
    }
}

#[test]
fn what_cannot_be_cut_is_refused_by_the_flag() {
    for (more, why) in [
        (&["--pipeline", "2"][..], "whose bytes"),
        (&["--follow"][..], "redirects"),
        (&["--backend", "uring"][..], "readiness"),
    ] {
        let mut words = vec!["load", "http://127.0.0.1:1/", "--split"];
        words.extend(more);
        triathlon(words)
            .expect_code(2)
            .expect_complaint(&["--split", why]);
    }
}
