use super::*;
use crate::guest_program::files::root::Root;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;
use std::io::Write as _;
use tar::{Builder, Header};

/// Path, and content or what else it is.
enum Item<'a> {
    File(&'a str, &'a str),
    Directory(&'a str),
    Link(&'a str, &'a str),
    Same(&'a str, &'a str),
}

fn archive(items: &[Item<'_>]) -> Vec<u8> {
    let mut builder = Builder::new(Vec::new());
    for item in items {
        let mut header = Header::new_gnu();
        header.set_mode(0o640);
        header.set_mtime(77);
        header.set_size(0);
        match *item {
            Item::File(path, content) => {
                header.set_size(content.len() as u64);
                // As it is: the crate's own writer refuses what leads outside.
                header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
                header.set_cksum();
                builder.append(&header, content.as_bytes()).unwrap();
            }
            Item::Directory(path) => {
                header.set_entry_type(EntryType::Directory);
                builder.append_data(&mut header, path, &[][..]).unwrap();
            }
            Item::Link(path, target) | Item::Same(path, target) => {
                let is_link = matches!(item, Item::Link(..));
                header.set_entry_type(if is_link { EntryType::Symlink } else { EntryType::Link });
                builder.append_link(&mut header, path, target).unwrap();
            }
        }
    }
    builder.into_inner().unwrap()
}

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

fn open(data: &[u8]) -> Result<Tree, String> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(data).unwrap();
    Tree::open(file.path())
}

fn text(tree: &Tree, path: &str) -> Option<String> {
    let read = tree.entry(Path::new(path))?.content.read().unwrap();
    Some(String::from_utf8(read).unwrap())
}

fn layers() -> [Vec<u8>; 2] {
    use Item::{Directory, File, Link, Same};
    let below = archive(&[
        Directory("./usr/"),
        File("usr/lib/a", "a below"),
        File("usr/lib/b", "b below"),
        File("var/x", "x"),
        File("var/deep/y", "y"),
        File("was/directory/z", "z"),
        Link("lib", "usr/lib"),
        File("../outside", "never"),
    ]);
    let above = archive(&[
        File("usr/lib/.wh.b", ""),
        // A whiteout hides nothing of its own layer, whatever their order.
        File("var/new", "new"),
        File("var/.wh..wh..opq", ""),
        File("was", "a file now"),
        File("usr/lib/a", "a above"),
        Same("usr/lib/twin", "usr/lib/a"),
    ]);
    [below, above]
}

fn check(tree: &Tree) {
    assert_eq!(text(tree, "/usr/lib/a").as_deref(), Some("a above"));
    assert_eq!(text(tree, "/usr/lib/twin").as_deref(), Some("a above"));
    assert_eq!(text(tree, "/was").as_deref(), Some("a file now"));
    for gone in
        ["/usr/lib/b", "/usr/lib/.wh.b", "/var/x", "/var/deep", "/var/deep/y", "/was/directory", "/outside"]
    {
        assert!(tree.entry(Path::new(gone)).is_none(), "{gone}");
    }
    assert_eq!(tree.names(Path::new("/var")), [PathBuf::from("new")]);
    let entry = tree.entry(Path::new("/usr/lib/a")).unwrap();
    assert_eq!((entry.mode, entry.time.seconds), (0o640, 77));
}

#[test]
fn what_docker_saves_is_its_layers_in_order() {
    let [below, above] = layers().map(|layer| String::from_utf8_lossy(&layer).into_owned());
    let manifest =
        json!([{ "Config": "c.json", "RepoTags": ["x"], "Layers": ["1/layer.tar", "2/layer.tar"] }]);
    let config = json!({ "architecture": "amd64", "config": { "Env": ["PATH=/opt/bin", "A=1"] } });
    let saved = archive(&[
        Item::File("1/layer.tar", &below),
        Item::File("2/layer.tar", &above),
        Item::File("c.json", &config.to_string()),
        Item::File("manifest.json", &manifest.to_string()),
    ]);
    for data in [gzip(&saved), saved] {
        let tree = open(&data).unwrap();
        check(&tree);
        assert_eq!(tree.environment(), ["PATH=/opt/bin", "A=1"]);
    }
}

#[test]
fn an_oci_layout_is_followed_to_the_image_for_us() {
    let mut builder = Builder::new(Vec::new());
    let mut blob = |name: &str, data: &[u8]| {
        let mut header = Header::new_gnu();
        header.set_size(data.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, name, data).unwrap();
    };
    let [below, above] = layers();
    blob("blobs/sha256/11", &gzip(&below));
    blob("blobs/sha256/22", &above);
    blob("blobs/sha256/cc", json!({ "architecture": "amd64", "config": {} }).to_string().as_bytes());
    let manifest = json!({ "config": { "digest": "sha256:cc" },
                           "layers": [{ "digest": "sha256:11" }, { "digest": "sha256:22" }] });
    blob("blobs/sha256/dd", manifest.to_string().as_bytes());
    let inner = json!({ "manifests": [
        { "digest": "sha256:00", "platform": { "architecture": "arm64", "os": "linux" } },
        { "digest": "sha256:dd", "platform": { "architecture": "amd64", "os": "linux" } },
    ] });
    blob("blobs/sha256/ee", inner.to_string().as_bytes());
    blob("index.json", json!({ "manifests": [{ "digest": "sha256:ee" }] }).to_string().as_bytes());
    check(&open(&builder.into_inner().unwrap()).unwrap());
}

#[test]
fn an_archive_without_a_manifest_is_a_file_system_and_links_stay_within_it() {
    let tree = open(&layers()[0]).unwrap();
    let root = Root::Image(tree);
    let entry = root.look(Path::new("/lib/../lib/b")).unwrap();
    assert_eq!(entry.content.read().unwrap(), b"b below");
    assert!(root.look(Path::new("/lib/b/c")).is_none());
}

#[test]
fn what_is_no_image_says_why() {
    let refused = |data: &[u8]| open(data).unwrap_err();
    let two = json!([{ "Config": "c", "Layers": [] }, { "Config": "c", "Layers": [] }]).to_string();
    assert!(refused(&archive(&[Item::File("manifest.json", &two)])).contains("2 images"));
    assert!(refused(&archive(&[Item::File("manifest.json", "{")])).contains("manifest.json"));
    let missing = json!([{ "Config": "c", "Layers": ["gone"] }]).to_string();
    assert!(refused(&archive(&[Item::File("manifest.json", &missing)])).contains("layer gone is missing"));
    let config = json!({ "architecture": "arm64" }).to_string();
    let one = json!([{ "Config": "c", "Layers": [] }]).to_string();
    let foreign = archive(&[Item::File("manifest.json", &one), Item::File("c", &config)]);
    assert!(refused(&foreign).contains("arm64"));
    assert!(refused(&[0x28, 0xB5, 0x2F, 0xFD, 0]).contains("zstd"));
    refused(&[1; 700]);
    // Cut anywhere, it is refused or has fewer files, and never more.
    let whole = &layers()[0];
    for len in (0..whole.len()).step_by(97) {
        if let Ok(tree) = open(&whole[..len]) {
            assert!(tree.entries.len() <= 12, "{len}");
        }
    }
}
