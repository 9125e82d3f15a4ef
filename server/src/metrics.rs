//! Counters for operators, in the text format of Prometheus.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use accession::Timestamp;
use accession::dataset::DatasetRecord;

/// Counters since the start of the server.
#[derive(Debug, Default)]
pub struct Metrics {
    /// The number of responses by the first digit of their status, from 1.
    responses: [AtomicU64; 5],
    /// The total time until responses began, in microseconds.
    response_micros: AtomicU64,
    requests_under_way: AtomicU64,
    connections: AtomicU64,
    connections_accepted: AtomicU64,
}

impl Metrics {
    /// Counts a running request, until the returned value is dropped.
    pub fn request_begins(&self) -> UnderWay<'_> {
        self.requests_under_way.fetch_add(1, Ordering::Relaxed);
        UnderWay(&self.requests_under_way)
    }

    /// Counts a response that begins.
    pub fn response_begins(&self, status: u16, after: Duration) {
        if let Some(responses) = self.responses.get(usize::from(status / 100).wrapping_sub(1)) {
            responses.fetch_add(1, Ordering::Relaxed);
        }
        let micros = u64::try_from(after.as_micros()).unwrap_or(u64::MAX);
        self.response_micros.fetch_add(micros, Ordering::Relaxed);
    }

    /// Counts an opened connection.
    pub fn connection_opens(&self) {
        self.connections.fetch_add(1, Ordering::Relaxed);
        self.connections_accepted.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a closed connection.
    pub fn connection_closes(&self) {
        self.connections.fetch_sub(1, Ordering::Relaxed);
    }

    /// Writes all metrics of the server.
    pub fn text(&self) -> String {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let one = |counter: &AtomicU64| vec![(String::new(), read(counter).to_string())];
        let by_status = (1..)
            .zip(&self.responses)
            .map(|(digit, count)| (format!("{{status=\"{digit}xx\"}}"), read(count).to_string()));
        let total: u64 = self.responses.iter().map(read).sum();
        let seconds = format!("{:.6}", read(&self.response_micros) as f64 / 1e6);
        let summary = [("_sum", seconds), ("_count", total.to_string())];
        let summary = summary.map(|(name, value)| (name.to_owned(), value)).to_vec();
        let all = [
            ("responses_total", "counter", "Responses by status.", by_status.collect()),
            ("response_seconds", "summary", "Time until a response began.", summary),
            (
                "requests_under_way",
                "gauge",
                "Requests without a response.",
                one(&self.requests_under_way),
            ),
            ("connections", "gauge", "Open connections.", one(&self.connections)),
            (
                "connections_total",
                "counter",
                "Connections accepted.",
                one(&self.connections_accepted),
            ),
        ];
        let mut text = String::new();
        for (name, kind, help, rows) in all {
            write(&mut text, name, kind, help, &rows);
        }
        text
    }
}

/// The greatest number of datasets that are reported, by name. Each needs five lines.
pub const MAX_DATASETS: u32 = 1_000;

/// The reported values of a dataset.
pub struct Reported {
    pub listed: DatasetRecord,
    /// The number of its files that differ from their records. `None` means that none was ever checked.
    pub open_findings: Option<u64>,
    /// Whether its latest listing was rejected.
    pub is_refused: bool,
}

/// Writes the metrics of datasets. `None` means that the registry cannot be read now.
pub fn of_datasets(reported: Option<&[Reported]>) -> String {
    let mut text = String::new();
    let is_readable = vec![(String::new(), u8::from(reported.is_some()).to_string())];
    let help = "Whether the registry could be read within 2 seconds.";
    write(&mut text, "registry_readable", "gauge", help, &is_readable);
    let mut describe = |name: &str, help: &str, value: &dyn Fn(&Reported) -> Option<String>| {
        let rows = reported.unwrap_or_default().iter().filter_map(|reported| {
            let labels = format!("{{dataset=\"{}\"}}", reported.listed.dataset.name);
            Some((labels, value(reported)?))
        });
        let rows: Vec<(String, String)> = rows.collect();
        write(&mut text, name, "gauge", help, &rows);
    };
    let seconds = |time: Timestamp| format!("{:.6}", time.as_micros() as f64 / 1e6);
    let help = "Granules that are held, of the first 1000 datasets by name.";
    describe("dataset_granules", help, &|Reported { listed, .. }| {
        Some(listed.latest.as_ref().map_or(0, |latest| latest.granules).to_string())
    });
    let help = "When the last change was recorded.";
    describe("dataset_last_change_timestamp_seconds", help, &|Reported { listed, .. }| {
        listed.latest.as_ref().map(|latest| seconds(latest.recorded))
    });
    let help = "When a sync last found that the dataset is its listing.";
    describe("dataset_last_confirmed_timestamp_seconds", help, &|Reported { listed, .. }| {
        listed.confirmed.as_ref().map(|confirmed| seconds(confirmed.recorded))
    });
    let help = "Files that are not as recorded, of datasets whose files were checked.";
    describe("dataset_open_findings", help, &|reported| {
        reported.open_findings.map(|open| open.to_string())
    });
    let help = "Whether the last listing was refused by a sync.";
    describe("dataset_listing_refused", help, &|reported| {
        Some(u8::from(reported.is_refused).to_string())
    });
    text
}

/// Writes one metric. Writing to a string cannot fail.
fn write(text: &mut String, name: &str, kind: &str, help: &str, rows: &[(String, String)]) {
    let _ = writeln!(text, "# HELP accession_{name} {help}\n# TYPE accession_{name} {kind}");
    for (labels, value) in rows {
        let _ = writeln!(text, "accession_{name}{labels} {value}");
    }
}

/// A running request.
pub struct UnderWay<'metrics>(&'metrics AtomicU64);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_are_counted_by_status() {
        let metrics = Metrics::default();
        for status in [200, 204, 404] {
            let _under_way = metrics.request_begins();
            metrics.response_begins(status, Duration::from_millis(250));
        }
        let text = metrics.text();
        assert!(text.contains("accession_responses_total{status=\"2xx\"} 2\n"), "{text}");
        assert!(text.contains("accession_responses_total{status=\"4xx\"} 1\n"), "{text}");
        assert!(text.contains("accession_response_seconds_sum 0.750000\n"), "{text}");
        assert!(text.contains("accession_requests_under_way 0\n"), "{text}");
    }
}
