use model::fixture::Heat;

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

/// A pack with these insides.
fn made(inside: &Inside) -> Vec<u8> {
    let text = serde_json::to_vec(inside).unwrap();
    let mut bytes = format!("{MARK}{}\n", digest(&text)).into_bytes();
    let mut encoder = ZlibEncoder::new(&mut bytes, Compression::fast());
    encoder.write_all(&text).unwrap();
    encoder.finish().unwrap();
    bytes
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

#[test]
fn what_would_grow_beyond_all_bounds_is_refused() {
    let columns = |pairs: &[(&str, &str)]| Inside {
        documents: vec!["trials/1.json".to_owned()],
        keys: vec![vec!["a".to_owned()]],
        columns: pairs
            .iter()
            .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
            .collect(),
        ..Inside::default()
    };
    let check = |pairs: &[(&str, &str)], said: &str| {
        let error = refused(&made(&columns(pairs)));
        assert!(error.contains(said), "{error}");
    };
    check(
        &[("", "[99999999999999\n"), ("[]", "1\n")],
        "ends too early",
    );
    check(&[("", "{7\n")], "not there");
    check(&[("", "\n")], "begins with nothing");
    check(&[("", "{0\n")], "'.a' is not there");
    let deep: Vec<(String, String)> = (0..100)
        .map(|depth| (".a".repeat(depth), "{0\n".to_owned()))
        .collect();
    let deep: Vec<(&str, &str)> = deep.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    check(&deep, "levels");
    // A line that is said once and repeated a million times.
    let long = format!("\"{}\"\n{}", "x".repeat(10_000), "\n".repeat(999_999));
    check(
        &[("", "[1000000\n"), ("[]", &long)],
        "more than a pack may hold",
    );
    // A stream of nothing but blanks.
    let mut bomb = format!("{MARK}{}\n", "0".repeat(64)).into_bytes();
    let mut encoder = ZlibEncoder::new(&mut bomb, Compression::fast());
    for _ in 0..=INSIDE_MAX >> 20 {
        encoder.write_all(&[b' '; 1 << 20]).unwrap();
    }
    encoder.finish().unwrap();
    assert!(refused(&bomb).contains("holds more than"));
}
