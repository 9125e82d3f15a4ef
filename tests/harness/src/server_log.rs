//! The statements that a private server received, read from its log.

use crate::server::{Own, Server, client};

impl Server {
    /// Calls `run`, and returns the statements that the server received meanwhile, with values instead of
    /// parameters.
    pub fn statements_of(&self, run: impl FnOnce()) -> Vec<String> {
        let own = self.own.as_ref().expect("a private server has a log");
        let mut settings = client(&self.database("postgres"));
        let mut set = |what: &str| {
            settings.batch_execute(&format!("ALTER SYSTEM SET log_statement = '{what}'")).unwrap();
            settings.batch_execute("SELECT pg_reload_conf(), pg_sleep(0.5)").unwrap();
        };
        set("all");
        let before = own.log().len();
        run();
        set("none");
        statements(&own.log()[before..])
    }
}

impl Own {
    fn log(&self) -> String {
        std::fs::read_to_string(self.directory.path().join("log")).unwrap()
    }
}

/// The entries of a log that are statements. All lines of an entry but the first begin with a tab.
fn statements(log: &str) -> Vec<String> {
    let log = log.replace("\n\t", " ");
    let mut statements: Vec<String> = Vec::new();
    for line in log.lines() {
        let simple = line.split_once("LOG:  statement: ").map(|(_, sql)| sql);
        let prepared = line.split_once("LOG:  execute <unnamed>: ").map(|(_, sql)| sql);
        if line.contains("ALTER SYSTEM") || line.contains("pg_reload_conf") {
            continue;
        }
        if let Some(sql) = simple.or(prepared) {
            statements.push(sql.trim().to_owned());
        } else if let Some((_, values)) = line.split_once("DETAIL:  parameters: ")
            && let Some(last) = statements.last_mut()
        {
            *last = with_values(last, values);
        }
    }
    statements
}

/// Replaces `$1`, `$2`, … with the values of `$1 = 'A', $2 = NULL`.
fn with_values(sql: &str, values: &str) -> String {
    let mut replaced = sql.to_owned();
    // From the last to the first, so that $1 does not match the beginning of $10.
    let mut rest = values;
    while let Some(at) = rest.rfind('$') {
        let value = rest[at..].trim_end_matches(", ");
        if let Some((name, value)) = value.split_once(" = ")
            && name[1..].bytes().all(|digit| digit.is_ascii_digit())
        {
            replaced = replaced.replace(name, value);
        }
        rest = &rest[..at];
    }
    replaced
}
