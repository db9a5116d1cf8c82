//! Programs of SimGrid's SMPI behind `poise run -- smpirun`, which are linked with the shim, and by whom nothing may be preloaded.

mod common;

use std::path::Path;
use std::process::Command;

use common::{World, has_smpi, outcome};
use poise_profile::{Metric, Profile};

/// Each of the ranks sends 1000 bytes to the next in a ring, four times, and they add up one number.
const RING: &str = "#include <mpi.h>
int main(int c, char **v) {
    int rank, size, sum; static char to[1000], from[1000]; MPI_Request r[2];
    MPI_Init(&c, &v); MPI_Comm_rank(MPI_COMM_WORLD, &rank); MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 4; i++) {
        MPI_Irecv(from, 1000, MPI_BYTE, (rank + size - 1) % size, 0, MPI_COMM_WORLD, r);
        MPI_Isend(to, 1000, MPI_BYTE, (rank + 1) % size, 0, MPI_COMM_WORLD, r + 1);
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    }
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return sum != size * (size - 1) / 2;
}
";

const RANKS: u64 = 8;

/// The program, compiled with `poise cc` as `linked` and with SimGrid's compiler as `plain`, beside a platform.
fn ring() -> Option<World> {
    if !has_smpi() {
        return None;
    }
    let world = World::new();
    world.write("ring.c", RING);
    world.write(
        "platform.xml",
        "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n<platform version=\"4.1\"><cluster \
         id=\"machine\" prefix=\"n\" suffix=\"\" radical=\"0-7\" speed=\"1Gf\" bw=\"1e9Bps\" lat=\"1e-6s\"/></platform>\n",
    );
    let shown = Command::new("smpicc").arg("-show").output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    let words: Vec<&str> = shown.split_whitespace().skip(1).collect();
    let source = ["ring.c", "-o"];
    world.poise([&["cc"], &words[..], &source, &["linked"]].concat()).status(0);
    outcome(world.command("smpicc", [&source[..], &["plain"]].concat()).output().unwrap()).status(0);
    Some(world)
}

fn simulate(name: &str) -> [&str; 7] {
    ["smpirun", "-np", "8", "-platform", "platform.xml", "--log=root.thres:critical", name]
}

#[test]
fn what_is_linked_is_measured_with_waiting_as_well() {
    let Some(mut world) = ring() else { return };
    world.set("POISE_WAITING", "1");
    world.poise([&["run", "-o", "r", "--"], &simulate("./linked")[..]].concat()).status(0);
    let profile = Profile::read(world.path("r/profile.poise")).unwrap();
    assert_eq!(u64::from(profile.ranks), RANKS);
    let calls = |name: &str, metric| -> u128 {
        let is = |node: u32| profile.path(node).unwrap().last().unwrap().name == name;
        profile
            .values
            .iter()
            .filter(|((node, m), _)| *m == metric && is(*node))
            .map(|(_, over_ranks)| over_ranks.sum)
            .sum()
    };
    let each = |times: u64| u128::from(RANKS * times);
    let visits =
        ["MPI_Init", "MPI_Irecv", "MPI_Isend", "MPI_Waitall", "MPI_Allreduce"].map(|name| calls(name, Metric::Visits));
    assert_eq!(visits, [1, 4, 4, 4, 1].map(each));
    assert_eq!(calls("MPI_Isend", Metric::BytesSent), each(4000));
    assert_eq!(calls("MPI_Waitall", Metric::BytesReceived), each(4000));
}

#[test]
fn what_is_not_linked_is_told() {
    let Some(mut world) = ring() else { return };
    let said = world.poise([&["run", "-o", "r", "--"], &simulate("./plain")[..]].concat()).stderr;
    assert!(said.contains("SimGrid's SMPI runs programs into which nothing can be preloaded"), "{said}");
    assert!(!world.path("r/profile.poise").exists());
    // A study starts the simulator itself.
    world.write("s.toml", "executor = \"smpi\"\ncommand = [\"./plain\", \"{p}\"]\n[parameters]\np = [8]\n");
    let study = world.poise(["run", "s.toml"]).status(5).stderr;
    assert!(study.contains("SimGrid's SMPI runs programs into which nothing can be preloaded"), "{study}");
    // Preloaded by hand the shim says so itself, and the program goes on.
    world.set("POISE_PROFILE", world.path("p.poise").to_str().unwrap());
    let libraries = Path::new(env!("CARGO_BIN_EXE_poise")).with_file_name("");
    let preload =
        ["libpoise_runtime.so", "libpoise_mpi.so"].map(|name| libraries.join(name).display().to_string()).join(":");
    let mut command = world.command("smpirun", &simulate("./plain")[1..]);
    let by_hand = outcome(command.env("LD_PRELOAD", preload).output().unwrap()).status(0);
    assert_eq!(by_hand.stderr.matches("are not measured by preloading").count(), 1, "{}", by_hand.stderr);
    assert!(!world.path("p.poise").exists());
}
