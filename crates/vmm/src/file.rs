//! Files that are there as a whole or not at all: results are written beside the file and renamed.

use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Mode of a new file, before the umask.
const MODE: u32 = 0o666;

/// Gives the file this content. A reader, however this ends, finds either the old content or the new
/// one. What is no regular file (a pipe, `/dev/stdout`) is written to as it is.
///
/// # Errors
/// It cannot be written; it has its old content then.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    match target(path)? {
        Target::Stream => fs::write(path, content),
        Target::Regular { path, permissions } => {
            let mut file = beside(&path)?;
            file.write_all(content)?;
            if let Some(permissions) = permissions {
                file.as_file().set_permissions(permissions)?;
            }
            file.persist(&path).map_err(|error| error.error)?;
            Ok(())
        }
    }
}

/// Whether [`replace`] will work, as far as that can be known before. Changes nothing.
///
/// # Errors
/// Why it will not.
pub fn check_replaceable(path: &Path) -> io::Result<()> {
    match target(path)? {
        // Opening a pipe would wait for its reader.
        Target::Stream => Ok(()),
        Target::Regular { path, .. } => beside(&path).map(|_| ()),
    }
}

enum Target {
    /// Something that takes bytes as they come.
    Stream,
    /// A file, or none yet.
    Regular { path: PathBuf, permissions: Option<Permissions> },
}

fn target(path: &Path) -> io::Result<Target> {
    // What a symbolic link points to is replaced, not the link.
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(found) if found.is_file() => {
            // A file that may not be written stays, although its directory would let us.
            File::options().write(true).open(path)?;
            Ok(Target::Regular { path: path.canonicalize()?, permissions: Some(found.permissions()) })
        }
        Ok(_) => Ok(Target::Stream),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Ok(Target::Regular { path: path.to_owned(), permissions: None })
        }
        Err(error) => Err(error),
    }
}

/// A file without a meaning yet, on the same file system. It goes away unless it is renamed.
fn beside(path: &Path) -> io::Result<NamedTempFile> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    tempfile::Builder::new().prefix(".vpmu-").permissions(Permissions::from_mode(MODE)).tempfile_in(directory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn nothing_is_left_beside_the_file_and_checking_makes_none() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("report");
        check_replaceable(&path).unwrap();
        assert!(names(directory.path()).is_empty());
        replace(&path, b"one").unwrap();
        check_replaceable(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"one");
        replace(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(names(directory.path()), ["report"]);
    }

    #[test]
    fn who_has_the_old_file_open_goes_on_reading_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("report");
        fs::write(&path, "old").unwrap();
        let reader = File::open(&path).unwrap();
        replace(&path, b"new and longer").unwrap();
        assert_eq!(io::read_to_string(reader).unwrap(), "old");
    }

    #[test]
    fn a_link_stays_one_and_a_mode_stays_the_same() {
        let directory = tempfile::tempdir().unwrap();
        let (path, link) = (directory.path().join("report"), directory.path().join("link"));
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        symlink("report", &link).unwrap();
        replace(&link, b"new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    }

    #[test]
    fn a_stream_takes_it_as_it_is_and_a_directory_does_not() {
        replace(Path::new("/dev/null"), b"x").unwrap();
        check_replaceable(Path::new("/dev/null")).unwrap();
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(check_replaceable(directory.path()).unwrap_err().kind(), io::ErrorKind::IsADirectory);
        let missing = directory.path().join("none/report");
        assert_eq!(check_replaceable(&missing).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(replace(&missing, b"x").is_err());
    }
}
