//! The bytes of a file: in memory, or on the disk and read where they are wanted.

use std::borrow::Cow;
use std::cell::RefCell;
use std::io::{self, Read, Seek, SeekFrom};

use crate::{Error, Result};

/// What can be read at any place.
trait Seekable: Read + Seek + Send {}

impl<T: Read + Seek + Send> Seekable for T {}

/// A file of which only the wanted parts are read.
pub(crate) struct Disk {
    reader: RefCell<Box<dyn Seekable>>,
    len: u64,
    failure: RefCell<Option<io::Error>>,
}

impl Disk {
    pub(crate) fn new(mut reader: impl Read + Seek + Send + 'static) -> io::Result<Self> {
        let len = reader.seek(SeekFrom::End(0))?;
        Ok(Self { reader: RefCell::new(Box::new(reader)), len, failure: RefCell::new(None) })
    }

    fn get(&self, at: u64, len: usize) -> Result<Vec<u8>> {
        let len = len.min(usize::try_from(self.len.saturating_sub(at)).unwrap_or(usize::MAX));
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(len).map_err(|_| Error::Memory { bytes: len as u64 })?;
        let mut reader = self.reader.borrow_mut();
        let read = reader
            .seek(SeekFrom::Start(at))
            .and_then(|_| reader.by_ref().take(len as u64).read_to_end(&mut bytes));
        read.inspect_err(|e| {
            let copy = e.raw_os_error().map_or_else(|| e.kind().into(), io::Error::from_raw_os_error);
            *self.failure.borrow_mut() = Some(copy);
        })?;
        Ok(bytes)
    }

    /// The last error of the disk. Parsers of headers take what cannot be read for missing.
    pub(crate) fn failure(&self) -> Option<io::Error> {
        self.failure.borrow_mut().take()
    }
}

/// Where a decoder reads from.
#[derive(Clone, Copy)]
pub(crate) enum Input<'a> {
    Memory(&'a [u8]),
    Disk(&'a Disk),
}

impl<'a> Input<'a> {
    pub(crate) fn len(self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::Disk(disk) => disk.len,
        }
    }

    /// `len` bytes from `at` on, fewer where the file ends.
    pub(crate) fn get(self, at: u64, len: usize) -> Result<Cow<'a, [u8]>> {
        match self {
            Self::Memory(bytes) => {
                let start = usize::try_from(at).unwrap_or(usize::MAX).min(bytes.len());
                let end = start.saturating_add(len).min(bytes.len());
                Ok(Cow::Borrowed(&bytes[start..end]))
            }
            Self::Disk(disk) => disk.get(at, len).map(Cow::Owned),
        }
    }

    /// `len` bytes from `at` on, if they are all there.
    pub(crate) fn exactly(self, at: u64, len: usize) -> Option<Cow<'a, [u8]>> {
        at.checked_add(len as u64).filter(|end| *end <= self.len())?;
        self.get(at, len).ok().filter(|bytes| bytes.len() == len)
    }
}

impl<'a> From<&'a [u8]> for Input<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self::Memory(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_and_disk_give_the_same_bytes() {
        let bytes: Vec<u8> = (0..100).collect();
        let disk = Disk::new(io::Cursor::new(bytes.clone())).unwrap();
        let (memory, disk) = (Input::from(&bytes[..]), Input::Disk(&disk));
        assert_eq!((memory.len(), disk.len()), (100, 100));
        for (at, len) in
            [(0, 0), (0, 100), (7, 9), (90, 20), (100, 1), (101, 1), (u64::MAX, 5), (3, usize::MAX)]
        {
            assert_eq!(memory.get(at, len).unwrap(), disk.get(at, len).unwrap(), "{at} {len}");
            assert_eq!(memory.exactly(at, len), disk.exactly(at, len), "{at} {len}");
        }
    }

    /// A disk that cannot be read.
    struct Broken;

    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::ErrorKind::PermissionDenied.into())
        }
    }

    impl Seek for Broken {
        fn seek(&mut self, _: SeekFrom) -> io::Result<u64> {
            Ok(100)
        }
    }

    #[test]
    fn errors_of_the_disk_are_not_forgotten() {
        let disk = Disk::new(Broken).unwrap();
        assert!(Input::Disk(&disk).exactly(0, 4).is_none());
        assert_eq!(disk.failure().unwrap().kind(), io::ErrorKind::PermissionDenied);
        assert!(disk.failure().is_none());
    }
}
