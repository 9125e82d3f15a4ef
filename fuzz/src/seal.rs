//! Makes the checks of a manifest right again, as somebody would who has the format right and the
//! content wrong.

use accession::chain::Chain;
use sha2::{Digest, Sha256};

const SHA256: &str = ",\"sha256\":\"";

/// How the log of the file records begins, and each of its records.
const LOG: &str = "{\"accession_files\":";
const RECORD: &str = "{\"number\":";

/// The log of the file records, so far.
struct Records {
    chain: Chain,
    count: u64,
    bytes: u64,
    /// When the first record was entered.
    first: Option<String>,
}

impl Default for Records {
    fn default() -> Self {
        Records { chain: Chain::start(), count: 0, bytes: 0, first: None }
    }
}

fn recorded(body: &str) -> Option<String> {
    let record: serde_json::Value = serde_json::from_str(&format!("{body}}}")).ok()?;
    Some(record.get("recorded")?.as_str()?.to_owned())
}

/// The manifest with the body of each line altered, and checks that are right again.
pub fn resealed(text: &str, alter: impl Fn(&str) -> String) -> Vec<u8> {
    let mut chain = Chain::start();
    let mut records: Option<Records> = None;
    let mut file = String::new();
    let (mut subsets, mut log_bytes) = (Sha256::new(), 0);
    let (mut subset_count, mut subset_bytes) = (0, 0);
    for line in text.lines() {
        if line.starts_with("{\"accession_head\":") {
            let body = line.rsplit_once(SHA256).map_or(line, |(body, _)| body);
            let body = alter(body);
            let Ok(mut head) = serde_json::from_str::<serde_json::Value>(&format!("{body}}}"))
            else {
                file += &format!("{body}\n");
                continue;
            };
            let check = chain.identifier().to_string();
            head["check"] = check.clone().into();
            if let Some(last) = head["segments"].get_mut(0) {
                last["check"] = check.into();
                last["bytes"] = log_bytes.into();
            }
            head["subsets"] = serde_json::json!({
                "count": subset_count,
                "bytes": subset_bytes,
                "sha256": hex(subsets.clone().finalize().as_slice()),
            });
            if let Some(Records { chain, count, bytes, first }) = &records {
                let check = chain.identifier().to_string();
                let segment =
                    serde_json::json!({ "bytes": bytes, "timestamp": first, "check": check });
                head["files"] =
                    serde_json::json!({ "count": count, "check": check, "segments": [segment] });
            }
            let body = head.to_string();
            let body = body.strip_suffix('}').unwrap_or(&body);
            let sha256 = hex(Sha256::digest(body).as_slice());
            file += &format!("{body}{SHA256}{sha256}\"}}\n");
        } else if line.starts_with("{\"subset\":") {
            let line = alter(line) + "\n";
            subsets.update(&line);
            subset_count += u64::from(line.contains("\"cited\":"));
            subset_bytes += line.len() as u64;
            file += &line;
        } else {
            let body = alter(line.rsplit_once(",\"check\":\"").map_or(line, |(body, _)| body));
            if body.starts_with(LOG) {
                records.get_or_insert_default();
            }
            let records =
                records.as_mut().filter(|_| body.starts_with(RECORD) || body.starts_with(LOG));
            let (chain, bytes) = match records {
                Some(records) => {
                    records.count += u64::from(body.starts_with(RECORD));
                    if records.first.is_none() {
                        records.first = recorded(&body);
                    }
                    (&mut records.chain, &mut records.bytes)
                }
                None => (&mut chain, &mut log_bytes),
            };
            chain.push(&body);
            let line = format!("{body},\"check\":\"{}\"}}\n", chain.identifier());
            *bytes += line.len() as u64;
            file += &line;
        }
    }
    file.into_bytes()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
