//! Generates MPI programs of known complexity, and the truth to test performance modelers against.
//!
//! A specification (TOML, [`Spec`]) names functions, each made of loops whose trip counts follow given laws of the
//! execution parameters, and of MPI operations whose message sizes do. From it [`generate`] makes one C++17 file that
//! stands alone, a CMake file, and the [`Truth`]: for each call path what it executes and moves, exactly and as growth.
//! [`score`] measures how far a model is from it. After the seed paper "Denoising Application Performance Models with
//! Noise-Resilient Priors", sections IV and V.
//!
//! ```
//! let spec = benchgen::Spec::parse(benchgen::DEMO_SPEC, "demo.toml")?;
//! let generated = benchgen::generate(&spec);
//! let nested = generated.truth.find(&["main", "nested"]).unwrap();
//! let point = benchgen::Point::from([("p".into(), 8.0), ("n".into(), 1000.0)]);
//! let iterations = nested.iterations.as_ref().unwrap();
//! assert_eq!(iterations.exact_at(&point), Ok(1000 + 1000 * 8));
//! # Ok::<(), benchgen::SpecError>(())
//! ```

mod check;
pub mod complexity;
pub mod decomposition;
mod distinct;
mod draw;
pub mod law;
mod memory;
mod names;
pub mod operation;
mod read;
pub mod score;
mod source;
pub mod spec;
pub mod truth;

pub use complexity::{Complexity, Point};
pub use memory::{Memory, memory_at};
pub use source::Language;
pub use spec::{Spec, SpecError};
pub use truth::Truth;

/// The specification that `poise demo` runs.
pub const DEMO_SPEC: &str = include_str!("../specs/demo.toml");

/// A program and what is known of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Generated {
    /// Name of the source file, which the CMake file expects.
    pub file: String,
    /// The program, one file that stands alone.
    pub source: String,
    /// `CMakeLists.txt` that builds it.
    pub cmake: String,
    /// The truth about its call paths.
    pub truth: Truth,
}

/// The C++ program of a specification. The same specification and version give the same bytes.
#[must_use]
pub fn generate(spec: &Spec) -> Generated {
    generate_in(spec, Language::Cpp)
}

/// The program of a specification in a language; the truth is the same in all.
#[must_use]
pub fn generate_in(spec: &Spec, language: Language) -> Generated {
    Generated {
        file: format!("{}.{}", spec.name, language.extension()),
        source: source::program(spec, language),
        cmake: source::cmake(spec, language),
        truth: Truth::of(spec),
    }
}
