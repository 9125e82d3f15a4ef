//! A mirror that reads a published directory from nginx. A transcript of the command line tests Python's web
//! server, which does not support ranges.

use harness::values::clock;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use accession::mirror::{Primary, PullOptions, PullReport};
use accession::{IfMissing, Registry};
use accession_server::{SiteSettings, publish_pages};

use harness::exported::{enlarge, publish_all};
use harness::history::{instances, name, second, step};
use harness::installed::installed;

struct Nginx(Child);

impl Nginx {
    /// Starts nginx for the directory `www`, and returns its port. `None` if nginx is not installed.
    fn over(directory: &Path) -> Option<(Self, u16)> {
        let program = installed("nginx")?;
        // Another process may take the port after it was found to be free.
        (0..5).find_map(|_| Nginx::on_a_free_port(&program, directory)).or_else(|| {
            let log = std::fs::read_to_string(directory.join("error.log"));
            panic!("nginx did not start: {}", log.unwrap_or_default());
        })
    }

    fn on_a_free_port(program: &Path, directory: &Path) -> Option<(Self, u16)> {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let here = directory.display();
        let user = if directory.starts_with("/root") { "user root;" } else { "" };
        // The parts of the documented example that lead identifiers to their sets and that define types.
        let example = include_str!("../../../docs/deploy/nginx-published.conf");
        let part = |from: &str, to: &str| {
            let part = &example[example.find(from).unwrap()..];
            part[..part.find(to).unwrap()].replace("/srv/www", &format!("{here}/www"))
        };
        let (map, places) = (part("map_hash", "server {"), part("charset utf-8", "location /"));
        let configuration = format!(
            "daemon off; master_process off; error_log {here}/error.log; pid {here}/pid; {user}\n\
             events {{}}\n\
             http {{ log_format plain '$status $body_bytes_sent $request_uri'; access_log {here}/access.log plain;\n\
             client_body_temp_path {here}/body; proxy_temp_path {here}/proxy; fastcgi_temp_path {here}/fastcgi;\n\
             uwsgi_temp_path {here}/uwsgi; scgi_temp_path {here}/scgi;\n\
             {map}\n\
             server {{ listen 127.0.0.1:{port}; root {here}/www;\n{places} }} }}\n"
        );
        std::fs::write(directory.join("nginx.conf"), configuration).unwrap();
        let mut child = Command::new(program)
            .arg("-c")
            .arg(directory.join("nginx.conf"))
            .args(["-e", directory.join("error.log").to_str().unwrap()])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Nginx writes its process id when it listens.
        while !directory.join("pid").exists() {
            if child.try_wait().unwrap().is_some() {
                return None;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Some((Nginx(child), port))
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_directory_on_nginx_is_read_by_ranges() {
    let directory = harness::directory();
    let directory = directory.path().canonicalize().unwrap();
    std::fs::create_dir(directory.join("www")).unwrap();
    let Some((_nginx, port)) = Nginx::over(&directory) else { return };
    let (us, mirror) =
        (Registry::temporary(clock()).unwrap(), Registry::temporary(clock()).unwrap());
    let follow = |at: i64| -> PullReport {
        let url = format!("http://127.0.0.1:{port}/datasets/us/");
        let primary: Primary = url.parse().unwrap();
        let options = PullOptions::new().if_missing(IfMissing::Create);
        mirror.pull(&name("mirror"), &primary, options.at(second(at))).unwrap()
    };
    for at in 0..9_i64 {
        // The seventh change completes the first segment.
        enlarge(&us, "us", at, 1_000);
        publish_all(&us, &directory.join("www")).unwrap();
        assert!(follow(at).is_identical());
        assert!(follow(at).is_identical());
        let latest = |registry: &Registry, dataset: &str| {
            instances(registry, &name(dataset)).pop().unwrap().identifier
        };
        assert_eq!(latest(&mirror, "mirror"), latest(&us, "us"), "round {at}");
    }
    assert!(mirror.verify(&name("mirror")).unwrap().ok);
    let log = std::fs::read_to_string(directory.join("access.log")).unwrap();
    let of = |status: &str| log.lines().filter(|line| line.starts_with(status)).count();
    println!("nginx: {} whole, {} ranges", of("200"), of("206"));
    assert_eq!(of("206"), 7, "{log}");
    let sent: u64 =
        log.lines().map(|line| line.split(' ').nth(1).unwrap().parse::<u64>().unwrap()).sum();
    let published: u64 = (0..2)
        .map(|index| directory.join(format!("www/datasets/us/log/{index:06}.jsonl")))
        .map(|path| path.metadata().unwrap().len())
        .sum();
    assert!(sent * 10 <= published * 12, "{sent} bytes of {published}");
}

#[test]
fn an_identifier_leads_to_its_set_and_another_address_to_the_page_that_resolves_it() {
    let directory = harness::directory();
    let directory = directory.path().canonicalize().unwrap();
    let us = Registry::temporary(clock()).unwrap();
    step(&us, "us", 0, ["A"], []);
    publish_all(&us, &directory.join("www")).unwrap();
    let settings = SiteSettings::default();
    publish_pages(&us, &directory.join("www"), &settings, &[]).unwrap();
    let Some((_nginx, port)) = Nginx::over(&directory) else { return };
    let get = |path: &str| {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        write!(stream, "GET {path} HTTP/1.0\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    let latest = instances(&us, &name("us")).pop().unwrap();
    let (identifier, month) = (latest.identifier, &latest.timestamp.to_string()[..7]);
    let found = get(&format!("/DI:{identifier}"));
    assert!(found.starts_with("HTTP/1.1 302"), "{found}");
    assert!(
        found.contains(&format!("/datasets/us/history/{month}.html#{identifier}\r\n")),
        "{found}"
    );
    assert!(get(&format!("/datasets/us/history/{month}.html")).contains("200 OK"));
    // The script of the page leads digests to their sets.
    let unknown = get(&format!("/{}", latest.digest));
    assert!(unknown.contains("404 Not Found") && unknown.contains("data-resolve"), "{unknown}");
    for (path, media_type) in
        [("script.js", "text/javascript"), ("feed.atom", "application/atom+xml")]
    {
        let file = get(&format!("/{path}"));
        assert!(file.contains(&format!("Content-Type: {media_type}")), "{file}");
    }
}
