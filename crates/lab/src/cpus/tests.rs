use super::*;

fn pairs(list: &[&[u32]]) -> BTreeMap<u32, Vec<u32>> {
    list.iter()
        .flat_map(|core| core.iter().map(|cpu| (*cpu, core.to_vec())))
        .collect()
}

#[test]
fn servers_get_the_first_and_the_generator_the_rest() {
    let check = |allowed: &[u32], cores, siblings: &[&[u32]], server: &[u32], generator: &[u32]| {
        let division = divide(allowed, &pairs(siblings), cores);
        assert_eq!(division.server, server, "{}", division.words);
        assert_eq!(division.generator, generator, "{}", division.words);
    };
    check(&[0, 1], 1, &[], &[0], &[1]);
    check(&[0, 1], 2, &[], &[0], &[1]);
    check(&[3], 1, &[], &[3], &[3]);
    check(&[0, 1, 2, 3], 2, &[], &[0, 1], &[2, 3]);
    check(&[0, 1, 2, 3], 8, &[], &[0, 1, 2], &[3]);
    // The other thread of the server's core stays idle.
    check(&[0, 1, 2, 3], 1, &[&[0, 1], &[2, 3]], &[0], &[2, 3]);
    check(&[0, 1, 2, 3], 1, &[&[0, 2], &[1, 3]], &[0], &[1, 3]);
    check(&[0, 1, 2, 3], 2, &[&[0, 2], &[1, 3]], &[0, 2], &[1, 3]);
    // Two threads of one core are all there is.
    check(&[0, 1], 1, &[&[0, 1]], &[0], &[1]);
}

#[test]
fn what_could_not_be_kept_apart_is_said() {
    let words = divide(&[0, 1], &pairs(&[&[0, 1]]), 1).words;
    assert_eq!(
        words,
        "servers on CPU 0, the generator on CPU 1, which share a core with it"
    );
    assert!(
        divide(&[0], &BTreeMap::new(), 1)
            .words
            .contains("share CPU 0")
    );
}

#[test]
fn a_server_with_more_cores_than_there_are_has_none() {
    let division = divide(&[0, 1, 2, 3], &BTreeMap::new(), 8);
    assert_eq!(division.of_server(2), Some(&[0, 1][..]));
    assert_eq!(division.of_server(4), None);
}

#[test]
fn servers_get_all_where_others_make_the_load() {
    let siblings = pairs(&[&[0, 2], &[1, 3]]);
    let check = |cores: u32, server: &[u32]| {
        let division = for_servers(&[0, 1, 2, 3], &siblings, cores, "agents a and b");
        assert_eq!(division.server, server);
        assert!(division.generator.is_empty());
        assert!(
            division.words.ends_with(", the load from agents a and b"),
            "{}",
            division.words
        );
    };
    check(1, &[0]);
    check(2, &[0, 2]);
    check(9, &[0, 2, 1, 3]);
}
