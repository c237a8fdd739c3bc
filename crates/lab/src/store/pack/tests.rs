use model::fixture::Heat;
use proptest::prelude::*;

use super::streams::Guess;
use super::*;

/// A folder as a lab leaves it.
fn results() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let trials = Heat {
        servers: vec!["nginx", "origin"],
        workloads: vec![("seven-bytes", 7)],
        connections: vec![1, 64],
        rounds: 6,
        ..Heat::default()
    };
    for name in ["trials", "gaps", "servers", "servers/nginx"] {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    for (number, trial) in trials.trials().iter().enumerate() {
        let name = format!("trials/{number:05}.json");
        let text = serde_json::to_string(trial).unwrap() + "\n";
        fs::write(folder.path().join(&name), &text).unwrap();
        digests::add(folder.path(), &name, text.as_bytes()).unwrap();
    }
    for (name, text) in [
        ("experiment.toml", "[experiment]\nname = \"x\"\n"),
        ("gaps/caddy.json", "{\"server\":\"caddy\"}\n"),
        ("servers/nginx/nginx.conf", "events {}\n"),
        ("report.html", "<p>the page</p>"),
    ] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

/// The folder, its pack and what comes out of that.
fn there_and_back() -> (tempfile::TempDir, Vec<u8>, tempfile::TempDir) {
    let folder = results();
    let bytes = pack(folder.path()).unwrap();
    let out = tempfile::tempdir().unwrap();
    let file = out.path().join("x.pack");
    fs::write(&file, &bytes).unwrap();
    assert!(is_pack(&file) && !is_pack(&folder.path().join("experiment.toml")));
    fs::create_dir(out.path().join("x")).unwrap();
    unpack(&file, &out.path().join("x")).unwrap();
    (folder, bytes, out)
}

fn read(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).unwrap()
}

#[test]
fn what_was_packed_comes_out_with_every_value() {
    let (folder, bytes, out) = there_and_back();
    let out = out.path().join("x");
    for name in [
        "experiment.toml",
        "gaps/caddy.json",
        "servers/nginx/nginx.conf",
    ] {
        assert_eq!(read(folder.path(), name), read(&out, name));
    }
    assert!(!out.join("report.html").exists(), "it is made anew");
    let differences = digests::differences(&out).unwrap();
    assert_eq!(differences.sentences(), Vec::<String>::new());
    let mut size = 0;
    for entry in fs::read_dir(folder.path().join("trials")).unwrap() {
        let name = format!("trials/{}", entry.unwrap().file_name().to_string_lossy());
        let (before, after) = (read(folder.path(), &name), read(&out, &name));
        size += before.len();
        let trial = |text: &str| serde_json::from_str::<model::Trial>(text).unwrap();
        assert_eq!(trial(&before), trial(&after), "{name}");
    }
    assert!(bytes.len() * 4 < size, "{} of {size}", bytes.len());
}

#[test]
fn the_same_folder_gives_the_same_bytes() {
    let (folder, bytes, out) = there_and_back();
    assert_eq!(pack(folder.path()).unwrap(), bytes);
    assert_eq!(pack(&out.path().join("x")).unwrap(), bytes);
}

#[test]
fn a_trial_that_was_changed_stays_one() {
    let folder = results();
    let path = folder.path().join("trials/00003.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\"attempt\":0", "\"attempt\":1") + "\n").unwrap();
    let out = tempfile::tempdir().unwrap();
    let file = out.path().join("x.pack");
    fs::write(&file, pack(folder.path()).unwrap()).unwrap();
    let inside = out.path().join("x");
    unpack(&file, &inside).unwrap();
    let said = digests::differences(&inside).unwrap().sentences();
    assert_eq!(
        said,
        ["1 trial was changed after it was stored (trials/00003.json)"]
    );
}

/// What is not there any more keeps its digest, and what no list names gets none.
#[test]
fn trials_that_are_missing_or_were_added_stay_so() {
    let folder = results();
    let trials = folder.path().join("trials");
    fs::remove_file(trials.join("00002.json")).unwrap();
    fs::copy(trials.join("00003.json"), trials.join("99999.json")).unwrap();
    let before = digests::differences(folder.path()).unwrap();
    assert_eq!((before.missing.len(), before.added.len()), (1, 1));
    let out = tempfile::tempdir().unwrap();
    let file = out.path().join("x.pack");
    fs::write(&file, pack(folder.path()).unwrap()).unwrap();
    let inside = out.path().join("x");
    unpack(&file, &inside).unwrap();
    assert_eq!(digests::differences(&inside).unwrap(), before);
}

/// A folder with these documents, some of which are no trials and must keep their layout.
fn folder_of_documents(documents: &[Value]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("trials")).unwrap();
    for (number, document) in documents.iter().enumerate() {
        let (name, text) = match number % 3 {
            0 => (format!("{number}.json"), as_file(document)),
            1 => (format!("{number}.json"), format!("{document:#}")),
            _ => (format!("trials/{number}.json"), as_file(document)),
        };
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn any_document() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (0_i64..20).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        (0_u32..9).prop_map(|last| Value::from(format!("10.0.0.{last}"))),
        "[&=+\\[{0-9\"\n\\\\a-c]{0,6}".prop_map(Value::from),
    ];
    scalar.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map("[ab.\\[\\]]{0,2}", inner, 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(64)
    })]
    #[test]
    fn any_documents_come_out_as_they_were(
        documents in prop::collection::vec(any_document(), 1..12)
    ) {
        let folder = folder_of_documents(&documents);
        let out = tempfile::tempdir().unwrap();
        let file = out.path().join("x.pack");
        let bytes = pack(folder.path()).unwrap();
        fs::write(&file, &bytes).unwrap();
        let inside = out.path().join("x");
        unpack(&file, &inside).unwrap();
        let mut names = Vec::new();
        list(folder.path(), Path::new(""), 0, &mut names).unwrap();
        for name in names {
            prop_assert_eq!(read(folder.path(), &name), read(&inside, &name));
        }
        prop_assert_eq!(pack(&inside).unwrap(), bytes);
    }
}

/// A pack with these insides.
fn made(inside: &Inside) -> Vec<u8> {
    sealed(inside, &[0; 64])
}

fn refused(bytes: &[u8]) -> String {
    let out = tempfile::tempdir().unwrap();
    let file = out.path().join("x.pack");
    fs::write(&file, bytes).unwrap();
    let inside = out.path().join("a/b");
    let error = unpack(&file, &inside).unwrap_err().to_string();
    assert!(!out.path().join("evil").exists());
    error
}

#[test]
fn what_is_damaged_or_hostile_is_refused() {
    let (_folder, bytes, _out) = there_and_back();
    assert!(refused(b"something else").contains("first line"));
    let before = refused(b"triathlon pack 1\nxyz");
    assert!(before.contains("triathlon pack DIR -o FILE"), "{before}");
    let after = refused(b"triathlon pack 3\nxyz");
    assert!(after.contains("first line"), "{after}");
    assert!(!refused(&bytes[..bytes.len() - 9]).is_empty());
    let mut changed = bytes;
    changed[MARK.len()] ^= 1;
    assert!(
        refused(&changed).contains("digest"),
        "{}",
        refused(&changed)
    );
    for name in [
        "../evil",
        "../../evil",
        "/evil",
        "a/../../evil",
        "",
        "1/2/3/4/5/6",
    ] {
        let mut inside = Inside::default();
        inside.files.insert(name.to_owned(), "x".to_owned());
        assert!(refused(&made(&inside)).contains("not the name"), "{name}");
    }
}

/// One trial, of these places.
fn columns(forms: Vec<(&str, Form)>) -> Inside {
    Inside {
        documents: vec!["trials/1.json".to_owned()],
        keys: vec![vec!["a".to_owned()]],
        columns: forms
            .into_iter()
            .map(|(path, form)| (format!("trials{path}"), form))
            .collect(),
        ..Inside::default()
    }
}

#[test]
fn what_would_grow_beyond_all_bounds_is_refused() {
    let check = |pairs: &[(&str, &str)], said: &str| {
        let lines = pairs.iter().map(|(_, text)| {
            let lines = text.lines().map(str::to_owned);
            lines.collect::<Vec<_>>()
        });
        let (forms, numbers) = streams::write(&lines.collect::<Vec<_>>());
        let paths = pairs.iter().map(|(path, _)| *path);
        let inside = columns(paths.zip(forms).collect());
        let error = refused(&sealed(&inside, &numbers));
        assert!(error.contains(said), "{error}");
    };
    check(
        &[("", "[99999999999999\n"), ("[]", "1\n")],
        "ends too early",
    );
    check(&[("", "{7\n")], "not there");
    check(&[("", "&0\n")], "a list that is not there");
    check(&[("", "[x\n")], "which is no number");
    check(&[("", "{0\n")], "'trials.a' is not there");
    let deep: Vec<(String, String)> = (0..100)
        .map(|depth| (".a".repeat(depth), "{0\n".repeat(depth + 1)))
        .collect();
    let deep: Vec<(&str, &str)> = deep.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    check(&deep, "levels");
    // A line that is said once and repeated a million times, and a list that is.
    let line = format!("\"{}\"", "x".repeat(10_000));
    let count = 120_000;
    let long = |count: usize| vec!["\"x\"".to_owned(); count];
    let again = |head: String| {
        let mut lines = vec![format!("[{count}"), head];
        lines.extend(vec!["&0".to_owned(); count - 1]);
        lines
    };
    for lines in [
        [vec![format!("[{count}")], long(count), Vec::new()],
        [
            vec![format!("[{count}")],
            again("[2".to_owned()).split_off(1),
            long(2),
        ],
    ] {
        let (mut forms, numbers) = streams::write(&lines);
        for form in &mut forms {
            if let Form::Texts { lines, .. } = form {
                *lines = lines.replace("\"x\"", &line);
            }
        }
        let inside = columns(["", "[]", "[][]"].into_iter().zip(forms).collect());
        let error = refused(&sealed(&inside, &numbers));
        assert!(error.contains("more than a pack may hold"), "{error}");
    }
    // A stream of nothing but blanks.
    let mut bomb = format!("{MARK}{}\n", "0".repeat(64)).into_bytes();
    let mut encoder = ZlibEncoder::new(&mut bomb, Compression::fast());
    for _ in 0..=INSIDE_MAX >> 20 {
        encoder.write_all(&[b' '; 1 << 20]).unwrap();
    }
    encoder.finish().unwrap();
    assert!(refused(&bomb).contains("holds more than"));
}

#[test]
fn forms_that_nobody_writes_are_refused() {
    let check = |form: Form, said: &str| {
        let error = refused(&made(&columns(vec![("", form)])));
        assert!(error.contains(said), "{error}");
    };
    let numbers = |count, guess| Form::Numbers { count, guess };
    check(numbers(1 << 40, Guess::Zero), "more numbers than");
    check(numbers(1 << 20, Guess::Zero), "end too early");
    check(numbers(1, Guess::Other(0)), "is not there");
    check(numbers(1, Guess::Share(7)), "is not there");
    check(Form::Same(0), "is not there");
    let histograms = |other| Form::Histograms {
        count: 1,
        heads: Vec::new(),
        other,
    };
    let texts = |lines: &str| Form::Texts {
        count: 1,
        lines: lines.to_owned(),
    };
    check(texts("+"), "the next of none");
    check(texts("\"x\"\n+"), "the next of none");
    let long = format!("\"{}1\"", "x".repeat(1 << 20)) + &"\n+".repeat(40);
    check(texts(&long), "more numbers than");
    check(histograms(None), "a head that is not there");
    check(histograms(Some(3)), "is not there");
}
