//! The user who runs the program.

/// The user name from the environment, or otherwise the number of the user.
pub fn system_user() -> Option<String> {
    let named = ["LOGNAME", "USER", "USERNAME"].into_iter().find_map(variable);
    named.or_else(user_number)
}

/// The value of an environment variable, if it is not empty.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}

#[cfg(unix)]
fn user_number() -> Option<String> {
    Some(format!("user {}", rustix::process::getuid().as_raw()))
}

#[cfg(not(unix))]
fn user_number() -> Option<String> {
    None
}
