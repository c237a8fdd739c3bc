//! The servers that the lab knows: those that the program brings along, and folders of the user's.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use super::product::{NULL, Product, ServerError};
use crate::experiment::nearest;

/// The folders of `servers/`: name, and each file with its text.
type Folders = &'static [(&'static str, &'static [(&'static str, &'static str)])];
const EMBEDDED: Folders = include!(concat!(env!("OUT_DIR"), "/servers.rs"));

static BUILT_IN: LazyLock<BTreeMap<String, Arc<Product>>> = LazyLock::new(|| {
    let folders = EMBEDDED.iter().map(|(name, files)| {
        let owned = |(file, text): &(&str, &str)| ((*file).to_owned(), (*text).to_owned());
        let files = files.iter().map(owned).collect();
        let product = Product::read(name, &format!("servers/{name}"), &files);
        let product = product.expect("a test reads every folder that is embedded");
        ((*name).to_owned(), Arc::new(product))
    });
    folders.collect()
});

/// Servers by name.
#[derive(Clone, Debug)]
pub struct Catalogue {
    products: BTreeMap<String, Arc<Product>>,
}

impl Default for Catalogue {
    fn default() -> Self {
        Self::built_in()
    }
}

impl Catalogue {
    /// Those that the program brings along.
    pub fn built_in() -> Self {
        Self {
            products: BUILT_IN.clone(),
        }
    }

    /// Adds those of `folder`, a folder of folders. One that is called like another replaces it.
    pub fn add(&mut self, folder: &Path) -> Result<(), ServerError> {
        let cannot = |path: &Path, error: std::io::Error| {
            ServerError(format!("cannot read {}: {error}", path.display()))
        };
        let entries = fs::read_dir(folder).map_err(|error| cannot(folder, error))?;
        let mut folders = Vec::new();
        for entry in entries {
            let path = entry.map_err(|error| cannot(folder, error))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if path.is_dir() && !name.starts_with('.') {
                folders.push((name.into_owned(), path));
            }
        }
        folders.sort();
        if folders.is_empty() {
            return Err(ServerError(format!(
                "{} has no servers: each is a folder with a file server.toml",
                folder.display()
            )));
        }
        for (name, path) in folders {
            let mut files = BTreeMap::new();
            for entry in fs::read_dir(&path).map_err(|error| cannot(&path, error))? {
                let file = entry.map_err(|error| cannot(&path, error))?.path();
                let name = file.file_name().unwrap_or_default().to_string_lossy();
                if file.is_file() && !name.starts_with('.') {
                    let text = fs::read_to_string(&file).map_err(|error| cannot(&file, error))?;
                    files.insert(name.into_owned(), text);
                }
            }
            let product = Product::read(&name, &path.display().to_string(), &files)?;
            self.products.insert(name, Arc::new(product));
        }
        Ok(())
    }

    /// All of them, by name.
    pub fn products(&self) -> impl Iterator<Item = &Arc<Product>> {
        self.products.values()
    }

    /// The one of that name, or the nearest name.
    pub fn product(&self, name: &str) -> Result<Arc<Product>, Option<&str>> {
        self.products
            .get(name)
            .cloned()
            .ok_or_else(|| nearest(name, self.products.keys().map(String::as_str)))
    }
}

/// The responder that the ceiling is measured against: origin with fixed bytes from memory.
pub fn null_responder() -> Arc<Product> {
    let origin = &BUILT_IN["origin"];
    Arc::new(origin.always(NULL, NULL))
}
