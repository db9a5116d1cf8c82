//! `poise run` on a real Slurm cluster: values that arrive as written, geometry, jobs that outlive the call that
//! submitted them, and what happens to jobs that cannot run or are taken away.

mod basics;
#[path = "../common/cluster.rs"]
mod cluster;
#[path = "../common/mod.rs"]
mod common;
mod ends;
mod order;
mod waiting;

use cluster::Cluster;
use common::World;

fn on(cluster: &Cluster) -> World {
    let mut world = World::new();
    world.set("SLURM_CONF", &cluster.configuration());
    world
}

// One cluster for all of a kind, since starting it takes longer than what is asked of it; several kinds, since mostly they wait.

#[test]
fn studies_run_as_jobs() {
    let cluster = Cluster::start();
    basics::values_arrive_as_written(&cluster);
    basics::ranks_are_placed_as_asked(&cluster);
    basics::runs_that_follow_each_other_are_not_told_as_simultaneous(&cluster);
    basics::the_time_left_is_that_of_jobs_beside_each_other(&cluster);
    basics::jobs_outlive_the_call(&cluster);
    basics::arrays_are_as_long_as_the_cluster_takes(&cluster);
}

#[test]
fn repetitions_keep_their_order() {
    let cluster = Cluster::start();
    order::one_repetition_follows_the_other(&cluster);
    order::a_repetition_waits_by_as_many_dependencies_as_jobs(&cluster);
    order::a_point_that_failed_leaves_the_queue_and_the_order_stays(&cluster);
    order::a_later_call_knows_for_which_jobs_others_wait(&cluster);
    order::what_waits_for_an_array_that_was_cancelled_begins(&cluster);
    order::what_is_cancelled_lets_nothing_overtake_what_was_before_it(&cluster);
    order::what_leads_a_repetition_may_be_cancelled(&cluster);
}

#[test]
fn jobs_that_fail_or_do_not_begin_are_told() {
    let mut cluster = Cluster::start();
    ends::a_line_of_the_preamble_that_fails_is_told(&cluster);
    waiting::jobs_that_may_wait_for_ever_are_told(&cluster);
    ends::ranks_of_srun_that_wait_for_each_other_hang(&cluster);
    ends::a_rank_that_a_signal_kills_is_told(&cluster);
    ends::what_cannot_run_is_told(&cluster);
    waiting::submit_limits_are_waited_for(&cluster);
    waiting::what_sbatch_waits_for_is_told_and_can_be_interrupted(&cluster);
    waiting::a_job_whose_sbatch_was_interrupted_is_taken_up(&cluster);
    waiting::a_job_of_which_sbatch_had_no_answer_is_made_once(&cluster);
    waiting::an_outage_of_the_controller_is_told_once(&mut cluster);
    // The controller remembers it, since nothing keeps accounts.
    assert!(cluster.command("sacct", &[]).is_empty());
    let (found, _) = ends::ends_of_jobs(&cluster, &["failed", "killed"], &|_, _| ());
    let expected = [
        ("failed", "cannot-start", "(FAILED, status 7)"),
        ("killed", "signal", "9 (SIGKILL), perhaps for want of memory"),
    ];
    assert_eq!(found, expected.map(|(k, c, r)| (k.into(), c.into(), r.into())));
}

/// What accounts alone can know: the commands that ask the controller for jobs that have ended are not there.
#[test]
fn accounts_tell_how_jobs_ended_that_left_nothing() {
    let cluster = Cluster::start_with_accounts();
    waiting::arrays_that_never_began_are_told(&cluster);
    ends::a_step_without_memory_is_told_where_the_launcher_does_not(&cluster);
    let kinds = ["completed", "failed", "memory", "killed", "cancelled", "node", "timeout"];
    let (found, jobs) = ends::ends_of_jobs(&cluster, &kinds, &|kind, job| match kind {
        "cancelled" => drop(cluster.command("scancel", &[job])),
        "timeout" => drop(cluster.command("scontrol", &["update", &format!("JobId={job}"), "TimeLimit=0"])),
        "node" => drop(cluster.command("scontrol", &["update", "NodeName=n4", "State=DOWN", "Reason=dead"])),
        _ => {}
    });
    let expected = [
        ("completed", "cannot-start", "(COMPLETED)"),
        ("failed", "cannot-start", "(FAILED, status 7)"),
        ("memory", "out-of-memory", "ended its job for want of memory"),
        ("killed", "signal", "9 (SIGKILL), perhaps for want of memory"),
        ("cancelled", "killed-by-launcher", "was cancelled"),
        ("node", "node-failed", "A node of its job failed"),
        ("timeout", "time-limit", "at the time limit"),
    ];
    assert_eq!(found, expected.map(|(k, c, r)| (k.into(), c.into(), r.into())));
    // By another question, what Slurm itself has in its books.
    let states = ["COMPLETED", "FAILED", "FAILED", "FAILED", "CANCELLED", "NODE_FAIL", "TIMEOUT"];
    for (job, state) in jobs.iter().zip(states) {
        let line = cluster.command("sacct", &["--noheader", "--allocations", "--format=State%20", "--jobs", job]);
        assert!(line.starts_with(state), "{job}: {line}, not {state}");
    }
    for job in &jobs[2..4] {
        let line = cluster.command("sacct", &["--noheader", "--allocations", "--format=ExitCode", "--jobs", job]);
        assert_eq!(line, "0:9", "what uses too much memory looks like what somebody kills");
    }
}
