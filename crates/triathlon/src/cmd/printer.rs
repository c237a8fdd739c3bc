//! A page, printed by a browser.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Context as _;
use lab::scratch::Scratch;

/// Browsers that print, in the order in which they are tried.
const BROWSERS: [&str; 4] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
];

/// Prints `page` to `pdf` by the first browser found.
pub(super) fn print(page: &Path, pdf: &Path) -> anyhow::Result<()> {
    let page = page
        .canonicalize()
        .with_context(|| format!("cannot find {}", page.display()))?;
    let profile = Scratch::create().context("cannot make a folder for the browser's profile")?;
    // Browsers end well where they cannot write, and what was there before is no page.
    let made = profile.path().join("page.pdf");
    for browser in BROWSERS {
        let mut command = Command::new(browser);
        command
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                "--no-pdf-header-footer",
                "--virtual-time-budget=5000",
            ])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg(format!("--print-to-pdf={}", made.display()))
            .arg(format!("file://{}", page.display()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        match command.status() {
            Ok(status) if status.success() && made.is_file() => {
                let copied = std::fs::copy(&made, pdf);
                copied.with_context(|| format!("cannot write {}", pdf.display()))?;
                return Ok(());
            }
            Ok(status) => anyhow::bail!("{browser} could not print {}: {status}", page.display()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(error).with_context(|| format!("cannot start {browser}")),
        }
    }
    anyhow::bail!(
        "no browser to print with: none of {} is installed. On Debian: apt-get install chromium. \
         The page itself is in {}; any browser can print it",
        BROWSERS.join(", "),
        page.display()
    )
}
