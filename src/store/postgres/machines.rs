//! The machines of a cluster, and how many statements wait for each.
//!
//! A machine that hangs keeps its connections and answers nothing: what waits for it would wait for
//! ever, on a thread of this program and on a process of the coordinator that no cancellation
//! reaches. So only a few statements wait for one machine at a time. When they have waited for some
//! time, no other joins them, until one of them is answered.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::store::{Error, Result};

/// How many statements may wait for one machine: half of those that `serve` has at the same time.
const MOST_WAITING: usize = 4;

/// How many statements may wait for all machines, of which one may be the same.
const MOST_WAITING_FOR_ALL: usize = 2;

/// After how long a machine that answers none of them gets no other.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);

/// A machine that has datasets.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Machine {
    /// The one at an address.
    At(String),
    /// Any of them, for a statement that asks all.
    Any,
}

/// The machines of a cluster.
#[derive(Default)]
pub(super) struct Machines {
    state: Mutex<State>,
    answered: Condvar,
}

#[derive(Default)]
struct State {
    /// Where datasets are, as far as it is known.
    places: HashMap<i64, Machine>,
    /// Since when each statement has waited.
    waiting: HashMap<Machine, Vec<Instant>>,
}

/// A statement that waits for a machine, until this is dropped.
pub(super) struct Waiting {
    machines: Arc<Machines>,
    machine: Machine,
    since: Instant,
}

impl Machine {
    fn most(&self) -> usize {
        match self {
            Machine::At(_) => MOST_WAITING,
            Machine::Any => MOST_WAITING_FOR_ALL,
        }
    }
}

impl Machines {
    /// The machine that has a dataset, which `find` finds if it is not known.
    pub fn of_dataset(
        &self,
        dataset_id: i64,
        find: impl FnOnce() -> Result<Machine>,
    ) -> Result<Machine> {
        if let Some(known) = self.state().places.get(&dataset_id) {
            return Ok(known.clone());
        }
        let machine = find()?;
        self.state().places.insert(dataset_id, machine.clone());
        Ok(machine)
    }

    /// Forgets where datasets are: they may have moved.
    pub fn forget_places(&self) {
        self.state().places.clear();
    }

    /// Begins to wait for a machine.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::ConnectionLost`]: others have waited for too long.
    pub fn wait_for(self: &Arc<Self>, machine: &Machine) -> Result<Waiting> {
        let mut state = self.state();
        loop {
            let since = Instant::now();
            let waiting = state.waiting.entry(machine.clone()).or_default();
            let Some(first) = waiting.iter().min().filter(|_| waiting.len() >= machine.most())
            else {
                waiting.push(since);
                return Ok(Waiting { machines: Arc::clone(self), machine: machine.clone(), since });
            };
            let waited = since.saturating_duration_since(*first);
            let Some(left) = PATIENCE.checked_sub(waited).filter(|left| !left.is_zero()) else {
                let which = match machine {
                    Machine::At(address) => format!("the machine {address}"),
                    Machine::Any => "a machine of the cluster".to_owned(),
                };
                let what = format!("{which} has not answered for {} seconds", waited.as_secs());
                return Err(Error::connection_lost(what));
            };
            let waited = self.answered.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// A panic cannot leave this in an inconsistent state, so a poisoned lock is used as well.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(waiting) = self.machines.state().waiting.get_mut(&self.machine)
            && let Some(own) = waiting.iter().position(|since| *since == self.since)
        {
            waiting.swap_remove(own);
        }
        self.machines.answered.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_answers_nobody_gets_no_further_statement_until_it_answers() {
        let machines = Arc::<Machines>::default();
        let (hung, other) =
            (Machine::At("db1:5432".to_owned()), Machine::At("db2:5432".to_owned()));
        let mut waiting: Vec<_> =
            (0..MOST_WAITING).map(|_| machines.wait_for(&hung).unwrap()).collect();
        let began = Instant::now();
        let refused = machines.wait_for(&hung).err().unwrap().to_string();
        assert!(refused.contains("db1:5432 has not answered for 2 seconds"), "{refused}");
        assert!(began.elapsed() < PATIENCE * 2);
        // The next is refused at once, and nobody else waits.
        let began = Instant::now();
        assert!(machines.wait_for(&hung).is_err());
        drop(machines.wait_for(&other).unwrap());
        assert!(began.elapsed() < PATIENCE / 2);
        waiting.pop();
        assert!(machines.wait_for(&hung).is_ok());

        // What waits for all of them does not keep others from those that answer.
        let all: Vec<_> =
            (0..MOST_WAITING_FOR_ALL).map(|_| machines.wait_for(&Machine::Any).unwrap()).collect();
        assert!(machines.wait_for(&Machine::Any).is_err());
        assert!(machines.wait_for(&other).is_ok());
        drop((all, waiting));
    }

    #[test]
    fn a_machine_that_is_busy_is_waited_for() {
        let machines = Arc::<Machines>::default();
        let mut waiting: Vec<_> =
            (0..MOST_WAITING_FOR_ALL).map(|_| machines.wait_for(&Machine::Any).unwrap()).collect();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(50));
                waiting.pop();
            });
            assert!(machines.wait_for(&Machine::Any).is_ok());
        });
    }
}
