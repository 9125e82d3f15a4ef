//! `dataset correct` and `dataset remove` are killed at each message to the server: before it arrives, and
//! after it has arrived.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use crate::proxy::Proxy;
use crate::running::corrected::{Corrected, KILLED};
use crate::running::program::program;
use crate::scene::Scene;

/// The command that is killed, and the time of the kill.
#[derive(Default)]
struct Victim {
    child: Option<Child>,
    /// The number of messages before the kill.
    left: u64,
    arrives: bool,
    was_killed: bool,
}

fn pass(victim: &Mutex<Victim>, bytes: &[u8], to: &mut UnixStream) -> std::io::Result<()> {
    let mut victim = victim.lock().unwrap();
    if victim.was_killed {
        return Ok(());
    }
    if victim.child.is_none() || victim.left > 1 {
        victim.left = victim.left.saturating_sub(1);
        return to.write_all(bytes);
    }
    if victim.arrives {
        to.write_all(bytes)?;
    }
    victim.child.as_mut().unwrap().kill().unwrap();
    victim.was_killed = true;
    // The exit of the client ends the connection. What arrived before is executed.
    if victim.arrives { Ok(()) } else { Err(std::io::ErrorKind::ConnectionReset.into()) }
}

#[test]
fn a_correction_that_is_killed_at_any_message_is_made_completely_or_not_at_all() {
    for words in KILLED {
        let step = if std::env::var_os("TRUST").is_some() { 1 } else { 3 };
        let Some(messages) = kill_at(words, false, (1..).step_by(step)) else { return };
        // To the server, a kill after one message is the same as a kill before the next one, except for the
        // last messages.
        kill_at(words, true, (messages.saturating_sub(8)..messages).rev());
    }
}

/// Kills the command at each of these messages. Returns the first number at which it was not killed, because it
/// sent fewer messages. `None` means that PostgreSQL is not installed.
fn kill_at(words: &str, arrives: bool, messages: impl Iterator<Item = u64>) -> Option<u64> {
    let mut made = [0; 2];
    let mut prepared = None;
    let mut sent = 0;
    for nth in messages {
        // A command that was not done leaves everything unchanged, so its archive is used again.
        let archive = match prepared.take() {
            Some(archive) => archive,
            None => prepare()?,
        };
        let Prepared { archive: direct, proxy, victim, .. } = &archive;
        let mut command = direct.command(Command::new(program()), words);
        command.env("ACCESSION_REGISTRY", proxy.url()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut state = victim.lock().unwrap();
        *state =
            Victim { child: Some(command.spawn().unwrap()), left: nth, arrives, was_killed: false };
        drop(state);
        let status = loop {
            let ended = victim.lock().unwrap().child.as_mut().unwrap().try_wait().unwrap();
            if let Some(status) = ended {
                break status;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        };
        victim.lock().unwrap().child = None;
        proxy.wait_until_idle();
        if status.success() {
            assert!(direct.was_done(words));
            sent = nth;
            if arrives {
                // The same messages sometimes arrive in fewer parts.
                continue;
            }
            break;
        }
        assert_eq!(status.code(), None, "{words}: killed");
        let was_done = direct.was_done(words);
        made[usize::from(was_done)] += 1;
        if made[usize::from(was_done)] == 1 {
            direct.assert_means_the_same(was_done && words == KILLED[0]);
        }
        if was_done {
            direct.again(words, true);
        } else {
            prepared = Some(archive);
        }
    }
    println!(
        "{words}: killed at each message, which arrives: {arrives}: {made:?} before and after the commit"
    );
    assert!(made[usize::from(arrives)] > 0, "{words}: {made:?}");
    Some(sent)
}

/// An archive on a new database, and a proxy in front of its server.
struct Prepared {
    _directory: tempfile::TempDir,
    _scene: Scene,
    archive: Corrected,
    proxy: Proxy,
    victim: Arc<Mutex<Victim>>,
}

fn prepare() -> Option<Prepared> {
    let (scene, directory) = (Scene::new()?, harness::directory());
    let archive = Corrected::prepare(&directory.path().join("archive"), &scene.url);
    let victim = Arc::<Mutex<Victim>>::default();
    let to_server = Arc::clone(&victim);
    let proxy = Proxy::before(
        &scene,
        move |bytes, to| pass(&to_server, bytes, to),
        // The proxy reads what the server sends to a killed client. Otherwise, the server would drop what it
        // has received.
        |bytes, to| {
            let _ = to.write_all(bytes);
            Ok(())
        },
    );
    Some(Prepared { _directory: directory, _scene: scene, archive, proxy, victim })
}
