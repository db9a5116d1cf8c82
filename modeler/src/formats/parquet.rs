//! Experiments as Apache Parquet: the table that [`super::csv`] writes, one row for each value, with typed columns.

use std::io::{self, Write};
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int32Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;

use super::models::over_ranks;
use crate::experiment::Experiment;

/// Rows that are written together.
const GROUP: usize = 1 << 16;

/// One measured value.
struct Row<'a> {
    coordinates: &'a [f64],
    /// Index of its series.
    series: usize,
    /// From 1.
    repetition: i32,
    value: f64,
}

/// Writes one row per measurement: coordinates, call path, metric, over_ranks, unit, repetition from 1, value.
pub(super) fn experiment(experiment: &Experiment, out: &mut impl Write) -> io::Result<()> {
    let bytes = encoded(experiment).map_err(io::Error::other)?;
    out.write_all(&bytes)
}

fn encoded(experiment: &Experiment) -> Result<Vec<u8>, ParquetError> {
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema(experiment)?), Arc::new(properties))?;
    let mut rows = Vec::with_capacity(GROUP);
    for (index, series) in experiment.series.iter().enumerate() {
        for (coordinates, values) in experiment.measurements(series) {
            for (repetition, &value) in (1..).zip(values) {
                rows.push(Row { coordinates, series: index, repetition, value });
                if rows.len() == GROUP {
                    group(experiment, &rows, &mut writer)?;
                    rows.clear();
                }
            }
        }
    }
    if !rows.is_empty() {
        group(experiment, &rows, &mut writer)?;
    }
    writer.into_inner()
}

fn schema(experiment: &Experiment) -> Result<Type, ParquetError> {
    let column = |name: &str, physical, repetition| {
        let is_text = physical == Physical::BYTE_ARRAY;
        let column = Type::primitive_type_builder(name, physical).with_repetition(repetition);
        column.with_logical_type(is_text.then_some(LogicalType::String)).build().map(Arc::new)
    };
    let (required, optional) = (Repetition::REQUIRED, Repetition::OPTIONAL);
    let mut fields = Vec::new();
    for parameter in &experiment.parameters {
        fields.push(column(parameter, Physical::DOUBLE, required)?);
    }
    for (name, physical, repetition) in [
        ("callpath", Physical::BYTE_ARRAY, required),
        ("metric", Physical::BYTE_ARRAY, required),
        ("over_ranks", Physical::BYTE_ARRAY, optional),
        ("unit", Physical::BYTE_ARRAY, optional),
        ("repetition", Physical::INT32, required),
        ("value", Physical::DOUBLE, required),
    ] {
        fields.push(column(name, physical, repetition)?);
    }
    Type::group_type_builder("measurements").with_fields(fields).build()
}

/// Writes the columns of some rows.
fn group(
    experiment: &Experiment,
    rows: &[Row],
    writer: &mut SerializedFileWriter<Vec<u8>>,
) -> Result<(), ParquetError> {
    let metric = |row: &Row| &experiment.metrics[experiment.series[row.series].metric as usize];
    let mut group = writer.next_row_group()?;
    for parameter in 0..experiment.parameters.len() {
        let column: Vec<f64> = rows.iter().map(|row| row.coordinates[parameter]).collect();
        numbers(next(&mut group)?, &column)?;
    }
    let mut last: Option<(usize, ByteArray)> = None;
    let path = |row: &Row| match &last {
        // Rows of one series stand together.
        Some((series, path)) if *series == row.series => Some(path.clone()),
        _ => {
            let path: ByteArray =
                experiment.path(experiment.series[row.series].callpath).join("->").into_bytes().into();
            last = Some((row.series, path.clone()));
            Some(path)
        }
    };
    texts(next(&mut group)?, rows.iter().map(path), false)?;
    let text = |text: &str| ByteArray::from(text.as_bytes().to_vec());
    texts(next(&mut group)?, rows.iter().map(|row| Some(text(&metric(row).name))), false)?;
    texts(next(&mut group)?, rows.iter().map(|row| over_ranks(metric(row)).map(text)), true)?;
    texts(
        next(&mut group)?,
        rows.iter().map(|row| Some(&metric(row).unit).filter(|u| !u.is_empty()).map(|u| text(u))),
        true,
    )?;
    let repetitions: Vec<i32> = rows.iter().map(|row| row.repetition).collect();
    let mut column = next(&mut group)?;
    column.typed::<Int32Type>().write_batch(&repetitions, None, None)?;
    column.close()?;
    let values: Vec<f64> = rows.iter().map(|row| row.value).collect();
    numbers(next(&mut group)?, &values)?;
    group.close().map(|_| ())
}

/// The next column, of which there are as many as in [`schema`].
fn next<'a, W: Write + Send>(
    group: &'a mut SerializedRowGroupWriter<'_, W>,
) -> Result<SerializedColumnWriter<'a>, ParquetError> {
    group.next_column()?.ok_or_else(|| ParquetError::General("a column is missing".into()))
}

fn numbers(mut column: SerializedColumnWriter, values: &[f64]) -> Result<(), ParquetError> {
    column.typed::<DoubleType>().write_batch(values, None, None)?;
    column.close()
}

/// Texts, of which some may be missing if the column is `optional`.
fn texts(
    mut column: SerializedColumnWriter,
    values: impl Iterator<Item = Option<ByteArray>>,
    optional: bool,
) -> Result<(), ParquetError> {
    let (mut present, mut levels) = (Vec::new(), Vec::new());
    for value in values {
        levels.push(i16::from(value.is_some()));
        present.extend(value);
    }
    column.typed::<ByteArrayType>().write_batch(&present, optional.then_some(&levels[..]), None)?;
    column.close()
}
