//! What the sides of an array are: height, width, colours, channels, depth, time.

use std::fmt;
use std::str::FromStr;

use crate::{Error, Result};

/// The axes of an array, in the order of its shape: `YX`, `ZYX`, `TCYX`, `YXS`.
///
/// `Y` and `X` are height and width. `S` are the samples of one colour: grey, grey and alpha, RGB, or RGB and
/// alpha. `C` are channels, `Z` slices and `T` times; each of those is a picture of its own.
///
/// ```
/// use quell_io::Axes;
/// assert_eq!("tcyx".parse::<Axes>()?.to_string(), "TCYX");
/// assert!("ZY".parse::<Axes>().is_err());
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Axes(Vec<u8>);

impl Axes {
    /// Where an axis is.
    pub(crate) fn find(&self, axis: u8) -> Option<usize> {
        self.0.iter().position(|a| *a == axis)
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// Axes of pictures on their own, in order of the shape.
    pub(crate) fn of_pages(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().filter(|(_, a)| !b"YXS".contains(a)).map(|(i, _)| i)
    }

    /// The axes that a shape stands for, where only one reading makes sense: two sides are a grey picture, a
    /// last side of 1, 3 or 4 that is the smallest one are its samples, as the whole imaging world has it.
    pub(crate) fn of_shape(shape: &[u64]) -> Result<Self> {
        let axes: &[u8] = match *shape {
            [_, _] => b"YX",
            [_, _, 1] => b"YXS",
            [h, w, c @ (3 | 4)] if h > c && w > c => b"YXS",
            _ => return Err(Self::question(shape)),
        };
        Ok(Self(axes.to_vec()))
    }

    /// The error that asks for axes, with those that could be meant.
    fn question(shape: &[u64]) -> Error {
        let last = shape.last().copied().unwrap_or(0);
        let mut could_be: Vec<&str> = match shape.len() {
            3 => vec!["ZYX", "TYX", "CYX", "YXC"],
            4 => vec!["TZYX", "TCYX", "ZCYX", "ZYXC"],
            5 => vec!["TZCYX", "TCZYX"],
            6 => vec!["TZCYXS"],
            _ => vec![],
        };
        // A small last side is rather samples or channels than a width.
        if (1..=4).contains(&last) && could_be.len() > 1 {
            could_be.rotate_right(1);
            could_be.extend(match shape.len() {
                3 => &["YXS"][..],
                4 => &["ZYXS", "TYXS"],
                5 => &["TZYXS", "TZYXC"],
                _ => &[],
            });
        }
        let shape: Vec<String> = shape.iter().map(u64::to_string).collect();
        let shape = format!("({})", shape.join(", "));
        if could_be.is_empty() {
            return Error::Unsupported(format!("an array of shape {shape} is not a picture"));
        }
        Error::Axes { shape, could_be: could_be.into_iter().map(str::to_owned).collect() }
    }
}

impl fmt::Display for Axes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|a| write!(f, "{}", char::from(*a)))
    }
}

impl FromStr for Axes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let axes = text.to_ascii_uppercase().into_bytes();
        for (i, axis) in axes.iter().enumerate() {
            if !b"YXCSZT".contains(axis) {
                let axis = text.chars().find(|c| !"YXCSZT".contains(c.to_ascii_uppercase()));
                return Err(format!("{:?} is no axis; they are Y, X, C, S, Z, T", axis.unwrap_or('?')));
            }
            if axes[..i].contains(axis) {
                return Err(format!("{} is there twice", char::from(*axis)));
            }
        }
        match axes.contains(&b'Y') && axes.contains(&b'X') {
            true => Ok(Self(axes)),
            false => Err("Y and X, height and width, have to be there".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unambiguous_shapes_are_taken_without_asking() {
        let axes = |shape: &[u64]| Axes::of_shape(shape).ok().map(|a| a.to_string());
        assert_eq!(axes(&[5, 3]).as_deref(), Some("YX"));
        assert_eq!(axes(&[40, 30, 3]).as_deref(), Some("YXS"));
        assert_eq!(axes(&[40, 30, 4]).as_deref(), Some("YXS"));
        assert_eq!(axes(&[2, 2, 1]).as_deref(), Some("YXS"));
        for shape in
            [&[40, 30, 2][..], &[3, 40, 30], &[3, 40, 3], &[40, 4, 4], &[2, 9, 9, 3], &[9, 9, 9, 9, 3]]
        {
            assert!(matches!(Axes::of_shape(shape), Err(Error::Axes { .. })), "{shape:?}");
        }
        for shape in [&[][..], &[7], &[2; 7]] {
            assert!(matches!(Axes::of_shape(shape), Err(Error::Unsupported(_))), "{shape:?}");
        }
    }

    #[test]
    fn wrong_axes_say_what_is_wrong() {
        let error = |text: &str| text.parse::<Axes>().unwrap_err();
        assert_eq!(error("YXQ"), "'Q' is no axis; they are Y, X, C, S, Z, T");
        assert_eq!(error("YXY"), "Y is there twice");
        assert!(error("ZX").starts_with("Y and X"));
        assert!(error("").starts_with("Y and X"));
    }
}
