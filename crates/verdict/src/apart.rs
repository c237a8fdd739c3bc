//! Which CPUs a server and a generator on one machine could have, such that neither is in the way
//! of the other.

use model::Environment;

/// A CPU for the server, one of `server`, and one for the generator, one that this program may use:
/// of two cores. None where there are no such two.
pub(crate) fn apart(server: &[u32], environment: &Environment) -> Option<(u32, u32)> {
    let online = &environment.cpus_online;
    let usable = |cpus: &[u32]| {
        let mut cpus: Vec<u32> = cpus
            .iter()
            .copied()
            .filter(|cpu| online.is_empty() || online.contains(cpu))
            .collect();
        cpus.sort_unstable();
        cpus
    };
    let generator = usable(&environment.cpus_allowed);
    let is_of_another_core = |theirs: u32, ours: u32| {
        let core = environment.thread_siblings.get(&ours);
        theirs != ours && core.is_none_or(|core| !core.contains(&theirs))
    };
    usable(server).into_iter().find_map(|theirs| {
        let mut ours = generator.iter().copied();
        Some((theirs, ours.find(|ours| is_of_another_core(theirs, *ours))?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_have_cpus_of_their_own_cores_that_they_may_use() {
        let check = |server: &[u32], allowed: &[u32], cores: &[&[u32]], expected| {
            let core = |cpu: u32| cores.iter().find(|core| core.contains(&cpu));
            let environment = Environment {
                cpus_online: cores.concat(),
                cpus_allowed: allowed.to_vec(),
                thread_siblings: (0..8)
                    .filter_map(|cpu| Some((cpu, core(cpu)?.to_vec())))
                    .collect(),
                ..Environment::default()
            };
            assert_eq!(
                apart(server, &environment),
                expected,
                "{server:?} {allowed:?}"
            );
        };
        let single: &[&[u32]] = &[&[0], &[1], &[2], &[3]];
        check(&[0, 1], &[0, 1], single, Some((0, 1)));
        check(&[2, 3], &[2, 3], single, Some((2, 3)));
        check(&[3], &[0, 3], single, Some((3, 0)));
        check(&[3], &[3], single, None);
        let halves: &[&[u32]] = &[&[0, 1], &[2, 3]];
        check(&[0, 1, 2, 3], &[0, 1, 2, 3], halves, Some((0, 2)));
        check(&[0], &[0, 1], halves, None);
        check(&[0, 2], &[0, 1], halves, Some((2, 0)));
        // One that is offline is none.
        check(&[0, 1], &[0, 1], &[&[0], &[2]], None);
        check(&[0], &[0, 1, 2], &[&[0], &[2]], Some((0, 2)));
        // Where nobody knows of cores, each CPU is one.
        check(&[0, 1], &[0, 1], &[], Some((0, 1)));
    }
}
