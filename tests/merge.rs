//! `poise merge`: checkpoints of ranks that were killed become one profile.

mod common;

use std::time::{Duration, Instant};

use common::World;
use poise_profile::{Metric, Profile};

/// Works a given number of times, says so, and goes on until it is killed.
const PROGRAM: &str = "#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static volatile int sum;
__attribute__((noinline)) void work(int n) { for (int i = 0; i < n; i++) sum = i; }
int main(int c, char **v) { for (int i = 0; i < atoi(v[1]); i++) work(i); puts(\"done\"); fflush(stdout); for (;;) usleep(1000); }
";

fn visits(profile: &Profile) -> u128 {
    let works = |node: &u32| profile.path(*node).unwrap().last().unwrap().name == "work";
    let nodes = (0..profile.nodes.len() as u32).filter(works);
    nodes.map(|node| profile.values[&(node, Metric::Visits)].sum).sum()
}

#[test]
fn checkpoints_of_killed_ranks_become_one_profile() {
    let world = World::new();
    world.write("app.c", PROGRAM);
    world.poise(["cc", "-O1", "app.c", "-o", "app"]).status(0);
    let calls = [30_u128, 12];
    let mut ranks: Vec<_> = (0..2)
        .map(|rank| {
            let mut command = world.command("./app", [calls[rank].to_string()]);
            command.env("POISE_PROFILE", world.path("run.poise")).env("POISE_CHECKPOINT", "0.05");
            command.env("OMPI_COMM_WORLD_RANK", rank.to_string()).stdout(std::process::Stdio::null());
            command.spawn().unwrap()
        })
        .collect();
    let files = [0, 1].map(|rank| format!("run.poise.checkpoint.{rank}"));
    let is_whole =
        |rank: usize| Profile::read(world.path(&files[rank])).is_ok_and(|profile| visits(&profile) == calls[rank]);
    let limit = Instant::now() + Duration::from_secs(120);
    while !(is_whole(0) && is_whole(1)) {
        assert!(Instant::now() < limit, "no checkpoint of both ranks holds all calls");
        std::thread::sleep(Duration::from_millis(20));
    }
    for rank in &mut ranks {
        rank.kill().unwrap();
        rank.wait().unwrap();
    }
    world.poise(["merge", &files[0], &files[1], "-o", "all.poise"]).status(0);
    let merged = Profile::read(world.path("all.poise")).unwrap();
    assert_eq!((merged.ranks, visits(&merged)), (2, calls.iter().sum()));
    assert!(merged.metadata.contains_key("partial"), "{:?}", merged.metadata);
    // A rank counts once.
    for twice in [[&files[0], &files[0]], [&files[1], &"all.poise".to_owned()]] {
        let refused = world.poise(["merge", twice[0], twice[1], "-o", "twice.poise"]).status(3);
        let rank = if twice[0] == &files[0] { "Rank 0" } else { "Rank 1" };
        assert!(refused.stderr.contains(rank) && refused.stderr.contains(twice[1].as_str()), "{}", refused.stderr);
    }
    let mut other = Profile::read(world.path(&files[1])).unwrap();
    other.metadata.insert("parameter.n".into(), "12".into());
    other.write(world.path("other.poise")).unwrap();
    let refused = world.poise(["merge", &files[0], "other.poise", "-o", "twice.poise"]).status(3);
    assert!(refused.stderr.contains("n=12") && !world.path("twice.poise").exists(), "{}", refused.stderr);
    // What is there is kept, and what is no profile is told.
    let again = world.poise(["merge", &files[0], "-o", "all.poise"]).status(2);
    assert!(again.stderr.contains("all.poise"), "{}", again.stderr);
    let wrong = world.poise(["merge", "app.c", "-o", "new.poise"]).status(3);
    assert!(wrong.stderr.contains("app.c"), "{}", wrong.stderr);
    assert!(!world.path("new.poise").exists());
}
