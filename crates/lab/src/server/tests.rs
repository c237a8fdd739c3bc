use super::*;

fn setup<'a>(directory: &'a Path, cpus: &'a [u32]) -> Setup<'a> {
    Setup {
        directory,
        site: Path::new("/a site/www"),
        port: 4711,
        cpus,
        access_log: AccessLog::Off,
        connections: 1000,
        preset: Preset::Tuned,
    }
}

fn text_of(product: &str, setup: &Setup<'_>) -> String {
    let launch = super::product(product)
        .unwrap_or_else(|_| panic!("{product}"))
        .launch(setup);
    launch.unwrap().files.remove(0).1
}

#[test]
fn names_are_looked_up_and_the_nearest_is_offered() {
    assert_eq!(product("nginx").ok().unwrap().name(), "nginx");
    assert_eq!(product("ngnix").err(), Some(Some("nginx")));
    assert_eq!(product("zzz").err(), Some(None));
}

#[test]
fn a_product_that_is_missing_says_what_was_looked_for() {
    let search = Search {
        own: PathBuf::from("/no/triathlon"),
        folders: vec![PathBuf::from("/no/such/folder")],
    };
    let missing = installed(product("apache").ok().unwrap(), &search)
        .err()
        .unwrap();
    assert_eq!(
        missing,
        "apache is not installed: no program apache2 or httpd was found"
    );
}

#[test]
fn nginx_gets_its_workers_and_their_cpus_in_full() {
    let text = text_of("nginx", &setup(Path::new("/private place"), &[0, 2]));
    assert!(
        text.contains("worker_processes 2;\nworker_cpu_affinity 001 100;\n"),
        "{text}"
    );
    assert!(text.contains("root \"/a site/www\";"), "{text}");
    assert!(text.contains("pid \"/private place/nginx.pid\";"), "{text}");
    assert!(text.contains("access_log off;"), "{text}");
}

#[test]
fn stock_presets_leave_alone_what_the_product_decides() {
    let directory = PathBuf::from("/private");
    let mut setup = setup(&directory, &[0]);
    setup.preset = Preset::Stock;
    let text = text_of("nginx", &setup);
    for word in ["keepalive", "open_file_cache", "sendfile", "reuseport"] {
        assert!(!text.contains(word), "{word}: {text}");
    }
    let text = text_of("lighttpd", &setup);
    assert!(!text.contains("max-keep-alive"), "{text}");
}

#[test]
fn access_logs_have_three_states() {
    let directory = PathBuf::from("/private");
    let check = |product: &str, log: AccessLog, has: &[&str], has_not: &[&str]| {
        let mut setup = setup(&directory, &[0]);
        setup.access_log = log;
        let text = text_of(product, &setup);
        for word in has {
            assert!(text.contains(word), "{product} {log:?} {word}: {text}");
        }
        for word in has_not {
            assert!(!text.contains(word), "{product} {log:?} {word}: {text}");
        }
    };
    check(
        "nginx",
        AccessLog::On,
        &["logs/access.log\" combined;"],
        &["buffer="],
    );
    check("nginx", AccessLog::Buffered, &["combined buffer=64k"], &[]);
    check("lighttpd", AccessLog::Off, &[], &["accesslog"]);
    check(
        "lighttpd",
        AccessLog::On,
        &["accesslog.filename", "mod_accesslog"],
        &[],
    );
}

#[test]
fn lighttpd_shares_among_workers_only_where_there_are_several() {
    let directory = PathBuf::from("/private");
    assert!(text_of("lighttpd", &setup(&directory, &[0])).contains("server.max-worker = 0\n"));
    assert!(text_of("lighttpd", &setup(&directory, &[0, 1])).contains("server.max-worker = 2\n"));
}

#[test]
fn templates_are_filled() {
    let directory = PathBuf::from("/private");
    let setup = setup(&directory, &[0, 1]);
    assert_eq!(
        fill(
            "{port} {directory} {site} {workers} {cpus} {access_log} {connections} {x}",
            &setup
        ),
        "4711 /private /a site/www 2 0,1 off 1000 {x}"
    );
}

#[test]
fn folders_that_mean_something_in_configurations_are_refused() {
    for bad in ["/a\"b", "/a$b", "/a\nb", "/a{b"] {
        let error = check_path(Path::new(bad)).unwrap_err().to_string();
        assert!(error.contains("TMPDIR"), "{error}");
    }
    check_path(Path::new("/tmp/with blanks/and-more_1")).unwrap();
}
