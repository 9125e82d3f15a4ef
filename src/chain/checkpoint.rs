//! Which ids are followed by a checkpoint.

/// Whether a checkpoint follows this id: true if the ten low bits of the CRC-32 (IEEE) of the id's
/// bytes are zero, which is the case for one id in 1,024 on average.
///
/// The id alone decides, so two archives have their checkpoints after the same ids, whatever the
/// order in which their granules were ingested. A rewind hashes 1,024 ids on average before it
/// reaches the first id that differs.
#[inline]
pub fn is_checkpoint(granule_id: &str) -> bool {
    crc32fast::hash(granule_id.as_bytes()) & 0x3ff == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_id_in_1024_has_a_checkpoint() {
        let checkpoints = (0..1_024_000).filter(|n| is_checkpoint(&format!("granule.{n}"))).count();
        assert!((900..1_100).contains(&checkpoints), "{checkpoints}");
    }

    #[test]
    fn checkpoints_are_chosen_by_crc_32_ieee() {
        // CRC-32/ISO-HDLC: the check value of "123456789" is cbf43926.
        assert_eq!(crc32fast::hash(b"123456789"), 0xcbf4_3926);
        assert!(!is_checkpoint("123456789"));
        assert!(is_checkpoint("granule.1676"), "{:08x}", crc32fast::hash(b"granule.1676"));
    }
}
