//! `dataset correct` and `dataset remove` are killed before each of their calls that change a file.

use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use crate::interposed::{Errno, Fault, Interposed, Mode};
use crate::rounds::is_long;
use crate::running::corrected::{Corrected, KILLED};

#[test]
fn a_correction_that_is_killed_at_any_step_is_made_completely_or_not_at_all() {
    let outside = harness::directory();
    let outside = outside.path().canonicalize().unwrap();
    let before = Corrected::prepare(&outside.join("before"), "us.db");
    for words in KILLED {
        let (mut killed, mut made) = (0, [0; 2]);
        // The short run leaves out two of three steps.
        for nth in (1..).step_by(if is_long() { 1 } else { 3 }) {
            let directory = outside.join("killed");
            let _ = std::fs::remove_dir_all(&directory);
            let copied =
                Command::new("cp").arg("-r").args([&before.directory, &directory]).status();
            assert!(copied.unwrap().success());
            let disk =
                Interposed::failing(&directory, Fault { mode: Mode::Kill, errno: Errno::Eio, nth });
            let archive = Corrected { directory: directory.clone(), registry: "us.db".to_owned() };
            let output =
                archive.command(disk.command(&directory.join("tmp")), words).output().unwrap();
            if output.status.success() {
                assert!(archive.was_done(words));
                break;
            }
            assert_eq!(output.status.signal(), Some(9), "{words}, {nth}: {output:?}");
            killed += 1;
            let was_done = archive.was_done(words);
            made[usize::from(was_done)] += 1;
            if made[usize::from(was_done)] == 1 || is_long() {
                archive.assert_means_the_same(was_done && words == KILLED[0]);
            }
            archive.again(words, was_done);
            if made[usize::from(was_done)] == 1 {
                archive.assert_means_the_same(words == KILLED[0]);
            }
        }
        println!("{words}: killed at {killed} steps: {made:?} before and after the commit");
        assert!(made.iter().all(|count| *count > 0), "{words}: {made:?}");
    }
}
