//! A machine of a cluster that can fail. A proxy in front of it forwards what the other machines send, or
//! breaks their connections.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex};

use crate::listener::listen;
use crate::server::Server;

/// A machine, as the other machines reach it.
#[derive(Debug)]
pub struct Machine {
    address: String,
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    now: Mutex<Now>,
}

#[derive(Debug, Default)]
struct Now {
    is_down: bool,
    /// A command at which the machine fails, and whether it still receives the command.
    lost_at: Option<(&'static str, bool)>,
    /// The number of times that it failed at a command.
    losses: u32,
    connections: Vec<TcpStream>,
}

impl Now {
    fn break_connections(&mut self) {
        for connection in self.connections.drain(..) {
            let _ = connection.shutdown(Shutdown::Both);
        }
    }
}

impl Server {
    /// Creates an empty database on every machine of the cluster, with a [`Machine`] in front of each except
    /// the coordinator. Returns its URL at the coordinator.
    pub fn new_cluster_database_on_machines(&self) -> (String, Vec<Machine>) {
        let mut machines = Vec::new();
        let url = self.new_database_on(|address| {
            let machine = Machine::before(address);
            let address = machine.address.clone();
            machines.push(machine);
            address
        });
        (url, machines)
    }
}

impl Machine {
    /// Starts a proxy in front of the machine at an address.
    pub fn before(machine: &str) -> Self {
        let state = Arc::<State>::default();
        let (machine, shared) = (machine.to_owned(), Arc::clone(&state));
        let address = listen(move |client| shared.pass_both_ways(client, &machine));
        Machine { address, state }
    }

    /// The address at which the other machines reach it.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Breaks all connections, and accepts no more.
    pub fn go_down(&self) {
        let mut now = self.state.now.lock().unwrap();
        now.is_down = true;
        now.break_connections();
    }

    /// Accepts connections again.
    pub fn come_up(&self) {
        self.state.now.lock().unwrap().is_down = false;
    }

    /// Goes down when another machine sends a command. `has_it` says whether the command is forwarded first.
    pub fn go_down_at(&self, command: &'static str, has_it: bool) {
        self.state.now.lock().unwrap().lost_at = Some((command, has_it));
    }

    /// The number of times that it went down at a command.
    pub fn losses(&self) -> u32 {
        self.state.now.lock().unwrap().losses
    }
}

impl State {
    fn pass_both_ways(self: &Arc<Self>, client: TcpStream, machine: &str) {
        let mut now = self.now.lock().unwrap();
        if now.is_down {
            return;
        }
        let server = TcpStream::connect(machine).unwrap();
        let clone = |stream: &TcpStream| stream.try_clone().unwrap();
        now.connections.extend([clone(&client), clone(&server)]);
        for (from, to, is_sent) in [(clone(&client), clone(&server), true), (server, client, false)]
        {
            let state = Arc::clone(self);
            std::thread::spawn(move || state.pass(from, to, is_sent));
        }
    }

    fn pass(&self, mut from: TcpStream, mut to: TcpStream, is_sent: bool) {
        let mut buffer = [0; 65_536];
        while let Ok(read @ 1..) = from.read(&mut buffer) {
            let bytes = &buffer[..read];
            let mut now = self.now.lock().unwrap();
            let lost_at = now.lost_at.take_if(|(command, _)| {
                is_sent && bytes.windows(command.len()).any(|window| window == command.as_bytes())
            });
            let Some((_, has_it)) = lost_at else {
                drop(now);
                if to.write_all(bytes).is_err() {
                    break;
                }
                continue;
            };
            now.is_down = true;
            now.losses += 1;
            if has_it {
                // The end of the connection must not overtake the command.
                let _ = to.write_all(bytes);
                let _ = from.shutdown(Shutdown::Both);
                let _ = to.shutdown(Shutdown::Write);
            } else {
                now.break_connections();
            }
            return;
        }
        let _ = from.shutdown(Shutdown::Both);
        let _ = to.shutdown(Shutdown::Both);
    }
}
