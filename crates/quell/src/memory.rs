//! Memory for whole pictures, asked for before it is taken: a picture that is too large is an error of that picture,
//! and not the end of the program.

use crate::{Error, Result};

/// What threads and small buffers need besides.
const MARGIN: usize = 24 << 20;

/// Whether `planes` float planes of a size can be had. Nothing is taken: fresh memory comes zeroed and costs nothing
/// until it is touched, which asking for it in another way would lose.
pub(crate) fn check_planes(planes: usize, width: usize, height: usize) -> Result<()> {
    let bytes = width.saturating_mul(height).saturating_mul(4 * planes);
    let error = || Error::Memory { width, height, bytes: bytes as u64 };
    // Small pictures fit into what is there.
    if bytes < 1 << 20 {
        return Ok(());
    }
    Vec::<u8>::new().try_reserve_exact(bytes.saturating_add(MARGIN)).map_err(|_| error())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_had_is_an_error_with_its_size() {
        assert!(check_planes(3, 1000, 1000).is_ok());
        let e = check_planes(3, 1 << 30, 1 << 30).unwrap_err();
        assert!(e.to_string().starts_with("not enough memory for 1073741824 x 1073741824 pixels: "), "{e}");
        assert!(check_planes(usize::MAX / 8, usize::MAX, 3).is_err());
    }
}
