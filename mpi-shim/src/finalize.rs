//! The end of a run: the ranks' profiles become one on the way up a binomial tree, and rank 0 writes it. Here, and
//! only here, the library communicates, just before MPI_Finalize: the ranks meet on MPI_COMM_WORLD, then talk on a
//! communicator of the library's own.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use poise_profile::{Profile, ProfileError};

use crate::library::{self, Family, Handle, Int, SUCCESS, family};
use crate::runtime::{self, say};
use crate::{coroutines, launch, meeting, waiting};

/// Whether the program has ended MPI.
static OVER: AtomicBool = AtomicBool::new(false);

/// Whether the program has ended MPI, and what there is of a profile is out of this library's hands.
pub fn is_over() -> bool {
    OVER.load(Ordering::Relaxed)
}

/// Any tag: nobody else uses the communicator.
const TAG: Int = 1;

/// Brings this rank's profile to rank 0, which writes the run's. Says on standard error what failed; never more.
pub fn write_profile() {
    let Some(family) = family() else { return };
    let (mut initialised, mut finalised) = (0, 0);
    // SAFETY: both may be asked at any time.
    unsafe {
        library::initialized(&mut initialised);
        library::finalized(&mut finalised);
    }
    if initialised == 0 || finalised != 0 {
        return; // MPI_Finalize will say so.
    }
    OVER.store(true, Ordering::Relaxed);
    let (rank, size) = place(family.world);
    if family.has_coroutines {
        let profile = runtime::take_coroutine(rank).and_then(|bytes| own(&bytes, rank));
        if let Some(all) = coroutines::collect(profile, size, merge)
            && write(all, size)
        {
            runtime::profile_is_written();
        }
        return;
    }
    if launch::is_alone_by_mistake(family) || !everybody_is_here(family) {
        return;
    }
    waiting::end(family);
    let Some(world) = World::new(family, rank, size) else {
        runtime::fail("MPI_Comm_split of MPI_COMM_WORLD failed");
        return;
    };
    let is_written = world.reduce().is_some_and(|profile| write(profile, size));
    if world.tell(is_written) {
        runtime::profile_is_written();
    }
    world.free();
}

fn everybody_is_here(family: &Family) -> bool {
    let here = meeting::everybody_is_here(family);
    if let Err(seconds) = here {
        runtime::fail(&format!(
            "no answer from some ranks for {seconds:.0} s in MPI_Finalize: they are not measured, or still at work \
             (LD_PRELOAD and POISE_PROFILE must reach every rank; POISE_FINALIZE_SECONDS sets how long to wait)"
        ));
    }
    here.is_ok()
}

/// This process's rank in `comm`, and its number of ranks.
pub fn place(comm: Handle) -> (u32, u32) {
    let (mut rank, mut size) = (0, 0);
    // SAFETY: MPI runs, and callers pass valid communicators.
    unsafe {
        library::comm_rank(comm, &mut rank);
        library::comm_size(comm, &mut size);
    }
    (rank.unsigned_abs(), size.unsigned_abs())
}

/// The ranks of the run, on the library's own communicator.
struct World {
    family: &'static Family,
    comm: Handle,
    rank: u32,
    size: u32,
}

impl World {
    /// Makes the communicator. Not a duplicate of MPI_COMM_WORLD: that would copy the program's attributes, and freeing
    /// it delete them, by functions of the program's. Errors on it are returned, whatever the program wants of its own.
    fn new(family: &'static Family, rank: u32, size: u32) -> Option<Self> {
        let mut comm: Handle = 0;
        // SAFETY: every rank is here, since they met.
        unsafe {
            if library::comm_split(family.world, 0, rank as Int, &mut comm) != SUCCESS {
                return None;
            }
            library::comm_set_errhandler(comm, family.errors_return);
        }
        Some(Self { family, comm, rank, size })
    }

    fn free(mut self) {
        // SAFETY: the communicator is ours, and nothing is under way on it.
        unsafe { library::comm_free(&mut self.comm) };
    }

    /// Merges the profiles of the ranks below this one in the tree, and sends the result up. At rank 0, returns it.
    fn reduce(&self) -> Option<Profile> {
        let mut profile = self.own();
        let mut step = 1;
        while step < self.size && self.rank & step == 0 {
            if self.rank + step < self.size {
                profile = merge(profile, self.receive(self.rank + step));
            }
            step *= 2;
        }
        if self.rank == 0 {
            return profile;
        }
        self.send(self.rank - step, profile);
        None
    }

    /// Brings down the tree what rank 0 says, and nobody else: whether every rank's profile is on disk. What does not arrive
    /// is a no.
    fn tell(&self, word: bool) -> bool {
        let mut word = [u8::from(word && self.rank == 0)];
        let mut step: u32 = 1;
        while step < self.size && self.rank & step == 0 {
            step *= 2;
        }
        if self.rank != 0 {
            let mut status = [0_u64; 3];
            let (from, status) = ((self.rank - step) as Int, status.as_mut_ptr().cast());
            // SAFETY: the status has room for either family's; the sender sends one byte.
            unsafe { library::recv(word.as_mut_ptr(), 1, self.family.byte, from, TAG, self.comm, status) };
        }
        while step > 1 {
            step /= 2;
            if self.rank + step < self.size {
                let to = (self.rank + step) as Int;
                // SAFETY: the byte is there, and the receiver waits for it.
                unsafe { library::send(word.as_ptr(), 1, self.family.byte, to, TAG, self.comm) };
            }
        }
        word[0] != 0
    }

    fn own(&self) -> Option<Profile> {
        own(&runtime::take_profile(self.rank)?, self.rank)
    }

    /// Sends a profile, or nothing for none.
    fn send(&self, to: u32, profile: Option<Profile>) {
        let bytes = profile.map(|profile| profile.encode()).unwrap_or_default();
        let length = Int::try_from(bytes.len()).unwrap_or_else(|_| {
            say(&format!("the profiles that rank {} collected are lost: they have more than 2^31 bytes.", self.rank));
            0
        });
        // SAFETY: the bytes are there, and the receiver waits for them.
        unsafe { library::send(bytes.as_ptr(), length, self.family.byte, to as Int, TAG, self.comm) };
    }

    fn receive(&self, from: u32) -> Option<Profile> {
        let mut status = [0_u64; 3];
        let mut length = 0;
        let (status, byte, from_rank) = (status.as_mut_ptr().cast(), self.family.byte, from as Int);
        // SAFETY: the status has room for either family's, and the buffer for what the probe announced.
        let bytes = unsafe {
            library::probe(from_rank, TAG, self.comm, status);
            library::bytes_of(self.family, status, &mut length);
            let mut bytes = vec![0_u8; usize::try_from(length).unwrap_or(0)];
            library::recv(bytes.as_mut_ptr(), length as Int, byte, from_rank, TAG, self.comm, status);
            bytes
        };
        if bytes.is_empty() { None } else { decode(&bytes, from) }
    }
}

/// The profile of rank `rank` with what only one rank says, or every value would be there as often as there are ranks.
fn own(bytes: &[u8], rank: u32) -> Option<Profile> {
    let mut profile = decode(bytes, rank)?;
    if rank == 0 {
        profile.metadata.insert("mpi_library".into(), library_version());
        if waiting::drift() > 0 {
            profile.metadata.insert("clock_drift_ns".into(), waiting::drift().to_string());
        }
    }
    Some(profile)
}

/// What was said as MPI began of why the profile cannot be written.
static FORESEEN: OnceLock<String> = OnceLock::new();

/// MPI has begun: rank 0 looks whether it could write the profile, and says so if not, before a long run is lost for it. The run goes on, and so
/// does what is measured, since what is in the way may be gone by its end; where it is not, that is not said again.
pub fn look_ahead(family: &Family) {
    let path = runtime::output_path().filter(|_| place(family.world).0 == 0);
    if let Some(Err(error)) = path.map(poise_profile::can_be_written) {
        say(FORESEEN.get_or_init(|| failure(&error)));
    }
}

fn failure(error: &ProfileError) -> String {
    format!("{error}; this run has no profile.")
}

/// Writes the profile of all `size` ranks. Whether it is on disk with every one of them.
fn write(mut profile: Profile, size: u32) -> bool {
    let Some(path) = runtime::output_path() else { return false };
    let is_whole = profile.ranks == size;
    if !is_whole {
        say(&format!("the profile holds {} of {size} ranks.", profile.ranks));
    }
    profile.metadata.insert("ranks".into(), size.to_string());
    if let Err(error) = profile.write(&path) {
        let line = failure(&error);
        if FORESEEN.get() != Some(&line) {
            say(&line);
        }
        error.leave_word(&path, &line);
        return false;
    }
    is_whole
}

fn merge(one: Option<Profile>, other: Option<Profile>) -> Option<Profile> {
    match (one, other) {
        (Some(mut one), Some(other)) => {
            if let Err(error) = one.merge(other) {
                say(&format!("the profiles of some ranks are lost, for they do not merge: {error}."));
            }
            Some(one)
        }
        (one, other) => one.or(other),
    }
}

fn decode(bytes: &[u8], rank: u32) -> Option<Profile> {
    Profile::decode(bytes)
        .inspect_err(|error| say(&format!("the profile of rank {rank} is lost, for it cannot be read: {error}.")))
        .ok()
}

/// First line of what the MPI library says of itself.
fn library_version() -> String {
    // The largest MPI_MAX_LIBRARY_VERSION_STRING of the families, which is MPICH's.
    let mut text = vec![0_u8; 8192];
    let mut length = 0;
    // SAFETY: there is room for the longest text.
    unsafe { library::get_library_version(text.as_mut_ptr(), &mut length) };
    let text = String::from_utf8_lossy(&text[..usize::try_from(length).unwrap_or(0).min(text.len())]).into_owned();
    text.trim_end_matches('\0').lines().next().unwrap_or_default().trim().to_string()
}
