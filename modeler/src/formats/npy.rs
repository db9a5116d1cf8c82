//! Arrays as NumPy writes them, the form in which `.extra-p` archives keep measurements: versions 1 to 3 of the NPY
//! format (NumPy Enhancement Proposal 1 and the documentation of `numpy.lib.format`).

use super::extrap_json::{Repetitions, mean};

const MAGIC: &[u8] = b"\x93NUMPY";

/// The array that `bytes` begin with. Its first dimension are repetitions, further ones ranks and threads.
pub(super) fn repetitions(bytes: &[u8]) -> Result<Repetitions, String> {
    let (header, data) = split(bytes).ok_or("the array of values has no intact NPY header")?;
    let number = Number::of(field(header, "descr").ok_or("the NPY header has no `descr`")?)?;
    let shape = shape(header).ok_or("the NPY header has no readable `shape`")?;
    let by_column = field(header, "fortran_order") == Some("True");
    let count = shape.iter().try_fold(1_usize, |n, &d| n.checked_mul(d)).filter(|n| n.checked_mul(8).is_some());
    let data = count.and_then(|n| data.get(..n * number.size)).ok_or("the array of values ends too early")?;
    let all: Vec<f64> = data.chunks_exact(number.size).map(|b| number.read(b)).collect();
    if let Some(bad) = all.iter().find(|v| !v.is_finite()) {
        return Err(format!("a value is {bad}, expected finite numbers"));
    }
    let repetitions = shape.first().copied().unwrap_or(1);
    let each = all.len().checked_div(repetitions).unwrap_or(0);
    if each <= 1 {
        return Ok(Repetitions { values: all, averaged: false });
    }
    let of = |r: usize| -> Vec<f64> {
        let index = |k: usize| if by_column { k * repetitions + r } else { r * each + k };
        (0..each).map(|k| all[index(k)]).collect()
    };
    Ok(Repetitions { values: (0..repetitions).filter_map(|r| mean(&of(r))).collect(), averaged: true })
}

/// Header and data.
fn split(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let rest = bytes.strip_prefix(MAGIC)?;
    let (version, rest) = rest.split_at_checked(2)?;
    let (length, rest) = match version[0] {
        1 => (usize::from(u16::from_le_bytes(rest.get(..2)?.try_into().ok()?)), rest.get(2..)?),
        2 | 3 => (u32::from_le_bytes(rest.get(..4)?.try_into().ok()?) as usize, rest.get(4..)?),
        _ => return None,
    };
    let (header, data) = rest.split_at_checked(length)?;
    Some((std::str::from_utf8(header).ok()?, data))
}

/// The text of a member of the header, which is a Python dictionary of plain values.
fn field<'a>(header: &'a str, key: &str) -> Option<&'a str> {
    let (_, after) = header.split_once(&format!("'{key}':"))?;
    let after = after.trim_start();
    let end = match after.starts_with('(') {
        true => after.find(')')? + 1,
        false => after.find([',', '}'])?,
    };
    Some(after[..end].trim().trim_matches('\''))
}

/// The lengths of the dimensions, none of a single number.
fn shape(header: &str) -> Option<Vec<usize>> {
    let inner = field(header, "shape")?.strip_prefix('(')?.strip_suffix(')')?;
    inner.split(',').map(str::trim).filter(|d| !d.is_empty()).map(|d| d.parse().ok()).collect()
}

/// How a number is stored.
#[derive(Clone, Copy)]
struct Number {
    kind: u8,
    size: usize,
    big_endian: bool,
}

impl Number {
    /// From NumPy's code, such as `<f8`.
    fn of(code: &str) -> Result<Self, String> {
        let unknown = || format!("values of the NumPy type `{code}` are not known, expected real numbers");
        let &[order, kind, size] = code.as_bytes() else { return Err(unknown()) };
        let size = usize::from(size.wrapping_sub(b'0'));
        match (kind, size) {
            (b'f', 4 | 8) | (b'i' | b'u', 1 | 2 | 4 | 8) => Ok(Self { kind, size, big_endian: order == b'>' }),
            _ => Err(unknown()),
        }
    }

    fn read(self, bytes: &[u8]) -> f64 {
        let mut little = [0_u8; 8];
        little[..self.size].copy_from_slice(bytes);
        if self.big_endian {
            little[..self.size].reverse();
        }
        let unused = 64 - 8 * self.size as u32;
        let bits = u64::from_le_bytes(little);
        match (self.kind, self.size) {
            (b'f', 4) => f64::from(f32::from_bits(bits as u32)),
            (b'f', _) => f64::from_bits(bits),
            (b'i', _) => ((bits << unused).cast_signed() >> unused) as f64,
            _ => bits as f64,
        }
    }
}

/// Writes `values` as NumPy writes an array of one dimension; the header is padded to a multiple of 64 bytes.
pub(super) fn write(values: &[f64], out: &mut Vec<u8>) {
    let dictionary = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({},), }}", values.len());
    // Magic, version and length take ten bytes; the header ends with a line feed.
    let length = (10 + dictionary.len() + 1).next_multiple_of(64) - 10;
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&[1, 0]);
    out.extend_from_slice(&(length as u16).to_le_bytes());
    out.extend_from_slice(dictionary.as_bytes());
    out.resize(out.len() + length - dictionary.len() - 1, b' ');
    out.push(b'\n');
    values.iter().for_each(|v| out.extend_from_slice(&v.to_le_bytes()));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes that `numpy.save` 2.2 writes for these arrays.
    fn saved(dictionary: &str, data: &[u8]) -> Vec<u8> {
        let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
        bytes.extend(dictionary.as_bytes());
        bytes.resize(10 + 117, b' ');
        bytes.push(b'\n');
        bytes.extend(data);
        bytes
    }

    #[test]
    fn types_orders_and_shapes_are_understood() {
        type Case = (&'static str, &'static str, &'static str, &'static [u8], &'static [f64]);
        let cases: [Case; 5] = [
            ("<f8", "False", "(2,)", &[0, 0, 0, 0, 0, 0, 0xf8, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0xc0], &[1.5, -2.0]),
            (">i4", "False", "(2,)", &[0xff, 0xff, 0xff, 0xfe, 0, 0, 1, 0], &[-2.0, 256.0]),
            ("|u1", "False", "()", &[200], &[200.0]),
            // Two repetitions of three ranks, by row and by column.
            ("|i1", "False", "(2, 3)", &[1, 2, 3, 10, 20, 30], &[2.0, 20.0]),
            ("|i1", "True", "(2, 3)", &[1, 10, 2, 20, 3, 30], &[2.0, 20.0]),
        ];
        for (descr, fortran, shape, data, expected) in cases {
            let header = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}");
            let read = repetitions(&saved(&header, data)).unwrap();
            assert_eq!(read.values, expected, "{header}");
            assert_eq!(read.averaged, shape.contains("3"), "{header}");
        }
    }

    #[test]
    fn what_is_written_is_what_numpy_writes() {
        let mut bytes = Vec::new();
        write(&[1.5, -2.0], &mut bytes);
        let data = [1.5_f64.to_le_bytes(), (-2.0_f64).to_le_bytes()].concat();
        assert_eq!(bytes, saved("{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }", &data));
    }

    #[test]
    fn damage_is_named() {
        let header = |shape: &str| format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}");
        let one = 1.0_f64.to_le_bytes();
        for (bytes, what) in [
            (b"nothing".to_vec(), "no intact NPY header"),
            (saved(&header("(2,)"), &one), "ends too early"),
            (saved(&header("(4611686018427387904, 9)"), &one), "ends too early"),
            (saved(&header("(x,)"), &one), "no readable `shape`"),
            (saved(&header("(1,)").replace("<f8", "|O"), &one), "`|O` are not known"),
            (saved(&header("(1,)"), &f64::NAN.to_le_bytes()), "NaN"),
        ] {
            let error = repetitions(&bytes).map(|r| r.values).unwrap_err();
            assert!(error.contains(what), "{error}");
        }
    }
}
