//! The values of one metric of a Cube profile: `N.index` says which call-tree nodes have values, `N.data` holds them,
//! node by node, one for each location.

use std::io::Read;

use super::super::profile::Fold;

/// How a file begins.
const INDEX: &[u8] = b"CUBEX.INDEX";
const DATA: &[u8] = b"CUBEX.DATA";
const COMPRESSED: &[u8] = b"ZCUBEX.DATA";

/// The order of bytes in a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Little,
    Big,
}

/// A number as it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scalar {
    Unsigned(usize),
    Signed(usize),
    Double,
}

/// A number of a value; simple types have one, structured types several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Component {
    /// What follows the metric's name.
    pub suffix: String,
    pub offset: usize,
    pub scalar: Scalar,
    pub fold: Fold,
}

/// A data type: its width in bytes and its numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Type {
    pub width: usize,
    pub components: Vec<Component>,
}

/// The most numbers that one value may have.
const MOST_COMPONENTS: usize = 4096;

impl Type {
    /// The type of this name, such as `UINT64` or `HISTOGRAM(5)`; `None` where it is none whose layout is known.
    pub fn new(name: &str) -> Option<Self> {
        use Scalar::{Double, Signed, Unsigned};
        let (base, count) = match name.trim().split_once('(') {
            Some((base, rest)) => (base.trim(), rest.trim().strip_suffix(')')?.trim().parse::<usize>().ok()?),
            None => (name.trim(), 1),
        };
        if count > MOST_COMPONENTS {
            return None;
        }
        let simple = |scalar: Scalar, fold| Self::of(vec![(String::new(), scalar, fold)]);
        let sums = |n: usize| (0..n).map(|i| (format!("[{i}]"), Double, Fold::Sum));
        let bounds = || vec![(".minimum".into(), Double, Fold::Minimum), (".maximum".into(), Double, Fold::Maximum)];
        Some(match base {
            "DOUBLE" | "FLOAT" => simple(Double, Fold::Sum),
            "MINDOUBLE" => simple(Double, Fold::Minimum),
            "MAXDOUBLE" => simple(Double, Fold::Maximum),
            "CHAR" | "UINT8" => simple(Unsigned(1), Fold::Sum),
            "UINT16" | "UNSIGNED SHORT INT" => simple(Unsigned(2), Fold::Sum),
            "UINT32" | "UNSIGNED INT" => simple(Unsigned(4), Fold::Sum),
            "UINT64" | "UNSIGNED INTEGER" => simple(Unsigned(8), Fold::Sum),
            "INT8" => simple(Signed(1), Fold::Sum),
            "INT16" | "SHORT INT" | "SIGNED SHORT INT" => simple(Signed(2), Fold::Sum),
            "INT" | "INT32" | "SIGNED INT" => simple(Signed(4), Fold::Sum),
            "INT64" | "INTEGER" | "SIGNED INTEGER" => simple(Signed(8), Fold::Sum),
            "COMPLEX" => Self::of([".real", ".imaginary"].map(|s| (s.to_owned(), Double, Fold::Sum)).into()),
            "RATE" => Self::of([".numerator", ".denominator"].map(|s| (s.to_owned(), Double, Fold::Sum)).into()),
            "TAU_ATOMIC" => {
                let mut parts = vec![(".count".to_owned(), Unsigned(4), Fold::Sum)];
                parts.extend(bounds());
                parts.extend([".sum", ".sum_of_squares"].map(|s| (s.to_owned(), Double, Fold::Sum)));
                Self::of(parts)
            }
            "NDOUBLES" => Self::of(sums(count).collect()),
            "HISTOGRAM" => Self::of(bounds().into_iter().chain(sums(count)).collect()),
            _ => return None,
        })
    }

    fn of(parts: Vec<(String, Scalar, Fold)>) -> Self {
        let mut width = 0;
        let component = |(suffix, scalar, fold): (String, Scalar, Fold)| {
            let offset = width;
            width += scalar.width();
            Component { suffix, offset, scalar, fold }
        };
        let components = parts.into_iter().map(component).collect();
        Self { width, components }
    }
}

impl Scalar {
    fn width(self) -> usize {
        match self {
            Self::Unsigned(width) | Self::Signed(width) => width,
            Self::Double => 8,
        }
    }
}

/// A number exactly as stored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    Whole(i128),
    Real(f64),
}

/// Which rows of the data belong to which nodes.
#[derive(Debug)]
pub(super) struct Index {
    pub order: Order,
    /// Per row the place of its node in the metric's enumeration; `None` where each node has a row.
    pub rows: Option<Vec<u32>>,
}

/// Reads an index.
pub(super) fn index(bytes: &[u8]) -> Result<Index, String> {
    let rest = bytes.strip_prefix(INDEX).ok_or("the index does not begin with CUBEX.INDEX")?;
    let (head, list) = rest.split_at_checked(7).ok_or("the index ends in its header")?;
    // The number one tells the order of bytes; a version and a kind follow, which readers need not know.
    let order = match head[..4] {
        [1, 0, 0, 0] => Order::Little,
        [0, 0, 0, 1] => Order::Big,
        _ => return Err("the index does not tell the order of its bytes".into()),
    };
    if list.is_empty() {
        return Ok(Index { order, rows: None });
    }
    let word = |b: &[u8]| {
        let b = [b[0], b[1], b[2], b[3]];
        if order == Order::Little { u32::from_le_bytes(b) } else { u32::from_be_bytes(b) }
    };
    let (count, list) = list.split_at_checked(4).ok_or("the index ends in its header")?;
    let count = word(count) as usize;
    if list.len() != count.saturating_mul(4) {
        return Err(format!("the index announces {count} nodes and holds {} bytes for them", list.len()));
    }
    Ok(Index { order, rows: Some(list.chunks_exact(4).map(word).collect()) })
}

/// The raw values; what is compressed is decompressed to `length` bytes and not further.
pub(super) fn values(bytes: &[u8], order: Order, length: usize) -> Result<std::borrow::Cow<'_, [u8]>, String> {
    let wrong = |found: usize| format!("the data are {found} bytes long and should be {length}");
    if let Some(plain) = bytes.strip_prefix(DATA) {
        return if plain.len() == length { Ok(plain.into()) } else { Err(wrong(plain.len())) };
    }
    let rest = bytes.strip_prefix(COMPRESSED).ok_or("the data do not begin with CUBEX.DATA or ZCUBEX.DATA")?;
    let word = |at: usize| {
        let bytes: [u8; 8] = rest.get(at..at.checked_add(8)?)?.try_into().ok()?;
        usize::try_from(if order == Order::Little { u64::from_le_bytes(bytes) } else { u64::from_be_bytes(bytes) }).ok()
    };
    let cut = "the compressed data end in their table";
    let blocks = word(0).ok_or(cut)?;
    let mut at =
        blocks.checked_mul(24).and_then(|table| table.checked_add(8)).filter(|&t| t <= rest.len()).ok_or(cut)?;
    let mut all = Vec::with_capacity(length.min(rest.len().saturating_mul(1032)));
    for block in 0..blocks {
        let size = word(8 + block * 24 + 16).ok_or(cut)?;
        let end = at.checked_add(size).filter(|&end| end <= rest.len()).ok_or("the compressed data are cut off")?;
        if size > 0 {
            let limit = (length - all.len()) as u64 + 1;
            let mut decoder = flate2::read::ZlibDecoder::new(&rest[at..end]).take(limit);
            decoder.read_to_end(&mut all).map_err(|e| format!("block {block} cannot be decompressed: {e}"))?;
        }
        if all.len() > length {
            return Err(format!("the data decompress to more than the {length} bytes that they should be"));
        }
        at = end;
    }
    if all.len() == length { Ok(all.into()) } else { Err(wrong(all.len())) }
}

/// The number that begins at `bytes`.
pub(super) fn number(bytes: &[u8], scalar: Scalar, order: Order) -> Number {
    let mut word = [0; 8];
    let width = scalar.width();
    word[..width].copy_from_slice(&bytes[..width]);
    if order == Order::Big {
        word[..width].reverse();
    }
    let raw = u64::from_le_bytes(word);
    match scalar {
        Scalar::Unsigned(_) => Number::Whole(raw.into()),
        Scalar::Signed(width) => {
            let unused = 64 - 8 * width as u32;
            Number::Whole(((raw << unused) as i64 >> unused).into())
        }
        Scalar::Double => Number::Real(f64::from_bits(raw)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_have_the_width_that_cube_gives_them() {
        let widths = [("UINT8", 1), ("INT16", 2), ("UNSIGNED INT", 4), ("INTEGER", 8), ("MINDOUBLE", 8), ("RATE", 16)];
        for (name, width) in widths {
            assert_eq!(Type::new(name).unwrap().width, width, "{name}");
        }
        assert_eq!(Type::new("TAU_ATOMIC").unwrap().width, 36);
        assert_eq!(Type::new("HISTOGRAM(5)").unwrap().width, 56);
        assert_eq!(Type::new("NDOUBLES( 10 )").unwrap().components[9].offset, 72);
        assert_eq!(
            (Type::new("SCALE_FUNC"), Type::new("HISTOGRAM(x)"), Type::new("NDOUBLES(99999999)")),
            (None, None, None)
        );
    }

    #[test]
    fn numbers_are_read_in_both_orders_and_with_their_sign() {
        let bytes = [0xff, 0xfe, 0, 0, 0, 0, 0, 0];
        assert_eq!(number(&bytes, Scalar::Signed(2), Order::Big), Number::Whole(-2));
        assert_eq!(number(&bytes, Scalar::Signed(2), Order::Little), Number::Whole(-257));
        assert_eq!(number(&bytes, Scalar::Unsigned(2), Order::Big), Number::Whole(65534));
        assert_eq!(number(&1.5_f64.to_be_bytes(), Scalar::Double, Order::Big), Number::Real(1.5));
    }
}
