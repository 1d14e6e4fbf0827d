//! What lies in a folder after writes that went well, that were cut off, and that others have in work.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use quell_io::{Format, Metadata, Page, Picture, SampleType, WriteOptions, copy, write};

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("quell-io-safety-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// A file with this content.
    fn file(&self, name: &str, content: &str) -> PathBuf {
        fs::write(self.path(name), content).unwrap();
        self.path(name)
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
        let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn picture() -> Picture {
    let frame = quell::Frame::from_interleaved(2, 2, 1, &[1.0, 2.0, 3.0, 4.0], 255.0).unwrap();
    let page = Page { frame, alpha: None, samples: SampleType::U8 };
    Picture { pages: vec![page], metadata: Metadata::default(), format: Format::Pnm, notes: vec![] }
}

fn save(path: &Path, source: Option<&Path>) -> quell_io::Result<()> {
    let options = WriteOptions { source: source.map(Path::to_owned), ..WriteOptions::default() };
    write(path, &picture(), &options).map(drop)
}

fn age(path: &Path, hours: u64) {
    let then = SystemTime::now() - Duration::from_secs(3600 * hours);
    File::options().write(true).open(path).unwrap().set_modified(then).unwrap();
}

#[test]
fn a_copy_has_the_same_bytes_and_replaces_only_others() {
    let f = Folder::new("copy");
    let (a, b) = (f.file("a", "some bytes"), f.file("b", "older and longer"));
    copy(&a, &b).unwrap();
    assert_eq!(fs::read(&b).unwrap(), b"some bytes");
    let before = fs::metadata(&a).unwrap().modified().unwrap();
    copy(&a, &a).unwrap();
    assert_eq!(fs::read(&a).unwrap(), b"some bytes");
    assert_eq!(fs::metadata(&a).unwrap().modified().unwrap(), before);
    assert!(copy(&f.path("none"), &b).is_err());
    assert!(copy(&a, &f.path("no/folder")).is_err());
    assert_eq!(fs::read(&b).unwrap(), b"some bytes");
    assert_eq!(f.names(), ["a", "b"]);
}

#[cfg(target_os = "linux")]
mod left_behind {
    use super::*;

    /// The name of a temporary file that was made since the system was started.
    fn recent(pid: u32) -> String {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap().replace('-', "");
        format!(".quell-{}-{pid}-0.tmp", &boot[..12])
    }

    #[test]
    fn what_nobody_holds_is_removed_by_the_next_write() {
        let f = Folder::new("stale");
        f.file(&recent(1), "half");
        f.file(&format!("{}.mkv", recent(2)), "half");
        save(&f.path("a.pgm"), None).unwrap();
        assert_eq!(f.names(), ["a.pgm"]);
    }

    #[test]
    fn what_a_living_process_holds_is_left_alone() {
        let f = Folder::new("living");
        let held = File::options().write(true).open(f.file(&recent(1), "half")).unwrap();
        held.lock().unwrap();
        age(&f.path(&recent(1)), 1000);
        save(&f.path("a.pgm"), None).unwrap();
        assert_eq!(f.names(), [&recent(1), "a.pgm"]);
        drop(held);
        quell_io::remove_stale(&f.0);
        assert_eq!(f.names(), ["a.pgm"]);
    }

    #[test]
    fn files_of_other_machines_are_removed_only_when_they_are_old() {
        let f = Folder::new("machines");
        let (young, old) = (".quell-0123456789ab-7-0.tmp", ".quell-0123456789ab-7-1.tmp");
        age(&f.file(young, "in work elsewhere"), 23);
        age(&f.file(old, "half"), 25);
        // As names were before.
        age(&f.file(".quell-77-0.tmp.mkv", "half"), 25);
        quell_io::remove_stale(&f.0);
        assert_eq!(f.names(), [young]);
    }

    #[test]
    fn files_of_others_that_are_called_alike_are_left_alone() {
        let f = Folder::new("alike");
        let names = [".quell-done", ".quell-mine.tmp", ".quell-x-1-2.tmp", "quell-1-2.tmp"];
        names.iter().for_each(|n| age(&f.file(n, "not ours"), 1000));
        let target = f.file("target", "not ours");
        std::os::unix::fs::symlink(&target, f.path(&recent(3))).unwrap();
        fs::create_dir(f.path(&recent(4))).unwrap();
        let before = f.names();
        quell_io::remove_stale(&f.0);
        assert_eq!(f.names(), before);
    }
}

#[cfg(unix)]
mod rights {
    use super::*;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};

    fn chmod(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    #[test]
    fn a_new_file_grants_no_more_than_the_file_it_is_made_from() {
        let f = Folder::new("grants");
        let usual = mode(&f.file("usual", ""));
        let source = f.file("source", "P5 1 1 255\n0");
        for limit in [0o600, 0o640, 0o400, 0o644, 0o666, 0o777] {
            chmod(&source, limit);
            let (written, copied) = (f.path("w.pgm"), f.path("c.pgm"));
            save(&written, Some(&source)).unwrap();
            copy(&source, &copied).unwrap();
            for path in [written, copied] {
                assert_eq!(mode(&path), usual & limit, "{limit:o}");
                fs::remove_file(path).unwrap();
            }
        }
        save(&f.path("w.pgm"), None).unwrap();
        assert_eq!(mode(&f.path("w.pgm")), usual);
    }

    #[test]
    fn a_file_that_is_replaced_hands_on_its_permissions_and_its_owner() {
        let f = Folder::new("owner");
        let path = f.file("a.pgm", "old");
        // Only root can give files away; others keep what they are.
        let given = chown(&path, Some(1234), Some(4321)).is_ok();
        chmod(&path, 0o664);
        let before = fs::metadata(&path).unwrap();
        save(&path, Some(&path)).unwrap();
        let after = fs::metadata(&path).unwrap();
        assert_ne!(before.ino(), after.ino());
        assert_eq!((after.mode(), after.uid(), after.gid()), (before.mode(), before.uid(), before.gid()));
        assert_eq!(given, after.uid() == 1234);
    }

    #[test]
    fn a_file_in_work_can_be_read_by_its_owner_only() {
        let f = Folder::new("work");
        let source = f.file("source", "P5 1 1 255\n0");
        let info = {
            let clip = f.file("a.y4m", "YUV4MPEG2 W1 H1 F25:1 Cmono\nFRAME\n0");
            let reader = quell_io::video::VideoReader::open(&clip, &Default::default()).unwrap();
            reader.info().clone()
        };
        chmod(&source, 0o604);
        let mut options = quell_io::video::VideoWriteOptions::default();
        options.pictures.source = Some(source);
        let writer = quell_io::video::VideoWriter::create(&f.path("b.y4m"), &info, &options).unwrap();
        let name = f.names().into_iter().find(|n| n.starts_with(".quell-")).unwrap();
        assert_eq!(mode(&f.path(&name)), 0o600);
        writer.finish().unwrap();
        assert_eq!(mode(&f.path("b.y4m")), 0o604 & mode(&f.path("a.y4m")));
    }

    #[test]
    fn numbered_pictures_grant_no_more_than_the_pictures_they_come_from() {
        use quell_io::video::{VideoReader, VideoWriter};
        let f = Folder::new("numbered");
        let modes = [0o600, 0o644];
        for (i, m) in modes.iter().enumerate() {
            let path = f.path(&format!("a_{i}.pgm"));
            save(&path, None).unwrap();
            chmod(&path, *m);
        }
        let mut reader = VideoReader::open(&f.path("a_%d.pgm"), &Default::default()).unwrap();
        let mut options = quell_io::video::VideoWriteOptions::default();
        options.pictures.source = Some(f.path("a_%d.pgm"));
        let mut frame = reader.info().format.frame();
        let mut writer = VideoWriter::create(&f.path("b_%d.pgm"), reader.info(), &options).unwrap();
        let mut clip = VideoWriter::create(&f.path("c.y4m"), reader.info(), &options).unwrap();
        while reader.next(&mut frame).unwrap() {
            writer.write(&frame, "").unwrap();
            clip.write(&frame, "").unwrap();
        }
        writer.finish().unwrap();
        clip.finish().unwrap();
        for (i, m) in modes.iter().enumerate() {
            assert_eq!(mode(&f.path(&format!("b_{i}.pgm"))) & !0o022, m & !0o022);
        }
        assert_eq!(mode(&f.path("c.y4m")), 0o600);
    }

    #[test]
    fn a_link_to_a_file_that_is_not_there_yet_is_written_through() {
        let f = Folder::new("dangling");
        fs::create_dir(f.path("far")).unwrap();
        symlink("far/b.pgm", f.path("link.pgm")).unwrap();
        symlink("link.pgm", f.path("over.pgm")).unwrap();
        save(&f.path("over.pgm"), None).unwrap();
        assert!(f.path("over.pgm").is_symlink() && f.path("link.pgm").is_symlink());
        assert!(fs::symlink_metadata(f.path("far/b.pgm")).unwrap().is_file());
        fs::remove_file(f.path("far/b.pgm")).unwrap();
        copy(&f.file("source", "x"), &f.path("link.pgm")).unwrap();
        assert_eq!(fs::read(f.path("far/b.pgm")).unwrap(), b"x");

        symlink("nowhere/b.pgm", f.path("lost.pgm")).unwrap();
        assert!(save(&f.path("lost.pgm"), None).is_err());
        symlink("self.pgm", f.path("self.pgm")).unwrap();
        assert!(save(&f.path("self.pgm"), None).unwrap_err().to_string().contains("leads to itself"));
        assert!(f.path("lost.pgm").is_symlink() && f.path("self.pgm").is_symlink());
    }
}
