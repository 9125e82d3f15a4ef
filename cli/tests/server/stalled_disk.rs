//! The disk of the registry stalls. No test asserts a duration: a health probe gets a response while a page
//! that was requested earlier does not.

use harness::values::clock;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;

use accession::Registry;

use crate::running::serving::Serving;
use crate::sockets::read_to_its_end;
use harness::values::step;

/// Calls about the registry wait while the file that `STALL` names exists.
const SHIM: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void wait_for_disk(const char *path) {
    const char *stall = getenv("STALL");
    if (stall && path && strstr(path, "stalling.db"))
        while (access(stall, F_OK) == 0) usleep(5000);
}

static void wait_for_file(int fd) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length > 0) { path[length] = 0; wait_for_disk(path); }
}

int statx(int dir, const char *path, int flags, unsigned mask, struct statx *found) {
    static int (*real)(int, const char *, int, unsigned, struct statx *);
    if (!real) real = dlsym(RTLD_NEXT, "statx");
    wait_for_disk(path);
    return real(dir, path, flags, mask, found);
}

ssize_t read(int fd, void *into, size_t bytes) {
    static ssize_t (*real)(int, void *, size_t);
    if (!real) real = dlsym(RTLD_NEXT, "read");
    wait_for_file(fd);
    return real(fd, into, bytes);
}

ssize_t pread64(int fd, void *into, size_t bytes, off64_t at) {
    static ssize_t (*real)(int, void *, size_t, off64_t);
    if (!real) real = dlsym(RTLD_NEXT, "pread64");
    wait_for_file(fd);
    return real(fd, into, bytes, at);
}
"#;

/// Compiles the shim, with the C compiler that SQLite needs as well.
fn shim(directory: &Path) -> PathBuf {
    let (source, shim) = (directory.join("shim.c"), directory.join("shim.so"));
    std::fs::write(&source, SHIM).unwrap();
    let compiled =
        Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&shim, &source]).status();
    assert!(compiled.unwrap().success());
    shim
}

fn ask(serving: &Serving, path: &str) -> TcpStream {
    let mut stream = TcpStream::connect(&serving.address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
    stream
}

fn is_waiting(mut stream: &TcpStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    let read = stream.read(&mut [0]);
    stream.set_nonblocking(false).unwrap();
    read.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
}

#[test]
fn a_probe_does_not_wait_for_the_disk() {
    let directory = harness::directory();
    let shim = shim(directory.path());
    let (path, stall) = (directory.path().join("stalling.db"), directory.path().join("stall"));
    let registry = Registry::create(&path, clock()).unwrap();
    step(&registry, "US", 0, ["A", "B"], []);
    drop(registry);
    let mut command = Serving::command(&path, &[]);
    command.env("LD_PRELOAD", &shim).env("STALL", &stall);
    let serving = Serving::of(&mut command).unwrap();
    let whole = |path: &str| read_to_its_end(ask(&serving, path));
    assert!(whole("/datasets/US/").starts_with(b"HTTP/1.1 200"));
    std::fs::write(&stall, "").unwrap();
    let pages: Vec<TcpStream> = (0..20).map(|_| ask(&serving, "/datasets/US/")).collect();
    for _ in 0..10 {
        let health = whole("/healthz");
        // After some seconds, the server reports that the registry does not respond.
        assert!(health.starts_with(b"HTTP/1.1 200") || health.starts_with(b"HTTP/1.1 503"));
        assert!(whole("/metrics").starts_with(b"HTTP/1.1 200"));
        assert!(whole("/style.css").starts_with(b"HTTP/1.1 200"));
        assert!(pages.iter().all(is_waiting), "a page was answered without the disk");
    }
    std::fs::remove_file(&stall).unwrap();
    for page in pages {
        let page = read_to_its_end(page);
        assert!(page.starts_with(b"HTTP/1.1 200") || page.starts_with(b"HTTP/1.1 503"));
    }
    while !whole("/healthz").starts_with(b"HTTP/1.1 200") {}
}
