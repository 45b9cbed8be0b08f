//! The files of a container image in a tar archive, as `docker save`, `podman save` and `skopeo copy` write it (the
//! OCI image layout and image specifications 1.1; Docker's image specification 1.2), or of a plain archive of a root
//! file system (`docker export`). Nothing is unpacked but what is compressed.

use super::part::Part;
use super::{Content, Entry, PERMISSIONS, Time};
use flate2::read::MultiGzDecoder;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};
use tar::{Archive, EntryType};

/// A file with this prefix hides what has the rest of its name in layers below.
const WHITEOUT: &[u8] = b".wh.";
/// Hides everything that layers below have in the directory.
const OPAQUE: &[u8] = b".wh..wh..opq";
/// Most bytes of a compressed layer.
const MOST_UNPACKED: u64 = 16 << 30;
/// Most bytes of a description in JSON.
const MOST_JSON: u64 = 4 << 20;
/// An index may name an index, so often.
const MOST_INDICES: usize = 4;

/// Files by their absolute path, and what the image says of its environment.
#[derive(Debug, Default)]
pub struct Tree {
    entries: BTreeMap<PathBuf, Entry>,
    environment: Vec<String>,
}

/// Docker's manifest.json.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Saved {
    config: String,
    layers: Vec<String>,
}

/// An index or a manifest of OCI.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Manifest {
    manifests: Vec<Descriptor>,
    config: Option<Descriptor>,
    layers: Vec<Descriptor>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Descriptor {
    digest: String,
    platform: Option<Platform>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Platform {
    architecture: String,
    os: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Config {
    architecture: String,
    config: RunConfig,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
struct RunConfig {
    env: Option<Vec<String>>,
}

impl Tree {
    /// The files of the image in this file.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn open(path: &Path) -> Result<Self, String> {
        let file = File::open(path).and_then(Part::whole).map_err(|error| error.to_string())?;
        let file = unpacked(file)?;
        let members = members(&file)?;
        let (config, layers) = match parse::<Vec<Saved>>(&members, "manifest.json")? {
            Some(mut images) => match (images.pop(), images.len()) {
                (Some(Saved { config, layers }), 0) => (Some(config), layers),
                (_, others) => {
                    return Err(format!(
                        "it has {} images; save one",
                        if others == 0 { 0 } else { others + 1 }
                    ));
                }
            },
            None => match parse::<Manifest>(&members, "index.json")? {
                Some(index) => of_index(&members, index, 0)?,
                // No image: the file system itself.
                None => {
                    let mut tree = Self::default();
                    tree.apply(&file)?;
                    return Ok(tree);
                }
            },
        };
        let mut tree = Self::default();
        if let Some(config) = config.map(|name| parse::<Config>(&members, &name)).transpose()?.flatten() {
            if !["", "amd64"].contains(&&*config.architecture) {
                return Err(format!("it is for {}, not for amd64", config.architecture));
            }
            tree.environment = config.config.env.unwrap_or_default();
        }
        for layer in layers {
            let part = members.get(Path::new(&layer)).ok_or_else(|| format!("layer {layer} is missing"))?;
            tree.apply(&unpacked(part.clone())?)?;
        }
        Ok(tree)
    }

    /// What is at an absolute path without links.
    #[must_use]
    pub fn entry(&self, path: &Path) -> Option<&Entry> {
        self.entries.get(path)
    }

    /// Names in a directory, in order.
    #[must_use]
    pub fn names(&self, directory: &Path) -> Vec<PathBuf> {
        let below = self.below(directory).filter(|path| path.parent() == Some(directory));
        below.filter_map(|path| path.file_name()).map(PathBuf::from).collect()
    }

    /// Variables of the image, `NAME=VALUE`.
    #[must_use]
    pub fn environment(&self) -> &[String] {
        &self.environment
    }

    fn below<'a>(&'a self, directory: &'a Path) -> impl Iterator<Item = &'a PathBuf> {
        let from = self.entries.range(directory.to_owned()..).map(|(path, _)| path);
        from.take_while(move |path| path.starts_with(directory)).filter(move |path| *path != directory)
    }

    fn remove_below(&mut self, directory: &Path) {
        let gone: Vec<PathBuf> = self.below(directory).cloned().collect();
        for path in gone {
            self.entries.remove(&path);
        }
    }

    /// Puts a layer over what is there. Its whiteouts are for layers below alone.
    fn apply(&mut self, layer: &Part) -> Result<(), String> {
        let mut own = Vec::new();
        for member in read(layer)? {
            let name = member.path.file_name().unwrap_or_default().as_bytes();
            let directory = member.path.parent().unwrap_or(Path::new("/")).to_owned();
            match name.strip_prefix(WHITEOUT) {
                Some(_) if name == OPAQUE => self.remove_below(&directory),
                Some(hidden) => {
                    let hidden = directory.join(OsStr::from_bytes(hidden));
                    self.remove_below(&hidden);
                    self.entries.remove(&hidden);
                }
                None => own.push(member),
            }
        }
        for Member { path, entry, same_as } in own {
            let entry = match same_as {
                // A further name of a file that is there.
                Some(other) => match self.entries.get(&other) {
                    Some(entry) => entry.clone(),
                    None => continue,
                },
                None => entry,
            };
            for parent in path.ancestors().skip(1).filter(|parent| parent.parent().is_some()) {
                let is_directory = |entry: &Entry| entry.content == Content::Directory;
                if !self.entries.get(parent).is_some_and(is_directory) {
                    let entry = Entry { mode: 0o755, time: Time::default(), content: Content::Directory };
                    self.entries.insert(parent.to_owned(), entry);
                }
            }
            if entry.content != Content::Directory {
                self.remove_below(&path);
            }
            self.entries.insert(path, entry);
        }
        Ok(())
    }
}

/// A file of an archive.
struct Member {
    path: PathBuf,
    entry: Entry,
    /// The path of the file whose content it shares.
    same_as: Option<PathBuf>,
}

/// What a guest can get of an archive.
fn read(part: &Part) -> Result<Vec<Member>, String> {
    let mut found = Vec::new();
    let mut archive = Archive::new(part.reader());
    for member in archive.entries_with_seek().map_err(in_words)? {
        let member = member.map_err(in_words)?;
        let header = member.header();
        let Some(path) = absolute(&member.path().map_err(in_words)?) else { continue };
        let link = || member.link_name().map_err(in_words);
        let mut same_as = None;
        let content = match header.entry_type() {
            EntryType::Regular | EntryType::Continuous => {
                let content = part.part(member.raw_file_position(), member.size());
                Content::Part(content.ok_or("it ends too early")?)
            }
            EntryType::Directory => Content::Directory,
            EntryType::Symlink => Content::Link(link()?.ok_or("a symbolic link has no target")?.into_owned()),
            EntryType::Link => {
                same_as = link()?.and_then(|target| absolute(&target));
                Content::Bytes(Vec::new())
            }
            EntryType::GNUSparse => return Err(format!("{} is stored as a sparse file", path.display())),
            _ => continue,
        };
        let mode = header.mode().unwrap_or(0o644) & PERMISSIONS;
        let time = Time { seconds: header.mtime().unwrap_or(0), nanoseconds: 0 };
        found.push(Member { path, entry: Entry { mode, time, content }, same_as });
    }
    Ok(found)
}

/// The path in the guest; `None` of the root itself, and of what would lie outside.
fn absolute(path: &Path) -> Option<PathBuf> {
    let mut absolute = PathBuf::from("/");
    for part in path.components() {
        match part {
            Component::Normal(name) => absolute.push(name),
            Component::CurDir | Component::RootDir => {}
            Component::ParentDir | Component::Prefix(_) => return None,
        }
    }
    absolute.parent().is_some().then_some(absolute)
}

/// The members of the outer archive by name. Docker's layers may be links to one another.
fn members(file: &Part) -> Result<BTreeMap<PathBuf, Part>, String> {
    let mut members = BTreeMap::new();
    let mut links = Vec::new();
    let relative = |path: &Path| path.strip_prefix("/").map(Path::to_owned).unwrap_or_default();
    for member in read(file)? {
        match member.entry.content {
            Content::Part(part) => {
                members.insert(relative(&member.path), part);
            }
            Content::Link(target) => {
                let target = member.path.parent().unwrap_or(Path::new("/")).join(target);
                links.push((relative(&member.path), relative(&plain(&target))));
            }
            _ => {}
        }
    }
    for (path, target) in links {
        if let Some(part) = members.get(&target).cloned() {
            members.insert(path, part);
        }
    }
    Ok(members)
}

/// Without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut plain, part| {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            part => plain.push(part),
        }
        plain
    })
}

/// Configuration and layers of the image for Linux on x86-64.
fn of_index(
    members: &BTreeMap<PathBuf, Part>,
    mut manifest: Manifest,
    depth: usize,
) -> Result<(Option<String>, Vec<String>), String> {
    let blob = |digest: &str| format!("blobs/{}", digest.replace(':', "/"));
    if manifest.manifests.is_empty() {
        let layers = manifest.layers.iter().map(|layer| blob(&layer.digest)).collect();
        return Ok((manifest.config.map(|config| blob(&config.digest)), layers));
    }
    manifest.manifests.retain(|descriptor| match &descriptor.platform {
        Some(platform) => platform.architecture == "amd64" && platform.os == "linux",
        None => true,
    });
    let [descriptor] = &manifest.manifests[..] else {
        return Err(format!("it has {} images for Linux on amd64; save one", manifest.manifests.len()));
    };
    let name = blob(&descriptor.digest);
    let next = parse::<Manifest>(members, &name)?.ok_or_else(|| format!("{name} is missing"))?;
    if depth >= MOST_INDICES {
        return Err("its indices do not end".to_owned());
    }
    of_index(members, next, depth + 1)
}

/// A description; `None` if there is none of this name.
fn parse<T: DeserializeOwned>(members: &BTreeMap<PathBuf, Part>, name: &str) -> Result<Option<T>, String> {
    let Some(part) = members.get(Path::new(name)) else { return Ok(None) };
    let parsed = serde_json::from_reader(part.reader().take(MOST_JSON));
    parsed.map(Some).map_err(|error| format!("{name}: {error}"))
}

/// The archive itself, of what is compressed with gzip.
fn unpacked(part: Part) -> Result<Part, String> {
    let mut magic = [0; 4];
    let read = part.reader().read(&mut magic).map_err(in_words)?;
    match &magic[..read] {
        [0x1F, 0x8B, ..] => {
            let mut file = tempfile::tempfile().map_err(in_words)?;
            let mut unpacked = MultiGzDecoder::new(part.reader()).take(MOST_UNPACKED);
            let written = io::copy(&mut unpacked, &mut file).map_err(in_words)?;
            if written == MOST_UNPACKED {
                return Err("a layer is too large".to_owned());
            }
            Part::whole(file).map_err(in_words)
        }
        [0x28, 0xB5, 0x2F, 0xFD] => {
            Err("a layer is compressed with zstd; `docker save` and `skopeo --dest-compress-format gzip` write others"
                .to_owned())
        }
        _ => Ok(part),
    }
}

#[allow(clippy::needless_pass_by_value, reason = "for map_err")]
fn in_words(error: io::Error) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests;
