//! Vectors that are multiplied with one vector after the other, kept by coordinate, so that wide loops run over all of them.

use crate::wide::wide;

/// Many vectors of the same length.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    /// By coordinate: those of all vectors.
    rows: Vec<Vec<f64>>,
    /// How many vectors there are.
    vectors: usize,
}

impl Rows {
    /// The first `size` coordinates of these vectors; the others are zero.
    pub fn new<'a, const N: usize>(size: usize, vectors: impl ExactSizeIterator<Item = &'a [f64; N]> + Clone) -> Self {
        let row = |i: usize| vectors.clone().map(|vector| vector[i]).collect();
        Self { rows: (0..size).map(row).collect(), vectors: vectors.len() }
    }

    /// The scalar product of each with this vector.
    pub fn along(&self, vector: &[f64]) -> Vec<f64> {
        let mut along = vec![0.0; self.vectors];
        self.rows.iter().zip(vector).for_each(|(row, by)| add_products(&mut along, row, *by));
        along
    }

    /// The square length of each when its coordinates are multiplied by these weights.
    pub fn squares(&self, weights: &[f64]) -> Vec<f64> {
        let mut squares = vec![0.0; self.vectors];
        self.rows.iter().zip(weights).for_each(|(row, by)| add_squares(&mut squares, row, *by));
        squares
    }
}

wide! {
    fn add_products(to: &mut [f64], values: &[f64], by: f64) {
        to.iter_mut().zip(values).for_each(|(to, value)| *to += by * value);
    }
}

wide! {
    fn add_squares(to: &mut [f64], values: &[f64], by: f64) {
        to.iter_mut().zip(values).for_each(|(to, value)| *to += (by * value) * (by * value));
    }
}
