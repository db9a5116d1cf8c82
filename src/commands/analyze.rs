//! `poise analyze`: which factors of a study, or of any table, explain a metric.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use modeler::analysis::{
    self, Analysis, AnalysisError, Bandwidth, Filter, IMPORTANCES, Normalization, Picture, Plan, PlotRequest, Rule,
    Scale, Selection, TableInput, TreeLimits, Values, analysis_csv, analysis_json, findings, page, pictures,
};
use modeler::report::Table;
use modeler::report::terminal::{Narrow, fitted, table, wrapped};

use crate::cli::{GlobalArgs, InputArgs, OutputArgs, OutputFormat, OverRanksChoice, SeedArgs};
use crate::commands::input;
use crate::error::{Error, Result};
use crate::output;
use crate::progress::Progress;

#[derive(Args, Debug)]
#[command(after_help = "\
Rows are a study's runs with what their records say (parameters, repetition, host, environment), the points and \
repetitions of any other input, or the lines of a table of comma-separated values.
Examples:
  poise analyze study.runs                  what explains the time of all of it
  poise analyze study.runs --callpath 'main -> solve' --report analysis.html
  poise analyze runs.csv --metric cycles --factors stride,threads,flag
  poise analyze runs.csv --metric cycles --categories 4 \\
    --where 'threads >= 4 and flag in (\"-O2\", \"-O3\")'
  poise analyze study.runs --format csv     the rows with their categories
  poise analyze study.runs --plots pictures --plot line:n:p --plot density")]
pub struct AnalyzeArgs {
    #[command(flatten)]
    pub input: InputArgs,
    /// The column that is to be explained.
    #[arg(long, value_name = "COLUMN", default_value = "time")]
    pub metric: String,
    /// The columns that may explain it; by default all that were chosen before a run, or all others of a table.
    #[arg(long, value_name = "p,n,host", value_delimiter = ',')]
    pub factors: Option<Vec<String>>,
    /// Keep the rows for which this holds, such as `p >= 4 and host != "node3"`.
    #[arg(long = "where", value_name = "CONDITION", value_parser = parse_filter)]
    pub filter: Option<Filter>,
    /// How the metric becomes categories: a number of bins, the peaks of its density (`isj` or `silverman`), or its `values`.
    #[arg(long, value_name = "N|isj|silverman|values", default_value = "isj", value_parser = parse_rule)]
    pub categories: Rule,
    /// On which scale categories are formed; by default logarithmic where values span a factor of ten.
    #[arg(long, value_enum, default_value_t = ScaleChoice::Auto)]
    pub scale: ScaleChoice,
    /// Bring every column of numbers to one range first.
    #[arg(long, value_enum, value_name = "HOW")]
    pub normalize: Option<NormalizationChoice>,
    /// Metrics of this call path, such as `main -> solve`; by default of the whole program.
    #[arg(long, value_name = "PATH")]
    pub callpath: Option<String>,
    /// Which rank's value, where profiles have several.
    #[arg(long, value_enum, default_value_t = OverRanksChoice::Mean, value_name = "WHICH")]
    pub over_ranks: OverRanksChoice,
    /// Questions on the way to a leaf of the tree, at most.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=20))]
    pub depth: u8,
    /// Rows of a leaf of the tree, at least.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub leaf: u32,
    /// Trees of the forest that judges the factors.
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(10..=10_000))]
    pub trees: u32,
    /// Write a page with all findings and plots; an existing file is not overwritten.
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
    /// Write each plot as an SVG file into this folder, which must not exist.
    #[arg(long, value_name = "DIR")]
    pub plots: Option<PathBuf>,
    /// A plot for the page and the folder: density, tree, importance, scatter:COLUMN, line:COLUMN or line:COLUMN:COLUMN;
    /// may be given several times. By default those that show what was found.
    #[arg(long = "plot", value_name = "PLOT")]
    pub plot: Vec<PlotRequest>,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub seed: SeedArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ScaleChoice {
    /// Logarithmic where values are positive and span a factor of ten.
    Auto,
    /// As they are.
    Linear,
    /// The decimal logarithm.
    Log,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum NormalizationChoice {
    /// The lowest value becomes 0, the highest 1.
    MinMax,
    /// The mean becomes 0, the standard deviation 1.
    #[value(name = "z-score")]
    ZScore,
}

/// Share of the rows that the tree is tested on.
const TEST_SHARE: f64 = 0.2;

fn parse_filter(text: &str) -> Result<Filter, String> {
    Filter::parse(text).map_err(|e| e.to_string())
}

fn parse_rule(text: &str) -> Result<Rule, String> {
    match text {
        "isj" => Ok(Rule::Peaks(Bandwidth::ImprovedSheatherJones)),
        "silverman" => Ok(Rule::Peaks(Bandwidth::Silverman)),
        "values" => Ok(Rule::Values),
        _ => match text.parse() {
            Ok(count @ 2..=26) => Ok(Rule::Bins(count)),
            _ => Err("give a number of bins from 2 to 26, isj, silverman or values".into()),
        },
    }
}

/// Reads, analyses, draws, prints.
pub fn analyze(arguments: &AnalyzeArgs, global: &GlobalArgs, progress: &Progress) -> Result<()> {
    // Hours of forests should not end in a name that is taken.
    output::check_all_new([(&arguments.output.output, "-o"), (&arguments.report, "--report")])?;
    arguments.plots.as_deref().map_or(Ok(()), output::check_new_folder)?;
    let options = input::read_options(&arguments.input.read)?;
    let selection = Selection {
        callpath: arguments.callpath.clone(),
        over_ranks: input::over_ranks(arguments.over_ranks),
        metric: arguments.metric.clone(),
    };
    progress.step("reading the rows");
    let TableInput { table, warnings, left_out } =
        analysis::read(&arguments.input.inputs, &options, &selection).map_err(input::unreadable)?;
    if !global.quiet {
        warnings.iter().for_each(output::say);
    }
    let told = analysis::told(&left_out, table.rows(), &arguments.metric);
    // Rows alone cannot tell what is missing among them.
    if let Some(note) = told.as_ref().filter(|_| !global.quiet && arguments.output.format == OutputFormat::Csv) {
        output::say(note);
    }
    progress.step(&format!(
        "growing {} on {}",
        output::counted(arguments.trees, "tree", "trees"),
        output::counted(table.rows(), "row", "rows")
    ));
    let found = analysis::analyze(&table, &plan(arguments)).map_err(|error| refused(error, told.as_deref()))?;
    let found = found.without(left_out, table.rows());
    let drawn = match arguments.report.is_some() || arguments.plots.is_some() {
        true => pictures(&found, &arguments.plot).map_err(|error| refused(error, None))?,
        false => Vec::new(),
    };
    let text = match arguments.output.format {
        OutputFormat::Human => for_people(&found, arguments.output.output.as_deref()),
        OutputFormat::Json => analysis_json(&found),
        OutputFormat::Csv => analysis_csv(&found),
    };
    output::deliver(&text, arguments.output.output.as_deref())?;
    write_pictures(arguments, global, &found, &drawn, &warnings.iter().map(ToString::to_string).collect::<Vec<_>>())?;
    input::partial_of(&warnings, 1, 0)
}

fn plan(arguments: &AnalyzeArgs) -> Plan {
    Plan {
        metric: arguments.metric.clone(),
        factors: arguments.factors.clone(),
        filter: arguments.filter.clone(),
        normalization: arguments.normalize.map(|how| match how {
            NormalizationChoice::MinMax => Normalization::MinMax,
            NormalizationChoice::ZScore => Normalization::ZScore,
        }),
        rule: arguments.categories,
        scale: match arguments.scale {
            ScaleChoice::Auto => Scale::Auto,
            ScaleChoice::Linear => Scale::Linear,
            ScaleChoice::Log => Scale::Logarithmic,
        },
        limits: TreeLimits { depth: arguments.depth.into(), leaf: arguments.leaf as usize },
        trees: arguments.trees as usize,
        test_share: TEST_SHARE,
        seed: arguments.seed.seed,
    }
}

/// The error, where the data cannot answer with what was left out of them.
fn refused(error: AnalysisError, told: Option<&str>) -> Error {
    match error {
        AnalysisError::Usage(what) => Error::Usage(what),
        AnalysisError::Data(what) => {
            Error::NotModelable([Some(what.as_str()), told].into_iter().flatten().collect::<Vec<_>>().join(" "))
        }
    }
}

fn write_pictures(
    arguments: &AnalyzeArgs,
    global: &GlobalArgs,
    found: &Analysis,
    drawn: &[Picture],
    warnings: &[String],
) -> Result<()> {
    if let Some(path) = &arguments.report {
        let inputs: Vec<_> = arguments.input.inputs.iter().map(|path| path.display().to_string()).collect();
        let title = format!("What explains {} in {}", arguments.metric, inputs.join(", "));
        output::deliver_by("--report", &page(found, &title, drawn, warnings), path)?;
        if !global.quiet {
            output::say(format!("the report is {}.", path.display()));
        }
    }
    if let Some(folder) = &arguments.plots {
        output::new_folder(folder)?;
        for picture in drawn {
            output::deliver(&picture.file(), Some(&folder.join(format!("{}.svg", picture.name))))?;
        }
    }
    Ok(())
}

fn for_people(found: &Analysis, destination: Option<&Path>) -> String {
    let width = output::width(destination);
    let mut text = wrapped(&findings(found).join("\n"), width);
    let said = |sentence: &str| wrapped(&format!("{sentence}\n"), width);
    let mut section = |title: &str, meaning: &str, rows: &str| {
        let meaning = if meaning.is_empty() { String::new() } else { said(meaning) + "\n" };
        let _ = write!(text, "\n{}\n{meaning}{rows}", output::heading(title, destination));
    };
    let narrow = Narrow { least_needed: &["impurity importance"], ..Narrow::default() };
    section("Factors", IMPORTANCES, &fitted(&factors(found), width, narrow));
    section("Categories", "", &table(&categories(found)));
    let unseen = "Rows that the tree had not seen: their category on the left, the one that the tree named above.";
    section("Confusion matrix", unseen, &table(&confusion(found)));
    let counted = "Numbers are of rows that the tree was learnt from.";
    section("Decision tree", counted, &wrapped(&tree(found, 0, 0), width));
    if !found.notes.is_empty() {
        let _ = write!(text, "\n{}", said(&found.notes.join("\n")));
    }
    text
}

fn factors(found: &Analysis) -> Table {
    let mut order: Vec<usize> = (0..found.factors.len()).collect();
    let of = |f: usize| &found.forest.importance[f];
    order.sort_by(|&a, &b| of(b).permutation.total_cmp(&of(a).permutation));
    let header = ["factor", "permutation importance", "±", "impurity importance", "values"].map(str::to_owned).to_vec();
    let row = |f: usize| {
        let column = &found.table.columns[found.factors[f]];
        let values = match &column.values {
            Values::Numbers(values) => range(values),
            Values::Texts(_) => column.levels().join(", "),
        };
        let importance = of(f);
        let [a, b, c] = [importance.permutation, importance.deviation, importance.impurity].map(|v| format!("{v:.3}"));
        vec![column.name.clone(), a, b, c, values.chars().take(60).collect()]
    };
    Table { header, rows: order.into_iter().map(row).collect() }
}

fn range(values: &[f64]) -> String {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    format!("{} to {}", modeler::report::quantity(low, ""), modeler::report::quantity(high, ""))
}

fn categories(found: &Analysis) -> Table {
    let header = [found.table.columns[found.metric].name.clone(), "rows".into()].to_vec();
    let rows = found.categories.labels.iter().zip(found.categories.counts());
    Table { header, rows: rows.map(|(label, rows)| vec![label.clone(), rows.to_string()]).collect() }
}

fn confusion(found: &Analysis) -> Table {
    let labels = &found.categories.labels;
    let named = labels.iter().map(|l| format!("named {}", l.split(':').next().unwrap_or(l)));
    let row = |(label, counts): (&String, &Vec<usize>)| {
        std::iter::once(label.clone()).chain(counts.iter().map(usize::to_string)).collect()
    };
    Table {
        header: std::iter::once(String::new()).chain(named).collect(),
        rows: labels.iter().zip(&found.tree.confusion).map(row).collect(),
    }
}

/// The tree as indented lines, without questions whose answers change no category.
fn tree(found: &Analysis, node: usize, depth: usize) -> String {
    let here = &found.tree.tree.nodes[node];
    let indent = "  ".repeat(depth);
    let Some(split) = found.tree.tree.deciding(node) else {
        let category = here.category();
        let label = &found.categories.labels[category];
        return format!(
            "{indent}{label} ({} of {})\n",
            here.counts[category],
            output::counted(here.rows(), "row", "rows")
        );
    };
    let question = analysis::question(found, split.factor, &split.question);
    let branch = |name: &str, child: usize| format!("{indent}{question} {name}\n{}", tree(found, child, depth + 1));
    branch("yes", split.yes) + &branch("no", split.no)
}
