use super::*;

fn setup<'a>(directory: &'a Path, cpus: &'a [u32]) -> Setup<'a> {
    Setup {
        address: Ipv4Addr::LOCALHOST,
        directory,
        site: Path::new("/a site/www"),
        ports: &[4711],
        cpus,
        access_log: AccessLog::Off,
        protocol: Spoken::Http1,
        certificate: None,
        connections: 1000,
        preset: Preset::Tuned,
        needs: &[],
        variant: "",
        reload: false,
        directives: &[],
        documents: &[],
        programs: Path::new("/programs"),
    }
}

fn product(name: &str) -> Arc<Product> {
    let catalogue = Catalogue::built_in();
    let product = catalogue.product(name);
    product.unwrap_or_else(|_| panic!("{name}"))
}

fn text_of(name: &str, setup: &Setup<'_>) -> String {
    let files = product(name).launch(setup).unwrap().files.into_iter();
    let is_main = |name: &str| !name.starts_with("handler");
    let mut main = files.filter(|(name, _)| is_main(name));
    main.next().unwrap().1
}

#[test]
fn names_are_looked_up_and_the_nearest_is_offered() {
    let catalogue = Catalogue::built_in();
    assert_eq!(catalogue.product("nginx").unwrap().name(), "nginx");
    assert_eq!(catalogue.product("ngnix").err(), Some(Some("nginx")));
    assert_eq!(catalogue.product("zzz").err(), Some(None));
}

#[test]
fn a_product_that_is_missing_says_what_was_looked_for() {
    let search = Search {
        catalogue: Catalogue::built_in(),
        own: PathBuf::from("/no/triathlon"),
        folders: vec![PathBuf::from("/no/such/folder")],
    };
    let missing = installed(product("apache"), &search).unwrap_err();
    assert_eq!(
        missing.why,
        "apache is not installed: no program apache2 or httpd was found"
    );
    let remedy = missing.remedy.unwrap();
    assert!(remedy.contains("apt install apache2"), "{remedy}");
}

#[test]
fn nginx_gets_its_workers_and_their_cpus_in_full() {
    let text = text_of("nginx", &setup(Path::new("/private place"), &[0, 2]));
    assert!(
        text.contains("\nworker_processes 2;\nworker_cpu_affinity 001 100;\n"),
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
            &setup,
            4711
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

/// Every text of every folder: all of its templates with every choice that it offers.
#[test]
fn every_server_that_is_brought_along_can_be_launched_as_it_says() {
    let (directory, cpus) = (PathBuf::from("/private"), [0, 1]);
    let catalogue = Catalogue::built_in();
    let names: Vec<&str> = catalogue.products().map(|product| product.name()).collect();
    for name in ["apache", "lighttpd", "nginx", "origin"] {
        assert!(names.contains(&name), "{names:?}");
    }
    let apache_is_here = Path::new("/usr/lib/apache2/modules/mod_mpm_event.so").is_file();
    for product in catalogue.products() {
        let ports: Vec<u16> = (4711..).take(product.processes().len()).collect();
        for access_log in [AccessLog::Off, AccessLog::On, AccessLog::Buffered] {
            for preset in [Preset::Stock, Preset::Tuned] {
                let mut setup = setup(&directory, &cpus);
                (setup.ports, setup.access_log, setup.preset) = (&ports, access_log, preset);
                setup.variant = product.variant_default();
                let launch = product.launch(&setup);
                if product.name() == "apache" && !apache_is_here {
                    assert!(
                        launch
                            .unwrap_err()
                            .contains("mod_mpm_event.so is in none of")
                    );
                } else if let Some(why) = product.cannot_log(access_log) {
                    assert_eq!(launch.unwrap_err(), why);
                } else {
                    let launch = launch.unwrap_or_else(|why| panic!("{why}"));
                    let always = product.processes().iter().filter(|one| {
                        let names = &one.only_for;
                        names.is_empty() || names.iter().any(|name| name == setup.variant)
                    });
                    assert_eq!(launch.processes.len(), always.count());
                    let texts = launch.files.iter().map(|(_, text)| text.as_str());
                    let front = launch.processes.last().unwrap();
                    let words = front.arguments.iter().filter_map(|word| word.to_str());
                    let all: Vec<&str> = texts.chain(words).collect();
                    let last = ports.last().unwrap().to_string();
                    assert!(all.iter().any(|text| text.contains(&last)), "{all:?}");
                }
            }
        }
    }
}

#[test]
fn apache_waits_for_as_many_processes_as_it_starts() {
    if !Path::new("/usr/lib/apache2/modules/mod_mpm_event.so").is_file() {
        return crate::testing::not_run("Apache's modules are not installed");
    }
    let directory = PathBuf::from("/private");
    for connections in [1, 1_000, 1_024, 1_025, 5_000, 1_000_000] {
        for cpus in [&[0][..], &[0, 1, 2, 3]] {
            let mut setup = setup(&directory, cpus);
            (setup.connections, setup.variant) = (connections, "event");
            let launch = product("apache").launch(&setup).unwrap();
            let wanted = format!("\nStartServers {}\n", launch.processes[0].processes - 1);
            let text = text_of("apache", &setup);
            assert!(text.contains(&wanted), "{connections} {cpus:?}");
        }
    }
}

#[test]
fn the_null_responder_is_origin_that_answers_from_memory() {
    let directory = PathBuf::from("/private");
    let launch = null_responder().launch(&setup(&directory, &[3])).unwrap();
    let words: Vec<_> = launch.processes[0].arguments.iter().collect();
    assert_eq!(
        words,
        [
            "serve",
            "/a site/www",
            "--listen",
            "127.0.0.1:4711",
            "--workers",
            "1",
            "--cpus",
            "3",
            "--connections",
            "4096",
            "--synthetic"
        ]
    );
    assert_eq!(null_responder().name(), "null");
}

/// A folder of servers with one in it, called `mine`.
fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("mine")).unwrap();
    for (name, text) in files {
        fs::write(folder.path().join("mine").join(name), text).unwrap();
    }
    folder
}

const MINE: &str = r#"install = "build it"

[[process]]
programs = ["sh"]
version = { arguments = ["-c", "echo mine 1.2; echo more"], pattern = "mine ([0-9.]+)" }
arguments = [
    "-c",
    "listen {{ port }}",
]
files = { "mine.conf" = "{{ preset }}.conf" }

[access_log]
off = { text = "none" }

[handler.static]
"#;

/// Its configuration.
const CONF: &str = "port {{ port }}\nlog {{ setting.access_log }}\n";

/// What is wrong with `mine` where its files are these.
fn complaint(files: &[(&str, &str)]) -> String {
    let folder = folder(files);
    let mut catalogue = Catalogue::built_in();
    let error = catalogue.add(folder.path()).unwrap_err().to_string();
    error.replace(&format!("{}/", folder.path().display()), "")
}

#[test]
fn a_server_is_a_folder_and_nothing_else() {
    let folder = folder(&[
        ("server.toml", MINE),
        ("stock.conf", CONF),
        ("tuned.conf", CONF),
    ]);
    let mut search = Search::of_system(PathBuf::from("/no/triathlon"));
    search.catalogue.add(folder.path()).unwrap();
    let mine = search.catalogue.product("mine").unwrap();
    let found = installed(Arc::clone(&mine), &search).unwrap();
    assert_eq!(found.version, "1.2");
    let directory = PathBuf::from("/private");
    let launch = mine.launch(&setup(&directory, &[0])).unwrap();
    assert_eq!(launch.files[0].1, "port 4711\nlog none\n");
    assert_eq!(launch.processes[0].arguments[1], "listen 4711");
    // It takes the place of one of the same name.
    fs::rename(folder.path().join("mine"), folder.path().join("nginx")).unwrap();
    search.catalogue.add(folder.path()).unwrap();
    assert_eq!(
        search.catalogue.product("nginx").unwrap().install(),
        "build it"
    );
}

#[test]
fn those_that_can_test_their_configuration_do() {
    let catalogue = Catalogue::built_in();
    let products = catalogue.products();
    let tested: Vec<String> = products
        .filter(|product| product.tested().contains(&product.name()))
        .map(|product| product.name().to_owned())
        .collect();
    assert_eq!(
        tested,
        [
            "apache",
            "caddy",
            "h2o",
            "haproxy",
            "lighttpd",
            "nginx",
            "tomcat",
            "trafficserver",
            "varnish"
        ]
    );
}

#[test]
fn the_test_of_a_configuration_is_a_command_line_of_its_own() {
    let check =
        "check = { arguments = ['-c', 'test {{ port }}', '{{ \"\" }}'], within = '7s' }\nfiles";
    let text = MINE.replacen("files", check, 1);
    let folder = folder(&[
        ("server.toml", &text),
        ("stock.conf", CONF),
        ("tuned.conf", CONF),
    ]);
    let place = folder.path().join("mine").display().to_string();
    let mut catalogue = Catalogue::built_in();
    catalogue.add(folder.path()).unwrap();
    let mine = catalogue.product("mine").unwrap();
    assert_eq!(mine.tested(), ["mine"]);
    let directory = PathBuf::from("/private");
    let mut setup = setup(&directory, &[0]);
    let check = |setup: &Setup<'_>, source: &str| {
        let launch = mine.launch(setup).unwrap();
        let check = launch.processes[0].check.clone().unwrap();
        // What comes out empty is left out, as of those that start it.
        assert_eq!(check.arguments, ["-c", "test 4711"]);
        assert_eq!(check.within, Duration::from_secs(7));
        let wanted = format!("{place}/server.toml:10: process[0].check");
        assert_eq!(check.place, wanted);
        assert_eq!(check.sources, [("mine.conf".to_owned(), source.to_owned())]);
    };
    check(&setup, &format!("{place}/tuned.conf"));
    setup.preset = Preset::Stock;
    check(&setup, &format!("{place}/stock.conf"));
    let (path, text) = ("their.conf", "port {{ port }}");
    setup.preset = Preset::Template { path, text };
    check(&setup, path);
}

/// `mine` with one change is refused with that sentence.
fn check_mistake(from: &str, to: &str, expected: &str) {
    assert!(MINE.contains(from), "{from}");
    let text = MINE.replacen(from, to, 1);
    let files = [
        ("server.toml", &*text),
        ("stock.conf", CONF),
        ("tuned.conf", CONF),
    ];
    assert_eq!(complaint(&files), expected);
}

#[test]
fn a_mistake_in_a_folder_names_file_line_and_key() {
    check_mistake(
        "install = \"build it\"\n",
        "",
        "mine/server.toml:1: the key 'install' is missing",
    );
    check_mistake(
        "programs = [\"sh\"]\n",
        "",
        "mine/server.toml:3: process: the key 'programs' is missing",
    );
    check_mistake(
        "programs",
        "program",
        "mine/server.toml:4: process[0].program: no such key here; there are name, programs, \
         only_for, requires, version, check, arguments, environment, folders, files, ready, stop, \
         reload; did you mean 'programs'?",
    );
    check_mistake(
        "[\"sh\"]",
        "\"sh\"",
        "mine/server.toml:4: process[0].programs: write a list, not \"sh\"",
    );
    check_mistake(
        "mine ([0-9.]+)",
        "mine ([0-9.]+",
        "mine/server.toml:5: process[0].version.pattern: found open group without closing ')'",
    );
    check_mistake(
        "listen {{ port }}",
        "listen {{ prot }}",
        "mine/server.toml:8: process[0].arguments: there is no value 'prot'; there are \
         access_log, address, connections, cpus, directory, documents, is_root, needs, port, \
         ports, preset, programs, protocol, reload, setting, site, tls, variant, workers, \
         apache_modules, cpu_masks, first_file; did you mean 'port'?",
    );
    check_mistake(
        "{{ preset }}.conf",
        "{{ preset }}.cnf",
        "mine/server.toml:10: process[0].files.mine.conf: there is no file 'stock.cnf' beside \
         server.toml",
    );
    check_mistake(
        "off = {",
        "of = {",
        "mine/server.toml:13: access_log.of: no such key here; there are off, on, buffered; did \
         you mean 'off'?",
    );
    check_mistake(
        "[handler.static]",
        "[process.stop]\nwithin = \"3 parsecs\"",
        "mine/server.toml:16: process[0].stop.within: '3 parsecs' is not a time: write 500us, \
         20ms, 10s or 2m",
    );
    check_mistake(
        "files = {",
        "reload = { signal = 'HUP', arguments = [] }\nfiles = {",
        "mine/server.toml:10: process[0].reload: write a signal, or the arguments of a command",
    );
    check_mistake(
        "files = {",
        "check = { within = '5s' }\nfiles = {",
        "mine/server.toml:10: process[0].check: the key 'arguments' is missing",
    );
    assert_eq!(
        complaint(&[("stock.conf", CONF)]),
        "mine/server.toml is missing: a server is a folder with this file"
    );
}

#[test]
fn a_reload_is_one_of_the_process_that_is_asked_and_does_not_end_it() {
    check_mistake(
        "files = {",
        "reload = { signal = 'TERM' }\nfiles = {",
        "mine/server.toml:10: process[0].reload.signal: unknown variant 'TERM', expected one of \
         'HUP', 'USR1', 'USR2'",
    );
    check_mistake(
        "[access_log]",
        "reload = { signal = 'HUP' }\n[[process]]\nname = 'last'\nprograms = ['sh']\n[access_log]",
        "mine/server.toml:12: process[0].reload: only the last process, the one that is asked, is \
         told to read its configuration again",
    );
}

#[test]
fn variants_have_one_that_holds_by_itself() {
    check_mistake(
        "[handler.static]",
        "[variant.fast]",
        "mine/server.toml:15: variant: say which is the default: variant_default = \"fast\"",
    );
    check_mistake(
        "install = \"build it\"\n",
        "install = \"build it\"\nvariant_default = \"fsat\"\n[variant.fast]\n",
        "mine/server.toml:2: variant_default: there is no variant 'fsat'; there are fast; did you \
         mean 'fast'?",
    );
}

#[test]
fn a_broken_template_names_file_and_line() {
    let check = |conf: &str, expected: &str| {
        let files = [
            ("server.toml", MINE),
            ("stock.conf", CONF),
            ("tuned.conf", conf),
        ];
        assert_eq!(complaint(&files), expected);
    };
    check(
        "port {{ port }}\n{% if port %}\nlog\n",
        "mine/tuned.conf:3: syntax error: unexpected end of input, expected end of block",
    );
    check(
        "port\nport {{ port \n",
        "mine/tuned.conf:2: syntax error: unexpected end of input, expected end of variable block",
    );
    check(
        "port {{ port }}\n\nworkers {{ wrokers }};\n",
        "mine/tuned.conf:3: there is no value 'wrokers'; there are access_log, address, \
         connections, cpus, directory, documents, is_root, needs, port, ports, preset, programs, \
         protocol, reload, setting, site, tls, variant, workers, apache_modules, cpu_masks, \
         first_file; did you mean 'workers'?",
    );
}

#[test]
fn a_template_that_fails_at_work_names_file_and_line_too() {
    let conf = "port {{ port }}\nlog {{ setting.acess_log }}\n";
    let folder = folder(&[
        ("server.toml", MINE),
        ("stock.conf", CONF),
        ("tuned.conf", conf),
    ]);
    let mut catalogue = Catalogue::built_in();
    catalogue.add(folder.path()).unwrap();
    let directory = PathBuf::from("/private");
    let mut setup = setup(&directory, &[0]);
    let mine = catalogue.product("mine").unwrap();
    let why = mine.launch(&setup).unwrap_err();
    assert!(why.ends_with("mine/tuned.conf:2: undefined value"), "{why}");
    setup.preset = Preset::Template {
        path: "my own.conf",
        text: "a\nb {{ nothing }}\n",
    };
    let why = mine.launch(&setup).unwrap_err();
    assert!(
        why.starts_with("my own.conf:2: there is no value 'nothing'"),
        "{why}"
    );
    setup.preset = Preset::Template {
        path: "my own.conf",
        text: "a {port}\nb {{ port }}\n",
    };
    assert_eq!(mine.launch(&setup).unwrap().files[0].1, "a 4711\nb 4711\n");
    setup.preset = Preset::Template {
        path: "my own.conf",
        text: "listen 8080;\n",
    };
    let why = product("nginx").launch(&setup).unwrap_err();
    assert_eq!(
        why,
        "my own.conf: it does not use {{ port }}, and each start has another port: write that in \
         place of its own, as stock.conf of nginx does (listen {{ address }}:{{ port }}{{ \
         setting.protocol }};)"
    );
    let why = product("origin").launch(&setup).unwrap_err();
    assert_eq!(
        why,
        "origin has no configuration file that depends on the preset, so no template either"
    );
}

#[test]
fn a_version_pattern_that_matches_nothing_is_told_with_what_was_printed() {
    let text = MINE.replace("mine (", "theirs (");
    let folder = folder(&[
        ("server.toml", &text),
        ("stock.conf", CONF),
        ("tuned.conf", CONF),
    ]);
    let mut search = Search::of_system(PathBuf::from("/no/triathlon"));
    search.catalogue.add(folder.path()).unwrap();
    let absent = installed(search.catalogue.product("mine").unwrap(), &search).unwrap_err();
    let why = absent
        .why
        .replace(&format!("{}/", folder.path().display()), "");
    let sh = search.program(&["sh"]).unwrap();
    assert_eq!(
        why,
        format!(
            "mine/server.toml:5: process[0].version.pattern: 'theirs ([0-9.]+)' does not occur in \
             what {} -c echo mine 1.2; echo more prints: 'mine 1.2'",
            sh.display()
        )
    );
    assert_eq!(absent.remedy, None, "installing it would not help");
}

#[test]
fn what_a_choice_requires_is_looked_for_and_told_with_its_remedy() {
    let text = MINE.replace(
        "[handler.static]\n",
        "[handler.static]\n\
         [handler.here]\nrequires = [\"no-such-program\", \"sh\"]\n\
         [handler.gone]\nrequires = [\"/no/module.so\"]\ninstall = \"apt install module\"\n",
    );
    let folder = folder(&[
        ("server.toml", &text),
        ("stock.conf", CONF),
        ("tuned.conf", CONF),
    ]);
    let mut search = Search::of_system(PathBuf::from("/no/triathlon"));
    search.catalogue.add(folder.path()).unwrap();
    let found = installed(search.catalogue.product("mine").unwrap(), &search).unwrap();
    assert_eq!(found.lacks(["static", "here"].into_iter()), None);
    let absent = found.lacks(["static", "gone"].into_iter()).unwrap();
    assert_eq!(
        absent.why,
        "mine does not offer 'gone' here: there is no /no/module.so"
    );
    assert_eq!(absent.remedy.as_deref(), Some("apt install module"));
}

/// Presets and logs are choices like all others.
#[test]
fn what_presets_and_logs_require_is_looked_for_too() {
    let makers = |word: &str| {
        format!(
            "versions = [{{ programs = [\"sh\"], arguments = [\"-c\", \"echo {word} 7\"], \
             pattern = \".+\" }}]\n"
        )
    };
    let text = MINE.replace(
        "[handler.static]\n",
        &format!(
            "[access_log.on]\nrequires = [\"/no/log.so\"]\ninstall = \"apt install log\"\n{}\
             [handler.static]\n\
             [preset.stock]\n{}\
             [preset.tuned]\nrequires = [\"/no/fast.so\", \"/no/other.so\"]\n",
            makers("log"),
            makers("stock"),
        ),
    );
    let folder = folder(&[
        ("server.toml", &text),
        ("stock.conf", CONF),
        ("tuned.conf", CONF),
    ]);
    let mut search = Search::of_system(PathBuf::from("/no/triathlon"));
    search.catalogue.add(folder.path()).unwrap();
    let found = installed(search.catalogue.product("mine").unwrap(), &search).unwrap();
    let experiment =
        crate::experiment::of_one_server(&toml::from_str("product = \"nginx\"").unwrap(), 7, 1);
    let variant = experiment.unwrap().servers()[0].clone();
    let absent = |preset: &str, access_log: AccessLog| {
        let mut variant = variant.clone();
        (variant.preset, variant.access_log) = (preset.to_owned(), access_log);
        let absent = found.cannot_be(&variant)?;
        Some((absent.why, absent.remedy))
    };
    assert_eq!(absent("stock", AccessLog::Off), None);
    assert_eq!(absent("/a/template", AccessLog::Off), None);
    let log = "mine does not offer 'access_log.on' here: there is no /no/log.so";
    let remedy = Some("apt install log".to_owned());
    assert_eq!(
        absent("stock", AccessLog::On),
        Some((log.to_owned(), remedy))
    );
    let fast = "mine does not offer 'preset.tuned' here: there is no /no/fast.so or /no/other.so";
    assert_eq!(
        absent("tuned", AccessLog::Off),
        Some((fast.to_owned(), None))
    );
    let told: Vec<(&str, &[String])> = found
        .makers
        .iter()
        .map(|(choice, told)| (choice.as_str(), told.as_slice()))
        .collect();
    let [log, stock] = ["log 7", "stock 7"].map(|told| [told.to_owned()]);
    assert_eq!(
        told,
        [("access_log.on", &log[..]), ("preset.stock", &stock[..])]
    );
}

#[test]
fn settings_that_a_template_has_no_place_for_are_refused() {
    let directory = PathBuf::from("/private");
    let mut setup = setup(&directory, &[0]);
    let (path, text) = ("my.conf", "events {}\nhttp  {\n    listen {{ port }};\n}\n");
    setup.preset = Preset::Template { path, text };
    product("nginx").launch(&setup).unwrap();
    let directives = [("keepalive_requests".to_owned(), "5".to_owned())];
    setup.directives = &directives;
    let why = product("nginx").launch(&setup).unwrap_err();
    let (place, said) = why.split_once(": ").unwrap();
    assert!(place.contains("nginx/server.toml:"), "{why}");
    assert_eq!(
        said,
        "settings.after: my.conf has no line 'http {', behind which 'keepalive_requests' is to \
         stand"
    );
}

#[test]
fn apache_runs_in_the_way_that_is_asked_for() {
    if !Path::new("/usr/lib/apache2/modules/mod_mpm_event.so").is_file() {
        return crate::testing::not_run("Apache's modules are not installed");
    }
    let (directory, apache) = (PathBuf::from("/private"), product("apache"));
    for variant in ["event", "prefork", "worker"] {
        for (preset, processes) in [(Preset::Stock, [3, 6]), (Preset::Tuned, [2, 1009])] {
            let mut setup = setup(&directory, &[0]);
            (setup.variant, setup.preset) = (variant, preset);
            let launch = apache.launch(&setup).unwrap();
            let files: BTreeMap<String, String> = launch.files.into_iter().collect();
            let module = format!("\nLoadModule mpm_{variant}_module ");
            let text = &files["httpd.conf"];
            assert!(text.contains(&module), "{text}");
            assert!(!text.contains("Include"), "{text}");
            let processes = processes[usize::from(variant == "prefork")];
            assert_eq!(launch.processes[0].processes, processes, "{variant}");
        }
    }
}

#[test]
fn handlers_are_configured_where_a_workload_needs_them_and_have_the_bytes() {
    let directory = PathBuf::from("/private");
    let documents = [Made {
        bytes: 7,
        text: "seven_7".to_owned(),
    }];
    let check = |name: &str, needs: &str, file: &str, parts: &[&str]| {
        let (product, needs) = (product(name), [needs.to_owned()]);
        let ports: Vec<u16> = (4711..).take(product.processes().len()).collect();
        let mut setup = setup(&directory, &[0]);
        (setup.ports, setup.needs, setup.documents) = (&ports, &needs, &documents);
        setup.variant = product.variant_default();
        let files: BTreeMap<String, String> =
            product.launch(&setup).unwrap().files.into_iter().collect();
        for part in parts {
            assert!(files[file].contains(part), "{name} {part}: {}", files[file]);
        }
    };
    check(
        "nginx",
        "memory",
        "handlers.conf",
        &["= /memory/7 {", "200 \"seven_7\";"],
    );
    let zone = "proxy_cache_path \"/private/cache\" ";
    for handler in ["cache", "cache-miss"] {
        check("nginx", handler, "nginx.conf", &[zone, "upstream origin {"]);
    }
    let miss = ["= /cache-miss/7 {", "pass http://origin/small/7.html;"];
    check("nginx", "cache-miss", "handlers.conf", &miss);
    check(
        "lighttpd",
        "cgi-c",
        "handlers.conf",
        &["\"/programs/cgi-c/\"", "mod_cgi"],
    );
    check("lighttpd", "lua", "handler.lua", &["[\"7\"] = \"seven_7\""]);
    check(
        "haproxy",
        "memory",
        "haproxy.cfg",
        &["\"seven_7\" if { path /memory/7 }"],
    );
    check("h2o", "ruby", "h2o.conf", &["\"/ruby/7\":", "\"seven_7\""]);
    let java = [
        "case \"/7\":",
        "setContentLength(7);",
        "print(\"seven_7\");",
    ];
    check("jetty", "java", "java/answers.jsp", &java);
    check("tomcat", "java", "java/answers.jsp", &java);
}

#[test]
fn protocols_are_set_as_each_product_wants_it() {
    let caddy = product("caddy");
    assert_eq!(caddy.cannot_speak("http3"), None);
    let nginx = product("nginx").cannot_speak("http3").unwrap();
    assert!(
        nginx.starts_with("nginx does not speak http3 here"),
        "{nginx}"
    );
    // A folder may say why.
    assert_eq!(
        product("varnish").cannot_speak("http3").unwrap(),
        "varnish does not speak http3 here; it speaks http1, http2: Varnish has no TLS of its own"
    );
}

#[test]
fn what_a_server_speaks_and_does_not_are_protocols() {
    check_mistake(
        "[handler.static]",
        "[protocol.https1-tls]",
        "mine/server.toml:15: protocol.https1-tls: no such key here; there are http1, http1-tls, \
         http2, http2-tls, http3; did you mean 'http1-tls'?",
    );
    check_mistake(
        "[handler.static]",
        "[without]\nhttp4 = 'why'",
        "mine/server.toml:16: without.http4: no protocol that it lacks; these are http1, \
         http1-tls, http2, http2-tls, http3; did you mean 'http3'?",
    );
    check_mistake(
        "[handler.static]",
        "[protocol.http2]\n[without]\nhttp2 = 'why'",
        "mine/server.toml:17: without.http2: no protocol that it lacks; these are http1, \
         http1-tls, http2-tls, http3; did you mean 'http3'?",
    );
}

#[test]
fn how_directives_are_written_must_be_said_whole() {
    let check = |lines: &str, expected: &str| check_mistake("[handler.static]", lines, expected);
    check(
        "[keep_alive]\nidle = 'timeout'",
        "mine/server.toml:15: keep_alive: [settings] must say how its directives are written",
    );
    check(
        "[settings]\nfile = 'mien.conf'\nline = '{name} {value}'",
        "mine/server.toml:16: settings.file: no process has this file; there are mine.conf",
    );
    check(
        "[settings]\nfile = 'mine.conf'\nline = '{name}'",
        "mine/server.toml:17: settings.line: the line lacks {value}",
    );
    check(
        "[settings]\nfile = 'mine.conf'\nline = '{name} {value}'\n[keep_alive]\nrequests = 'most'",
        "mine/server.toml:18: keep_alive: give both requests and unlimited, its value for no \
         limit, or neither",
    );
}

#[test]
fn each_process_has_a_name_of_its_own() {
    let process = "[[process]]\nprograms = [\"sh\"]\nready = { processes = \"1\" }\n";
    check_mistake(
        "[[process]]",
        &format!("{process}[[process]]"),
        "mine/server.toml:6: process[1].name: two processes are called 'mine': give each a name \
         of its own",
    );
}

#[test]
fn what_a_server_does_not_offer_is_told() {
    let origin = product("origin");
    assert_eq!(origin.lacks(["static", "http1"].into_iter()), None);
    assert_eq!(
        origin.lacks(["static", "cgi"].into_iter()).unwrap(),
        "origin does not offer 'cgi', which the workload needs; it offers static, http1, \
         http1-tls, http2, http2-tls, http3"
    );
}

/// The worked example of docs/servers.md is what it says that it is.
#[test]
fn the_documented_example_is_a_server() {
    let text = include_str!("../../../../docs/servers.md");
    let block = |fence: &str| {
        let (_, rest) = text.split_once(fence).unwrap_or_else(|| panic!("{fence}"));
        rest.split_once("```").unwrap().0.to_owned()
    };
    let (toml, conf) = (
        block("```toml\n"),
        block("it is delivered, except for what the lab needs:\n\n```\n"),
    );
    let folder = folder(&[
        ("server.toml", &toml),
        ("stock.conf", &conf),
        ("tuned.conf", &conf),
    ]);
    let mut catalogue = Catalogue::built_in();
    catalogue.add(folder.path()).unwrap();
    let mine = catalogue.product("mine").unwrap();
    let directory = PathBuf::from("/private");
    let mut setup = setup(&directory, &[0]);
    setup.access_log = AccessLog::On;
    let launch = mine.launch(&setup).unwrap();
    assert!(
        launch.files[0]
            .1
            .contains("logfile=/private/logs/access.log\n")
    );
    // Every value that there is stands in the table, and nothing else does.
    for name in template::NAMES {
        assert!(text.contains(&format!("`{name}")), "{name}");
    }
}

#[test]
fn directives_stand_where_each_server_reads_them() {
    let directory = PathBuf::from("/private");
    let check = |name: &str, directive: (&str, &str), line: &str, gone: &str| {
        for preset in [Preset::Stock, Preset::Tuned] {
            let directives = [(directive.0.to_owned(), directive.1.to_owned())];
            let mut setup = setup(&directory, &[0]);
            setup.preset = preset;
            setup.variant = if name == "apache" { "event" } else { "" };
            setup.directives = &directives;
            let text = text_of(name, &setup);
            let found = text.lines().filter(|one| one.trim() == line).count();
            assert_eq!(found, 1, "{name}: {text}");
            assert!(gone.is_empty() || !text.contains(gone), "{name}: {text}");
        }
    };
    let kept = ("keepalive_requests", "10");
    check("nginx", kept, "keepalive_requests 10;", "1000000000");
    // It stands in a location there, and is to hold everywhere.
    check("nginx", ("sendfile", "off"), "sendfile off;", "sendfile on");
    check(
        "nginx",
        ("worker_processes", "3"),
        "worker_processes 3;",
        "processes 1",
    );
    check(
        "apache",
        ("MaxKeepAliveRequests", "7"),
        "MaxKeepAliveRequests 7",
        "Requests 0",
    );
    check("apache", ("ServerLimit", "9"), "ServerLimit 9", "");
    let limit = ("server.max-keep-alive-requests", "7");
    check(
        "lighttpd",
        limit,
        "server.max-keep-alive-requests = 7",
        "65535",
    );
}
