//! Writes the program, CMake file and truth of a specification into a folder: `write SPEC.toml FOLDER`.

use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [spec, folder] = arguments.as_slice() else { return Err("usage: write SPEC.toml FOLDER".into()) };
    let spec = benchgen::Spec::parse(&std::fs::read_to_string(spec)?, spec)?;
    let generated = benchgen::generate(&spec);
    let folder = Path::new(folder);
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join(format!("{}.cpp", spec.name)), generated.source)?;
    std::fs::write(folder.join("CMakeLists.txt"), generated.cmake)?;
    generated.truth.save(&folder.join(format!("{}.truth.json", spec.name)))?;
    Ok(())
}
