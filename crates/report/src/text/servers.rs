//! How many servers a plan asks.

use model::PlanFile;

/// That they are several; nothing where there is one.
pub(super) fn servers(plan: &PlanFile) -> String {
    match plan.servers() {
        1 => String::new(),
        several => format!(", of {several} servers"),
    }
}

/// Why it is not known what they used.
pub(super) fn unread(plan: &PlanFile) -> String {
    let why = match plan.servers() {
        1 => "not a process of this machine, or one of another user",
        _ => "several servers were asked",
    };
    format!("CPU and memory not read ({why})")
}

#[cfg(test)]
mod tests {
    use model::fixture;
    use model::request::RequestFile;

    use super::*;

    #[test]
    fn several_servers_are_told() {
        let mut plan = fixture::plan("http://a.test/1", &[]);
        plan.requests.push(RequestFile::get("http://a.test:80/2"));
        assert_eq!(servers(&plan), "");
        plan.requests.push(RequestFile::get("http://b.test/"));
        assert_eq!(servers(&plan), ", of 2 servers");
        assert!(unread(&plan).ends_with("(several servers were asked)"));
    }
}
