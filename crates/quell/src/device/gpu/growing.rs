//! Memory that is kept from picture to picture.

use super::GpuResult;

/// A buffer that grows as needed.
pub(crate) struct Growing<B>(Option<(B, usize)>);

impl<B> Default for Growing<B> {
    fn default() -> Self {
        Self(None)
    }
}

impl<B> Growing<B> {
    /// At least `bytes`; what was in it is lost if it has to grow.
    pub(crate) fn get(
        &mut self,
        bytes: usize,
        make: impl FnOnce(usize) -> GpuResult<B>,
    ) -> GpuResult<&mut B> {
        if self.0.as_ref().is_none_or(|(_, have)| *have < bytes) {
            // The old one goes first: both may not fit.
            self.0 = None;
            self.0 = Some((make(bytes)?, bytes));
        }
        match &mut self.0 {
            Some((buffer, _)) => Ok(buffer),
            None => unreachable!("just made"),
        }
    }

    /// What there is, as it is.
    pub(crate) fn peek(&self) -> Option<&B> {
        self.0.as_ref().map(|(buffer, _)| buffer)
    }

    /// Its size.
    pub(crate) fn bytes(&self) -> usize {
        self.0.as_ref().map_or(0, |(_, bytes)| *bytes)
    }
}
