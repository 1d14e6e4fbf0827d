//! A function as a table.

/// Values of a rising function at equally spaced places, linear between them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Table {
    first: f32,
    /// Places per unit.
    density: f32,
    values: Vec<f32>,
    /// Slopes outside.
    below: f32,
    above: f32,
}

impl Table {
    /// The values of `f` at `steps + 1` places from `first` to `last`; outside it goes on with these slopes.
    pub(super) fn new(
        (first, last): (f64, f64),
        steps: usize,
        slopes: (f64, f64),
        f: impl FnMut(f64) -> f64,
    ) -> Self {
        let step = (last - first) / steps as f64;
        let places = (0..=steps).map(|i| first + i as f64 * step);
        Self {
            first: first as f32,
            density: (1.0 / step) as f32,
            values: places.map(f).map(|v| v as f32).collect(),
            below: slopes.0 as f32,
            above: slopes.1 as f32,
        }
    }

    /// The inverse of the function that has the values `to` at `from`, both rising.
    pub(super) fn inverse(from: &[f64], to: &[f64], steps: usize, slopes: (f64, f64)) -> Self {
        let (last, mut above) = (to.len() - 1, 1);
        Self::new((to[0], to[last]), steps, slopes, |v| {
            while above < last && to[above] < v {
                above += 1;
            }
            let part = (v - to[above - 1]) / (to[above] - to[above - 1]);
            from[above - 1] + part.clamp(0.0, 1.0) * (from[above] - from[above - 1])
        })
    }

    #[inline(always)]
    pub(super) fn at(&self, x: f32) -> f32 {
        let last = self.values.len() - 1;
        let place = (x - self.first) * self.density;
        // The place inside that is nearest; what is beyond it goes on straight.
        let inside = place.clamp(0.0, last as f32);
        let i = (inside as usize).min(last - 1);
        let value = self.values[i] + (inside - i as f32) * (self.values[i + 1] - self.values[i]);
        if place == inside {
            return value;
        }
        value + (place - inside) / self.density * if place < inside { self.below } else { self.above }
    }

    /// Where the table ends.
    pub(super) fn end(&self) -> f32 {
        self.first + (self.values.len() - 1) as f32 / self.density
    }
}
