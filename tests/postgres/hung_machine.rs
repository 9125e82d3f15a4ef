//! A machine of a cluster that keeps its connections and answers nothing.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpSocket;

use crate::lost_machines::Cluster;
use crate::serve::Served;

/// The statuses of requests from many clients, who all wait for their answers.
fn crowd(address: SocketAddr, paths: Vec<String>) -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let ask = |(number, path): (u8, String)| async move {
            let socket = TcpSocket::new_v4().unwrap();
            socket.bind(SocketAddr::from(([127, 0, 0, number], 0))).unwrap();
            let mut stream = socket.connect(address).await.unwrap();
            let head = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
            stream.write_all(head.as_bytes()).await.unwrap();
            let mut response = String::new();
            stream.read_to_string(&mut response).await.unwrap();
            response[9..12].to_owned()
        };
        let asked: Vec<_> = (2_u8..).zip(paths).map(ask).map(tokio::spawn).collect();
        let mut statuses = Vec::new();
        for asked in asked {
            statuses.push(asked.await.unwrap());
        }
        statuses
    })
}

#[test]
fn the_datasets_of_the_others_are_served_while_one_machine_hangs() {
    let Some(cluster) = Cluster::new() else { return };
    let (machine, hung, others) = cluster.divided();
    let served = Served::start(&cluster.scene.url);
    let pages = |datasets: &[String]| -> Vec<String> {
        datasets.iter().map(|dataset| format!("/datasets/{dataset}/")).collect()
    };
    let (hung, others) = (pages(&hung), pages(&others));
    let json = "application/json";
    for path in hung.iter().chain(&others) {
        assert_eq!(served.get(path, json).0, 200, "{path}");
    }
    machine.hang();
    let address: SocketAddr = served.address.parse().unwrap();
    // They ask for its datasets, or all machines.
    let all = ["/find?granule=first", "/"].map(str::to_owned);
    let asked = hung.iter().cloned().chain(all);
    let asked: Vec<String> = asked.cycle().take(40).collect();
    let crowd = std::thread::spawn(move || crowd(address, asked));
    let mut longest = Duration::ZERO;
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(15) {
        for path in &others {
            let asked = Instant::now();
            let (status, body) = served.get(path, json);
            assert_eq!(status, 200, "{path} after {:?}: {body}", began.elapsed());
            longest = longest.max(asked.elapsed());
        }
        if began.elapsed() > Duration::from_secs(6) {
            let (status, list) = served.get("/", json);
            assert!(status == 200 && list.contains("cannot be reached"), "{status}: {list}");
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    println!("while a machine hangs, a page of another takes {longest:?} at most");
    assert!(longest < Duration::from_secs(10), "{longest:?}");
    let statuses = crowd.join().unwrap();
    assert!(statuses.iter().filter(|status| *status == "503").count() >= 20, "{statuses:?}");
    assert!(statuses.iter().all(|status| status == "503" || status == "200"), "{statuses:?}");
    // What waits for it does not take all processes of the coordinator.
    let database = cluster.scene.url.rsplit('/').next().unwrap();
    let processes = "SELECT count(*) FROM pg_stat_activity
                     WHERE datname = $1 AND backend_type = 'client backend'";
    let mut client = cluster.scene.client();
    let count: i64 = client.query_one(processes, &[&database]).unwrap().get(0);
    assert!(count < 30, "{count}");

    machine.go_on();
    let began = Instant::now();
    while served.get(&hung[0], json).0 != 200 {
        assert!(began.elapsed() < Duration::from_secs(20), "it answers, and is not asked");
        std::thread::sleep(Duration::from_millis(200));
    }
    assert_eq!(served.get("/find?granule=first", json).0, 200);
}
