//! Who may read and write a file that quell makes.
//!
//! A file that replaces another one takes over its permissions and, where that is allowed, its owner. A new file has
//! the usual permissions, less what the file that it is made from does not grant. Until it is complete, nobody but its
//! owner can read it.

use std::fs::{File, Metadata};

#[cfg(unix)]
use std::fs::Permissions;
#[cfg(unix)]
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};

/// What a file in work will grant when it is complete.
pub(crate) struct Access {
    /// The file that is replaced.
    old: Option<Metadata>,
    /// The files that it is made from.
    #[cfg_attr(not(unix), expect(dead_code, reason = "they have no permissions to keep to"))]
    sources: Vec<Metadata>,
    /// What the system gives to new files here.
    #[cfg(unix)]
    usual: Option<u32>,
}

impl Access {
    /// For a file that was made just now, and replaces `old`.
    pub(crate) fn new(file: &File, old: Option<Metadata>) -> Self {
        #[cfg(unix)]
        {
            let usual = file.metadata().ok().map(|m| m.mode());
            // Not every file system knows permissions; the content matters more.
            let _ = file.set_permissions(Permissions::from_mode(0o600));
            Self { old, sources: Vec::new(), usual }
        }
        #[cfg(not(unix))]
        {
            let _ = file;
            Self { old, sources: Vec::new() }
        }
    }

    /// Whether there is a file to be replaced.
    pub(crate) fn replaces(&self) -> bool {
        self.old.is_some()
    }

    /// A new file grants no more than this one.
    pub(crate) fn limit(&mut self, source: Metadata) {
        self.sources.push(source);
    }

    /// Gives the complete file its permissions and its owner, as far as the system lets us.
    #[cfg(unix)]
    pub(crate) fn settle(&self, file: &File) {
        let mode = match &self.old {
            Some(old) => take_over(file, old),
            None => {
                self.usual.map(|usual| self.sources.iter().fold(usual, |mode, s| mode & granted(file, s)))
            }
        };
        if let Some(mode) = mode {
            let _ = file.set_permissions(Permissions::from_mode(mode));
        }
    }

    /// Gives the complete file the flags of the one that it replaces.
    #[cfg(not(unix))]
    pub(crate) fn settle(&self, file: &File) {
        if let Some(old) = &self.old {
            let _ = file.set_permissions(old.permissions());
        }
    }
}

const GROUP: u32 = 0o070;
/// Permissions without the bits that lend the rights of an owner.
const PLAIN: u32 = 0o777;

/// Takes over owner and group; what may be granted then.
#[cfg(unix)]
fn take_over(file: &File, old: &Metadata) -> Option<u32> {
    let whole = fchown(file, Some(old.uid()), Some(old.gid())).is_ok();
    if whole || is_same(file, |m| (m.uid(), m.gid()), (old.uid(), old.gid())) {
        return Some(old.mode());
    }
    Some(group_of(file, old) & PLAIN)
}

/// What a file that was made from `source` may grant.
#[cfg(unix)]
fn granted(file: &File, source: &Metadata) -> u32 {
    let mode = source.mode();
    // What everybody may do needs no group.
    if (mode & GROUP) >> 3 & !mode == 0 { mode & PLAIN } else { group_of(file, source) & PLAIN }
}

/// Takes over the group; where that is not allowed, what the group may do is what all others may do: our own group is
/// not the one that was meant.
#[cfg(unix)]
fn group_of(file: &File, like: &Metadata) -> u32 {
    let mode = like.mode();
    if is_same(file, MetadataExt::gid, like.gid()) || fchown(file, None, Some(like.gid())).is_ok() {
        return mode;
    }
    mode & (!GROUP | (mode & 0o007) << 3)
}

#[cfg(unix)]
fn is_same<T: PartialEq>(file: &File, of: impl Fn(&Metadata) -> T, wanted: T) -> bool {
    file.metadata().is_ok_and(|m| of(&m) == wanted)
}
