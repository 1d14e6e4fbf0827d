//! Where the pictures of an array lie that is not NumPy's.

/// Sizes and distances along the axes, in samples.
#[derive(Clone)]
pub(crate) struct Layout {
    pub(crate) shape: Vec<usize>,
    pub(crate) strides: Vec<i64>,
}

impl Layout {
    /// Without gaps, in the order of the axes.
    pub(crate) fn dense(shape: Vec<usize>) -> Self {
        let order: Vec<usize> = (0..shape.len()).collect();
        Self { strides: dense(&shape, &order), shape }
    }

    /// Without gaps, with the channels before rows and columns, whatever the order of the axes.
    pub(crate) fn planar(shape: Vec<usize>, channel: Option<usize>) -> Self {
        let (batch, channel, [y, x]) = roles(shape.len(), channel);
        let order: Vec<usize> = batch.into_iter().chain(channel).chain([y, x]).collect();
        Self { strides: dense(&shape, &order), shape }
    }

    /// Samples in all.
    pub(crate) fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// The axes from the one with the largest steps to the one with the smallest.
    pub(crate) fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.shape.len()).collect();
        order.sort_by_key(|axis| std::cmp::Reverse(self.strides[*axis]));
        order
    }

    /// For every picture, how far its planes lie from the first sample; then rows, columns and the distance of rows.
    pub(crate) fn pictures(&self, channel: Option<usize>) -> (Vec<Vec<i64>>, usize, usize, i64) {
        let (batch, channel, [y, x]) = roles(self.shape.len(), channel);
        let mut offsets = vec![0];
        for axis in batch {
            let steps =
                |at: &i64| (0..self.shape[axis]).map(move |i| at + i as i64 * self.strides[axis]).collect();
            offsets = offsets.iter().flat_map(|at| -> Vec<i64> { steps(at) }).collect();
        }
        let planes = |at: &i64| match channel {
            Some(c) => (0..self.shape[c]).map(|i| at + i as i64 * self.strides[c]).collect(),
            None => vec![*at],
        };
        // How far a single row is from the next one nobody knows.
        let pitch = if self.shape[y] == 1 { self.shape[x] as i64 } else { self.strides[y] };
        (offsets.iter().map(planes).collect(), self.shape[y], self.shape[x], pitch)
    }
}

/// Strides without gaps, the last axis of `order` being the densest.
fn dense(shape: &[usize], order: &[usize]) -> Vec<i64> {
    let mut strides = vec![1; shape.len()];
    let mut step = 1_i64;
    for &axis in order.iter().rev() {
        strides[axis] = step;
        step = step.saturating_mul(shape[axis].max(1) as i64);
    }
    strides
}

/// Which axes are the batch, the channel, rows and columns.
fn roles(ndim: usize, channel: Option<usize>) -> (Vec<usize>, Option<usize>, [usize; 2]) {
    let mut rest: Vec<usize> = (0..ndim).filter(|a| Some(*a) != channel).collect();
    let x = rest.pop().unwrap_or(0);
    let y = rest.pop().unwrap_or(0);
    (rest, channel, [y, x])
}
