//! Corrects the checks of a manifest whose format is right and whose content is wrong.

use sha2::{Digest, Sha256};

const SHA256: &str = ",\"sha256\":\"";

/// The manifest with altered lines and correct checks.
pub fn resealed(text: &str, alter: impl Fn(&str) -> String) -> Vec<u8> {
    let mut check = String::new();
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
            head["check"] = check.clone().into();
            if let Some(last) = head["segments"].get_mut(0) {
                last["check"] = check.clone().into();
                last["bytes"] = log_bytes.into();
            }
            head["subsets"] = serde_json::json!({
                "count": subset_count,
                "bytes": subset_bytes,
                "sha256": hex(subsets.clone().finalize().as_slice()),
            });
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
            let before = if check.is_empty() { String::new() } else { check + "\n" };
            check = hex(Sha256::digest(format!("{before}{body}\n")).as_slice());
            let line = format!("{body},\"check\":\"{check}\"}}\n");
            log_bytes += line.len() as u64;
            file += &line;
        }
    }
    file.into_bytes()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
