//! Parquet, read back row by row and compared with the table of comma-separated values of the same experiment.
#![cfg(feature = "parquet")]

use std::path::Path;

use modeler::formats::{self, Format, ReadOptions};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

/// Every row's cells as text, numbers in their shortest form, what is missing as nothing.
fn rows(bytes: Vec<u8>) -> Vec<Vec<String>> {
    let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
    let text = |field: &Field| match field {
        Field::Double(number) => number.to_string(),
        Field::Int(number) => number.to_string(),
        Field::Str(text) => text.clone(),
        Field::Null => String::new(),
        other => panic!("{other:?}"),
    };
    let names = reader.metadata().file_metadata().schema_descr().columns().iter().map(|c| c.name().to_owned());
    let mut rows = vec![names.collect::<Vec<_>>()];
    for row in reader.get_row_iter(None).unwrap() {
        rows.push(row.unwrap().get_column_iter().map(|(_, field)| text(field)).collect());
    }
    rows
}

#[test]
fn parquet_holds_what_the_table_of_comma_separated_values_holds() {
    // With ranks and units, without, and more rows than are written together.
    for (file, least) in [("tools/mpip", 100), ("relearn2p/relearn_data.txt", 100), ("cube/matrix", 300)] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../datasets").join(file);
        let experiment = formats::read(&[path], &ReadOptions::default()).unwrap().experiment;
        let written = |format| {
            let mut bytes = Vec::new();
            formats::write(&experiment, format, &mut bytes).unwrap();
            bytes
        };
        let table = String::from_utf8(written(Format::Csv)).unwrap();
        let mut table = csv::ReaderBuilder::new().has_headers(false).from_reader(table.as_bytes());
        let table: Vec<Vec<String>> = table.records().map(|r| r.unwrap().iter().map(str::to_owned).collect()).collect();
        assert!(table.len() > least, "{file}: {}", table.len());
        assert_eq!(rows(written(Format::Parquet)), table, "{file}");
    }
}

/// Rows are written in groups of 65536.
#[test]
fn long_tables_have_several_groups() {
    let mut builder = modeler::ExperimentBuilder::new(["p"]);
    let metric =
        builder.metric(modeler::experiment::Metric { name: "time".into(), unit: "s".into(), over_ranks: None });
    let path = builder.callpath(["main"]);
    for p in 1..=7_u32 {
        let point = builder.point(&[f64::from(p)]);
        (0..10_000_u32).for_each(|r| builder.add(path, metric, point, f64::from(p) + f64::from(r) / 7e4));
    }
    let mut bytes = Vec::new();
    formats::write(&builder.finish(), Format::Parquet, &mut bytes).unwrap();
    let reader = SerializedFileReader::new(bytes::Bytes::from(bytes.clone())).unwrap();
    assert_eq!(reader.num_row_groups(), 2);
    let rows = rows(bytes);
    assert_eq!(rows.len(), 70_001);
    for row in &rows[1..] {
        let number = |column: usize| row[column].parse::<f64>().unwrap();
        assert_eq!(number(6), number(0) + (number(5) - 1.0) / 7e4);
    }
}
