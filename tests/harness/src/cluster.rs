//! Databases that Citus distributes over the machines of a cluster.

use std::sync::{Mutex, PoisonError};

use postgres::config::{Config, SslMode};
use postgres::{Client, NoTls};

use crate::server::Server;

/// The environment variable with the URL of a database on the coordinator of a cluster in which databases may
/// be created. Its machines reach each other without TLS (`citus.node_conninfo`), since tests look for commands
/// in the bytes that the machines send.
pub const CLUSTER: &str = "ACCESSION_TEST_CITUS";

impl Server {
    /// The cluster that the environment names. `None` means that the variable is not set, and the caller has
    /// nothing to test.
    pub fn of_cluster() -> Option<Self> {
        let url = std::env::var(CLUSTER).ok()?;
        let (scheme, rest) = url.split_once("://").unwrap();
        let authority = rest.split(['/', '?']).next().unwrap();
        Some(Server::at(format!("{scheme}://{authority}")))
    }

    /// Creates an empty database on every machine of the cluster, and returns its URL at the coordinator. It
    /// has few shards: more would only be slower.
    pub fn new_cluster_database(&self) -> String {
        self.new_database_on(str::to_owned)
    }

    /// Creates an empty database. `reached_at` returns, for the address of a machine, the address at which the
    /// coordinator reaches it.
    pub(crate) fn new_database_on(&self, mut reached_at: impl FnMut(&str) -> String) -> String {
        const NODES: &str = "
            SELECT groupid, nodename, nodeport
            FROM pg_dist_node
            WHERE noderole = 'primary' AND isactive
            ORDER BY groupid";
        let coordinator: Config = std::env::var(CLUSTER).unwrap().parse().unwrap();
        let nodes: Vec<(i32, String, i32)> = connect(&coordinator)
            .query(NODES, &[])
            .unwrap()
            .iter()
            .map(|row| (row.get(0), row.get(1), row.get(2)))
            .collect();
        // Adding a machine also creates the roles there. Roles belong to the whole server, so machines are
        // added one at a time.
        static ADDING: Mutex<()> = Mutex::new(());
        let _adding = ADDING.lock().unwrap_or_else(PoisonError::into_inner);
        let url = self.new_database();
        let name = url.rsplit('/').next().unwrap();
        let mut here = coordinator.clone();
        let mut here = connect(here.dbname(name));
        here.batch_execute("CREATE EXTENSION citus").unwrap();
        for (group, host, port) in &nodes {
            let mut node = machine(&coordinator, host, *port);
            if *group == 0 {
                here.execute("SELECT citus_set_coordinator_host($1, $2)", &[host, port]).unwrap();
                continue;
            }
            let create = format!("CREATE DATABASE {name} TEMPLATE {}", Server::EMPTY);
            connect(node.dbname("postgres")).batch_execute(&create).unwrap();
            connect(node.dbname(name)).batch_execute("CREATE EXTENSION citus").unwrap();
            let address = reached_at(&format!("{host}:{port}"));
            let (host, port) = address.rsplit_once(':').unwrap();
            let port: i32 = port.parse().unwrap();
            here.execute("SELECT citus_add_node($1, $2)", &[&host, &port]).unwrap();
        }
        let few = format!("ALTER DATABASE {name} SET citus.shard_count = 4");
        here.batch_execute(&few).unwrap();
        url
    }
}

/// The configuration to connect to another machine as the user of the coordinator.
fn machine(coordinator: &Config, host: &str, port: i32) -> Config {
    let mut config = Config::new();
    config.host(host).port(u16::try_from(port).unwrap());
    if let Some(user) = coordinator.get_user() {
        config.user(user);
    }
    if let Some(password) = coordinator.get_password() {
        config.password(password);
    }
    config
}

fn connect(config: &Config) -> Client {
    config.clone().ssl_mode(SslMode::Disable).connect(NoTls).unwrap()
}
