//! What the benchmarks run: the release binary, and the bare programs of `sys`.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};

use crate::command::{cargo, output, step};

/// Where the built programs are.
#[derive(Debug)]
pub(crate) struct Programs {
    pub(crate) triathlon: PathBuf,
    bare: Vec<(String, PathBuf)>,
}

impl Programs {
    /// Builds them all, optimised.
    pub(crate) fn build() -> Result<Self> {
        let mut command = cargo(&["build", "--release", "--quiet", "--package", "triathlon"]);
        step("build triathlon", &mut command)?;
        let bare = bare_programs("sys")?;
        let folder = std::env::var_os("CARGO_TARGET_DIR")
            .map_or_else(|| crate::root().join("target"), PathBuf::from);
        let triathlon = folder.join("release/triathlon");
        if !triathlon.is_file() {
            bail!("{} was not built", triathlon.display());
        }
        Ok(Self { triathlon, bare })
    }

    /// A bare program of `sys`, by name.
    pub(crate) fn bare(&self, name: &str) -> Result<&PathBuf> {
        let found = self.bare.iter().find(|(known, _)| known == name);
        let (_, path) = found.with_context(|| format!("no bare program {name} was built"))?;
        Ok(path)
    }
}

/// Builds the programs that `package` keeps as benchmarks: their names and paths.
pub(crate) fn bare_programs(package: &str) -> Result<Vec<(String, PathBuf)>> {
    let mut command = cargo(&["bench", "--no-run", "--quiet", "--message-format=json"]);
    command.args(["--package", package]);
    let messages = output(&mut command)
        .with_context(|| format!("the bare programs of {package} do not build"))?;
    Ok(messages.lines().filter_map(executable).collect())
}

/// The name and path of an executable, if this message of Cargo's announces one.
fn executable(message: &str) -> Option<(String, PathBuf)> {
    let path = text_after(message, "\"executable\":\"")?;
    let target = &message[message.find("\"target\":")?..];
    let name = text_after(target, "\"name\":\"")?;
    Some((name.to_owned(), PathBuf::from(path)))
}

fn text_after<'a>(text: &'a str, before: &str) -> Option<&'a str> {
    let start = text.find(before)? + before.len();
    text[start..].split('"').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_tells_where_a_program_is() {
        let message = concat!(
            r#"{"reason":"compiler-artifact","package_id":"p","#,
            r#""target":{"kind":["bench"],"name":"null_server"},"#,
            r#""executable":"/t/release/deps/null_server-1"}"#
        );
        let expected = (
            "null_server".to_owned(),
            "/t/release/deps/null_server-1".into(),
        );
        assert_eq!(executable(message), Some(expected));
        assert_eq!(executable(r#"{"executable":null}"#), None);
    }
}
