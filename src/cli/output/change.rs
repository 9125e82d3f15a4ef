//! What was changed, as text: for `sync`, `ingest`, `import`, `mirror pull` and others.

use std::io::{self, Write};

use accession::model::count;
use accession::registry::{KeptAnnotations, Skipped};
use accession::{Applied, Instance};

/// Writes a change in one line.
pub fn write_change_line(
    out: &mut impl Write,
    in_force: &Instance,
    [added, removed]: [u64; 2],
) -> io::Result<()> {
    let Instance { dataset, timestamp, granules, identifier, .. } = in_force;
    let sides = sides([added, removed, in_force.described, in_force.replaced]);
    writeln!(out, "{dataset} at {timestamp}: {sides}, holds {granules}, identifier {identifier}")
}

/// How many granules are ingested, deleted, described and replaced: `+2 -1 ~3, 10 described`. The last two
/// are left out where there are none.
pub fn sides([ingested, deleted, described, replaced]: [u64; 4]) -> String {
    let mut sides = format!("+{ingested} -{deleted}");
    if replaced > 0 {
        sides.push_str(&format!(" ~{replaced}"));
    }
    if described > 0 {
        sides.push_str(&format!(", {described} described"));
    }
    sides
}

/// The sides of the change of an instance.
fn sides_of(instance: &Instance) -> String {
    let Instance { ingested, deleted, described, replaced, .. } = *instance;
    sides([ingested, deleted, described, replaced])
}

/// Writes the result of a change.
pub fn write_applied(out: &mut impl Write, applied: &Applied) -> io::Result<()> {
    let Some(instance) = applied.instance() else {
        return match applied.skipped {
            Skipped { held: 1.., .. } => {
                writeln!(out, "no changes: every granule is already held")
            }
            Skipped { missing: 1.., .. } => {
                writeln!(out, "no changes: none of the granules is held")
            }
            _ => writeln!(out, "no changes: the input contains no granules"),
        };
    };
    write_change(out, instance)?;
    writeln!(out, "identifier {}", instance.identifier)
}

/// Writes when a change took effect, and how many granules it ingested and deleted.
pub fn write_change(out: &mut impl Write, change: &Instance) -> io::Result<()> {
    let Instance { dataset, timestamp, granules, .. } = change;
    writeln!(out, "{dataset} at {timestamp}: {}, holds {granules}", sides_of(change))
}

/// Writes how many annotations of a primary are kept from now on.
pub fn write_kept(out: &mut impl Write, annotations: KeptAnnotations) -> io::Result<()> {
    match annotations.added {
        0 => Ok(()),
        added => writeln!(out, "kept {}", count(added, "annotation")),
    }
}

/// Writes that a change was rolled back, with the first granules of each side as examples.
pub fn write_dry_run(out: &mut impl Write, applied: &Applied) -> io::Result<()> {
    for (verb, ids, count) in [
        ("ingest", &applied.first_ingested, applied.added()),
        ("delete", &applied.first_deleted, applied.removed()),
    ] {
        let more = count.saturating_sub(ids.len() as u64);
        ids.iter().try_for_each(|id| writeln!(out, "would {verb} {}", id.as_str()))?;
        if more > 0 {
            writeln!(out, "would {verb} {more} more")?;
        }
    }
    writeln!(out, "dry run: nothing was changed")
}
