use super::*;
use std::os::unix::fs::symlink;

#[test]
fn every_link_and_directory_on_the_way_comes_along() {
    let base = tempfile::tempdir().unwrap();
    let base = base.path().canonicalize().unwrap();
    fs::create_dir_all(base.join("real/deep")).unwrap();
    fs::write(base.join("real/deep/file"), "12345").unwrap();
    symlink("real", base.join("alias")).unwrap();
    symlink(base.join("alias/deep/file"), base.join("shortcut")).unwrap();
    let mut files = Files::default();
    let real = files.add(&Root::host(), &base.join("shortcut")).unwrap();
    assert_eq!(real, base.join("real/deep/file"));
    for path in ["shortcut", "alias", "real", "real/deep", "real/deep/file"] {
        assert!(files.contains(&base.join(path)), "{path}");
    }
    assert_eq!(files.bytes(), 5);
    let content = |path: &str| files.entries[&base.join(path)].content.clone();
    assert_eq!(content("alias"), Content::Link("real".into()));
    assert_eq!(content("real"), Content::Directory);
    let order: Vec<&PathBuf> = files.iter().map(|(path, _)| path).collect();
    let at = |path: &str| order.iter().position(|found| **found == base.join(path)).unwrap();
    assert!(at("real") < at("real/deep") && at("real/deep") < at("real/deep/file"));
}

#[test]
fn a_tree_is_everything_in_it_and_nothing_beside_it() {
    let base = tempfile::tempdir().unwrap();
    let base = base.path().canonicalize().unwrap();
    fs::create_dir_all(base.join("in/sub")).unwrap();
    fs::write(base.join("in/sub/a"), "a").unwrap();
    fs::write(base.join("beside"), "b").unwrap();
    symlink("nowhere", base.join("in/dangling")).unwrap();
    let mut files = Files::default();
    files.add_tree(&Root::host(), &base.join("in")).unwrap();
    assert!(files.contains(&base.join("in/sub/a")) && files.contains(&base.join("in/dangling")));
    assert!(!files.contains(&base.join("beside")));
}

#[test]
fn what_is_not_there_is_named_and_a_circle_of_links_ends() {
    let base = tempfile::tempdir().unwrap();
    symlink("b", base.path().join("a")).unwrap();
    symlink("a", base.path().join("b")).unwrap();
    let mut files = Files::default();
    for missing in ["a", "nothing"] {
        let path = base.path().join(missing);
        let error = files.add(&Root::host(), &path).unwrap_err();
        assert!(error.to_string().contains(missing), "{error}");
    }
}

#[test]
fn devices_are_the_guests_own() {
    let mut files = Files::default();
    assert_eq!(files.add(&Root::host(), Path::new("/dev/null")).unwrap(), Path::new("/dev/null"));
    assert_eq!(files.iter().count(), 0);
}

#[test]
fn a_root_below_has_its_own_links_and_what_came_first_stays() {
    let base = tempfile::tempdir().unwrap();
    let base = base.path().canonicalize().unwrap();
    fs::create_dir_all(base.join("usr/lib")).unwrap();
    symlink("/usr/lib", base.join("lib")).unwrap();
    fs::write(base.join("usr/lib/a"), "ours").unwrap();
    let root = Root::directory(&base).unwrap();
    let mut files = Files::default();
    assert_eq!(files.add(&root, Path::new("/lib/../lib/a")).unwrap(), Path::new("/usr/lib/a"));
    assert_eq!(files.get(Path::new("/usr/lib/a")).unwrap().content.read().unwrap(), b"ours");
    assert_eq!(files.get(Path::new("/lib")).unwrap().content, Content::Link("/usr/lib".into()));
    assert!(files.add(&root, &base.join("usr/lib/a")).is_err(), "the host's path is not there");
    assert!(Root::directory(&base.join("usr/lib/a")).is_err());
    // The same path from elsewhere.
    fs::write(base.join("usr/lib/a"), "other").unwrap();
    files.add_bytes(Path::new("/etc/x"), 0o644, b"own".to_vec());
    fs::create_dir(base.join("etc")).unwrap();
    fs::write(base.join("etc/x"), "another").unwrap();
    files.add_tree(&root, Path::new("/")).unwrap();
    assert_eq!(files.get(Path::new("/etc/x")).unwrap().content.read().unwrap(), b"own");
}
