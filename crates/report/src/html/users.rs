//! Users who came at a rate: who found a place, who waited for one, and who left.

use super::escape;
use super::table::Table;
use crate::digests::Cell;
use crate::number;
use crate::users::{WAIT_QUANTILES, facts};

/// A table with a line that says what waiting means; nothing where no users came.
pub(super) fn table(cells: &[Cell<'_>]) -> String {
    let mut columns = vec!["server", "#at", "#came", "#place at once", "#waited"];
    let quantiles = WAIT_QUANTILES.map(|(_, name)| format!("#wait {name}"));
    columns.extend(quantiles.iter().map(String::as_str));
    columns.extend([
        "#longest",
        "#still waited at the end",
        "#left",
        "#still there at the end",
        "#most there at once",
    ]);
    let mut table = Table::new(
        "Users who came, over all rounds of a point, warm-up included",
        &columns,
    );
    let dash = || "-".to_owned();
    let count = |count: Option<u64>| count.map_or_else(dash, number::count);
    let mut do_wait = false;
    for cell in cells {
        let records = cell
            .rounds
            .iter()
            .filter_map(|digest| digest.users.as_ref());
        let Some(users) = facts(records) else {
            continue;
        };
        do_wait |= users.waited != Some(0);
        let row = table
            .row()
            .head(&escape(cell.server()))
            .number(&escape(&cell.place().text()))
            .number(&number::count(users.came))
            .number(&count(users.at_once))
            .number(&count(users.waited));
        for wait in users.wait.iter().chain([&users.longest]) {
            row.number(&wait.map_or_else(dash, |wait| wait.to_string()));
        }
        row.number(&number::count(users.still_waited))
            .number(&number::count(users.left))
            .number(&number::count(users.still_there))
            .number(&number::count(users.there_most));
    }
    if table.is_empty() {
        return String::new();
    }
    let mut html = table.finish();
    if do_wait {
        html.push_str(
            "<p>The wait for a place is of all who found one, and part of the response time of what \
             they asked first.</p>\n",
        );
    }
    html
}

#[cfg(test)]
mod tests {
    use model::fixture;
    use model::record::UsersRecord;

    use crate::digests::Run;
    use crate::html;

    #[test]
    fn who_came_has_a_table() {
        let mut trial = fixture::closed();
        let page = |trial: &model::Trial| {
            let mut run = Run::default();
            run.add(trial);
            html::page(&run)
        };
        assert!(!page(&trial).contains("Users who came"));
        trial.record.users = Some(UsersRecord {
            came: 1_234,
            seated: 1_233,
            waited: Some(0),
            left: 1_200,
            there_most: 64,
            ..UsersRecord::default()
        });
        let told = page(&trial);
        assert!(told.contains("Users who came, over all rounds"));
        assert!(told.contains(">1,234<") && told.contains(">1,200<") && told.contains(">33<"));
        assert!(!told.contains("The wait for a place is"));
        trial.record.users.as_mut().unwrap().waited = Some(5);
        let told = page(&trial);
        assert!(told.contains(">1,229<") && told.contains("The wait for a place is"));
    }
}
