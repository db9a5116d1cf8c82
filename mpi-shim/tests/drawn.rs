//! Operations with drawn counts, types, roots and communicators: what the profile has of each function is what `programs/drawn.c` has worked out from the blocks that go
//! from rank to rank.

mod common;

use common::{BOTH, Checked, Mode, Run};

#[test]
fn drawn_operations_move_what_the_program_says() {
    for mpi in BOTH {
        for ranks in 1..=9 {
            let run = Run::with("drawn", &[&ranks.to_string(), "400"], mpi, ranks, Mode::Measured);
            let functions = Checked::of(&run, "drawn", mpi, ranks).expect_ledger(&run.stdout);
            // Sixteen collective operations, blocking and not, the four of messages.
            assert_eq!(functions, 2 * 16 + 4, "{}", run.stdout);
        }
    }
}
