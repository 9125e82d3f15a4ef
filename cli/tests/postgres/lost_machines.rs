//! Machines of a cluster are lost while others use them, and come back.

use harness::values::clock;
use std::sync::Arc;
use std::time::{Duration, Instant};

use accession::{DatasetFilter, Registry};

use crate::scene::{Scene, ingest, name, periods_of};
use harness::machine::Machine;
use harness::server::{Server, client};

/// A registry on a cluster, and the connections to its machines.
pub struct Cluster {
    pub scene: Scene,
    machines: Arc<Vec<Machine>>,
}

impl Cluster {
    /// A cluster with datasets `D0` to `D7`, of one granule each.
    pub fn new() -> Option<Self> {
        let server = Server::of_cluster()?;
        let (url, machines) = server.new_cluster_database_on_machines();
        let registry = Registry::create(&url, clock()).unwrap();
        registry.distribute().unwrap();
        for number in 0..8 {
            let dataset = name(&format!("D{number}"));
            registry.change(&dataset, &ingest("first")).unwrap();
        }
        Some(Cluster { scene: Scene { server, url }, machines: Arc::new(machines) })
    }

    /// The datasets that are stored on a machine.
    fn datasets_on(&self, machine: &Machine) -> Vec<String> {
        let sql = "
            SELECT name FROM accession.dataset
            JOIN pg_dist_shard_placement
              ON shardid = get_shard_id_for_distribution_column('accession.writer', dataset.id)
            WHERE nodename || ':' || nodeport = $1
            ORDER BY name";
        let address = machine.address().to_owned();
        self.scene.client().query(sql, &[&address]).unwrap().iter().map(|row| row.get(0)).collect()
    }

    /// A machine with datasets, its datasets, and those of the other machines.
    pub fn divided(&self) -> (&Machine, Vec<String>, Vec<String>) {
        let datasets: Vec<_> = self.machines.iter().map(|each| self.datasets_on(each)).collect();
        let lost = datasets.iter().position(|datasets| !datasets.is_empty()).unwrap();
        let others = datasets.iter().enumerate().filter(|(index, _)| *index != lost);
        let others: Vec<String> = others.flat_map(|(_, datasets)| datasets.clone()).collect();
        assert!(!others.is_empty(), "all datasets are on one machine");
        (&self.machines[lost], datasets[lost].clone(), others)
    }
}

#[test]
fn a_machine_that_is_lost_in_a_statement_is_a_lost_connection_and_no_damage() {
    let Some(cluster) = Cluster::new() else { return };
    let (machine, lost, _) = cluster.divided();
    let registry = cluster.scene.open();
    let phases = ["UPDATE", "accession.granule_", "accession.instance_"];
    let faults = phases.iter().flat_map(|at| [(at, true), (at, false)]).cycle().take(12);
    for (round, (at, has_it)) in faults.enumerate() {
        // A few ids are inserted, many are copied.
        let ids = if round < 6 { 3 } else { 2_500 };
        let mut change = accession::Change::new();
        for number in 0..ids {
            let granule_id = format!("{round}.{number}").parse::<accession::GranuleId>().unwrap();
            change.ingest(granule_id).unwrap();
        }
        machine.go_down_at(at, has_it);
        let error = registry.change(&name(&lost[0]), &change).unwrap_err();
        machine.come_up();
        assert_eq!(machine.losses() as usize, round + 1, "{at}");
        assert_eq!(error.kind().as_str(), "connection-lost", "{at}: {error:?}");
        assert_eq!(periods_of(&registry, &format!("{round}.0")), 0, "{at}");
    }
    assert_eq!(registry.verify_all(&DatasetFilter::All).unwrap().finish().unwrap().findings, 0);
}

#[test]
fn a_change_whose_commit_was_lost_is_made_or_not_as_the_answer_says() {
    let Some(cluster) = Cluster::new() else { return };
    let (machine, lost, _) = cluster.divided();
    let registry = cluster.scene.open();
    for (round, has_it) in [true, false, true, false].into_iter().enumerate() {
        let granule_id = format!("granule-{round}");
        machine.go_down_at("COMMIT", has_it);
        let machines = Arc::clone(&cluster.machines);
        let up = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(300));
            machines.iter().for_each(Machine::come_up);
        });
        let result = registry.change(&name(&lost[0]), &ingest(&granule_id));
        up.join().unwrap();
        assert_eq!(machine.losses() as usize, round + 1, "no COMMIT was sent");
        let periods = periods_of(&registry, &granule_id);
        match result {
            Ok(_) => assert_eq!(periods, 1, "{granule_id}"),
            Err(error) => {
                assert_eq!(periods, 0, "{granule_id}: {error:?}");
                assert_eq!(error.kind().as_str(), "connection-lost", "{error:?}");
            }
        }
    }
}

/// The datasets named in rows of JSON, and those that satisfy a condition.
fn rows(
    output: &std::process::Output,
    name: &str,
    is_lost: impl Fn(&serde_json::Value) -> bool,
) -> (Vec<String>, Vec<String>) {
    let text = String::from_utf8_lossy(&output.stdout);
    let rows = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let (mut all, mut lost) = (Vec::new(), Vec::new());
    for row in rows.filter(|row| row[name].is_string()) {
        let dataset = row[name].as_str().unwrap().to_owned();
        if is_lost(&row) {
            lost.push(dataset.clone());
        }
        all.push(dataset);
    }
    (all, lost)
}

fn kind_of(output: &std::process::Output) -> String {
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    let last: serde_json::Value = serde_json::from_str(error.lines().last().unwrap()).unwrap();
    last["error"]["kind"].as_str().expect(&error).to_owned()
}

#[test]
fn a_dead_machine_is_an_error_that_names_it_and_the_others_are_verified() {
    let Some(cluster) = Cluster::new() else { return };
    let (machine, lost, others) = cluster.divided();
    let mut all = [lost.clone(), others.clone()].concat();
    all.sort();
    machine.go_down();
    let run = |arguments: &[&str]| cluster.scene.command(arguments).output().unwrap();

    let listed = run(&["dataset", "list", "--json"]);
    assert_eq!((listed.status.code(), kind_of(&listed)), (Some(2), "connection-lost".to_owned()));
    let printed = String::from_utf8_lossy(&listed.stderr).into_owned();
    assert!(printed.contains(machine.address()), "it names the machine: {printed}");

    let not_verified = |row: &serde_json::Value| {
        row["mismatches"].as_array().unwrap().iter().any(|found| found["code"] == "unreachable")
    };
    let verified = run(&["verify", "--json"]);
    assert_eq!(rows(&verified, "dataset", not_verified), (all.clone(), lost.clone()));
    assert_eq!(
        (verified.status.code(), kind_of(&verified)),
        (Some(2), "machines-missing".to_owned())
    );
    // A dataset that can be reached is verified completely.
    let named = run(&["verify", &others[0], "--json"]);
    assert!(named.status.success(), "{named:?}");
    let named = run(&["verify", &others[0], &lost[0], "--json"]);
    let (mut both, one) = rows(&named, "dataset", not_verified);
    both.sort();
    assert_eq!((both.len(), one), (2, vec![lost[0].clone()]));

    for arguments in [&["find", "first"][..], &["dataset", "export", &lost[0]], &["show", &lost[0]]]
    {
        let refused = run(&[&["--json"], arguments].concat());
        let expected = (Some(2), "connection-lost".to_owned());
        assert_eq!((refused.status.code(), kind_of(&refused)), expected, "{arguments:?}");
    }
    machine.come_up();
    assert!(run(&["dataset", "list"]).status.success());
    let found = run(&["find", "first", "--json"]);
    assert_eq!(rows(&found, "dataset", |_| false).0, all);
}

/// Creating a dataset changes every machine, in two phases.
#[test]
fn what_was_acknowledged_can_be_seen_although_a_machine_was_lost_in_the_second_phase() {
    let Some(cluster) = Cluster::new() else { return };
    let registry = cluster.scene.open();
    let (recovery, mut longest) = (Duration::from_secs(3), Duration::ZERO);
    for (round, machine) in cluster.machines.iter().enumerate() {
        let dataset = format!("NEW-{round}");
        machine.go_down_at("COMMIT PREPARED", false);
        let url = cluster.scene.url.clone();
        let machines = Arc::clone(&cluster.machines);
        let recovered = std::thread::spawn(move || {
            std::thread::sleep(recovery);
            machines.iter().for_each(Machine::come_up);
            // Citus does this once a minute.
            client(&url).batch_execute("SELECT recover_prepared_transactions()").unwrap();
        });
        let began = Instant::now();
        registry.change(&name(&dataset), &ingest(&dataset)).unwrap();
        assert_eq!(machine.losses(), 1, "no COMMIT PREPARED was sent");
        let waited = began.elapsed();
        // The other machine may still be down.
        let seen = registry.snapshot().unwrap().dataset(&name(&dataset)).unwrap();
        assert_eq!(seen.latest.unwrap().granules, 1, "{dataset} after {waited:?}");
        longest = longest.max(waited);
        recovered.join().unwrap();
        assert_eq!(periods_of(&registry, &dataset), 1);
    }
    assert!(longest >= recovery, "no change was waited for: {longest:?}");
}
