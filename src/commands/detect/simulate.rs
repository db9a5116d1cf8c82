//! Shows loops to llvm-mca: their bytes go through llvm-mc, which writes them as assembly, and that through llvm-mca. Both are
//! of LLVM's tools and are run as programs.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use modeler::detect::{Loop, Variant, mca};

use crate::install;

/// Loops that are simulated at most; the others are too small to matter.
const MOST: usize = 20;
/// Iterations that are simulated: enough that the first ones do not matter.
const ITERATIONS: &str = "100";

/// LLVM's tools and what they are told of an instruction set.
struct Tools {
    disassembler: PathBuf,
    simulator: PathBuf,
    triple: &'static str,
    /// Extensions that the disassembler is to know.
    extensions: &'static str,
    processor: String,
}

/// Simulates the variant's largest loops on `processor`.
pub fn loops(variant: &mut Variant, processor: Option<&str>) {
    let tools = Tools::find(&variant.instruction_set, processor);
    for looked_at in variant.loops.iter_mut().filter(|l| l.refusal.is_empty()).take(MOST) {
        let schedule = tools.as_ref().map_err(Clone::clone).and_then(|tools| tools.simulate(looked_at));
        looked_at.schedule = Some(schedule);
    }
    for looked_at in variant.loops.iter_mut().filter(|l| l.refusal.is_empty() && l.schedule.is_none()) {
        looked_at.refusal = format!("there are {MOST} larger ones");
    }
}

/// Why llvm-mca cannot simulate `processor` for any of these instruction sets, if it cannot.
pub fn refused<'a>(processor: &str, instruction_sets: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let mut reasons = Vec::new();
    for instruction_set in instruction_sets {
        match Tools::find(instruction_set, Some(processor)).and_then(|tools| tools.mca(&[], "nop\n")) {
            Ok(_) => return None,
            Err(reason) => reasons.push(reason),
        }
    }
    reasons.into_iter().next()
}

impl Tools {
    fn find(instruction_set: &str, processor: Option<&str>) -> Result<Self, String> {
        let missing = |name: &str| format!("{name} is not on the PATH (on Debian: apt install llvm-19)");
        let (triple, extensions, model) = match instruction_set {
            "x86_64" => ("x86_64-linux-gnu", "", "x86-64-v3"),
            "aarch64" => ("aarch64-linux-gnu", "-mattr=+all", "neoverse-v2"),
            "riscv64" => ("riscv64-linux-gnu", "-mattr=+m,+a,+f,+d,+c", "sifive-p670"),
            other => return Err(format!("there is no model for {other}")),
        };
        let model = if instruction_set == std::env::consts::ARCH { "native" } else { model };
        Ok(Self {
            disassembler: install::llvm_tool("llvm-mc").ok_or_else(|| missing("llvm-mc"))?,
            simulator: install::llvm_tool("llvm-mca").ok_or_else(|| missing("llvm-mca"))?,
            triple,
            extensions,
            processor: processor.unwrap_or(model).to_owned(),
        })
    }

    fn simulate(&self, looked_at: &Loop) -> Result<mca::Schedule, String> {
        let hexadecimal = |bytes: &Vec<u8>| bytes.iter().map(|b| format!("0x{b:02x}")).collect::<Vec<_>>().join(" ");
        let bytes: Vec<String> = looked_at.code.iter().map(hexadecimal).collect();
        let triple = format!("--triple={}", self.triple);
        let mut arguments = vec!["--disassemble", &triple];
        arguments.extend((!self.extensions.is_empty()).then_some(self.extensions));
        let assembly = through(&self.disassembler, &arguments, &bytes.join("\n"))?;
        let most = format!("-timeline-max-iterations={ITERATIONS}");
        let json = self.mca(&["-json", "-timeline", &most, "-timeline-max-cycles=0"], &assembly)?;
        let text = self.mca(&["-bottleneck-analysis"], &assembly)?;
        let aliased = self.mca(&["-json", "-noalias=false"], &assembly)?;
        mca::read(&json, &text, &aliased, &looked_at.certain)
    }

    /// What llvm-mca prints of this assembly.
    fn mca(&self, options: &[&str], assembly: &str) -> Result<String, String> {
        let triple = format!("-mtriple={}", self.triple);
        let processor = format!("-mcpu={}", self.processor);
        let iterations = format!("-iterations={ITERATIONS}");
        let common = [triple.as_str(), &processor, &iterations];
        through(&self.simulator, &[&common[..], options].concat(), assembly)
    }
}

/// What a program prints that reads `input`.
fn through(program: &Path, arguments: &[&str], input: &str) -> Result<String, String> {
    let failed = |what: &dyn std::fmt::Display| format!("{}: {what}", program.display());
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| failed(&e))?;
    let mut stdin = child.stdin.take().ok_or_else(|| failed(&"it has no input"))?;
    let text = input.to_owned();
    // Beside it, since it may print before it has read all.
    let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
    let output = child.wait_with_output().map_err(|e| failed(&e))?;
    // A program that does not read to its end says why.
    let _ = writer.join();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    // A processor that it does not know it leaves out, and goes on.
    let unknown = said.lines().find(|line| line.contains("not a recognized processor"));
    if output.status.success() && unknown.is_none() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let error = unknown.or(said.lines().find(|line| line.contains("error"))).or(said.lines().next());
    Err(failed(&error.unwrap_or("it failed").trim()))
}
