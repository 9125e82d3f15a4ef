//! Runs the commands of the guide in their order, like a new user.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::running::program::program;
use crate::scene::{Scene, refused, succeed};
use harness::installed::installed;

const GUIDE: &str = include_str!("../../../docs/guide/postgresql.md");

/// The code blocks of a language in the guide, in order.
fn blocks(language: &str) -> Vec<&str> {
    let begin = format!("```{language}\n");
    let end = |block: &'static str| block.split("```").next().unwrap();
    GUIDE.split(begin.as_str()).skip(1).map(end).collect()
}

/// Writes an executable script.
fn executable(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn the_commands_of_the_guide_work_in_its_order() {
    let Some(scene) = Scene::private() else { return };
    let directory = harness::directory();
    let programs = directory.path().join("programs");
    std::fs::create_dir(&programs).unwrap();
    std::os::unix::fs::symlink(program(), programs.join("accession")).unwrap();
    // Stands for sudo: no password is needed here, and everything is already installed.
    let sudo = "#!/bin/sh -e\ntest \"$1\" != apt || exit 0\nshift 2\nprogram=\"$1\"\nshift\n\
        test \"$1\" != --pwprompt || shift\nexec \"$program\" \"$@\"\n";
    executable(&programs.join("sudo"), sudo);
    let url = scene.url.clone();
    let socket = url.split('@').nth(1).unwrap().split('/').next().unwrap();
    let path = std::env::var("PATH").unwrap();
    let of_server = installed("initdb").unwrap();
    let paths = [programs.to_str().unwrap(), of_server.parent().unwrap().to_str().unwrap(), &path];
    let paths = paths.join(":");
    let run = |block: &str| {
        let script = format!("set -eux\n{}", block.replace("@localhost/", &format!("@{socket}/")));
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(script).current_dir(directory.path()).env("PATH", &paths);
        shell.env("HOME", directory.path()).env("PGUSER", "postgres");
        shell.env("PGHOST", socket.replace("%2F", "/")).env_remove("PGPASSWORD");
        let output = shell.output().unwrap();
        let printed = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{block}: {printed}");
    };
    let file = directory.path().join("accession.db");
    let file = file.to_str().unwrap();
    run("accession --registry accession.db ingest US.FOOL2.002 --create --id A --id B");
    let [set_up, users, restoring] = blocks("sh").try_into().unwrap();
    run(set_up);
    std::fs::write(directory.path().join("roles.sql"), blocks("text")[0]).unwrap();
    run(users);
    // The commands need the exported address.
    let exported = set_up.lines().find(|line| line.starts_with("export ")).unwrap();
    run(&format!("{exported}\n{restoring}"));

    let on_server = |user: &str, database: &str| format!("postgres://{user}@{socket}/{database}");
    let expected = succeed(file, &["history", "US.FOOL2.002", "--json"]);
    for database in ["archive", "restored"] {
        let history = ["history", "US.FOOL2.002", "--json"];
        assert_eq!(succeed(&on_server("archive", database), &history), expected);
    }
    succeed(&on_server("ingest", "archive"), &["ingest", "US.FOOL2.002", "--id", "C"]);
    succeed(&on_server("www", "archive"), &["show", "US.FOOL2.002"]);

    // A user who has read less may try this.
    let target = on_server("archive", "archive");
    let again = refused(file, &["registry", "copy", file, &target], "already-exists");
    assert!(
        again.contains("a registry here already") && again.contains("an empty database"),
        "{again}"
    );
    let restored = refused(&target, &["registry", "restore", file], "unsupported");
    assert!(restored.contains("`accession registry copy`"), "{restored}");
}
