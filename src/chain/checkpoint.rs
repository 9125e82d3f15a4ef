//! After which ids a checkpoint stands.

/// Whether a checkpoint stands after this id: where the ten low bits of its CRC-32 (IEEE, of the
/// id's bytes) are zero, one id in 1,024 on average.
///
/// The id alone decides, so two archives set checkpoints in the same places, whatever the order
/// their granules came in; a rewind hashes 1,024 ids on average before it reaches the divergence.
pub fn stands_after(granule_id: &str) -> bool {
    crc32fast::hash(granule_id.as_bytes()) & 0x3ff == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_id_in_1024_has_a_checkpoint() {
        let standing = (0..1_024_000).filter(|n| stands_after(&format!("granule.{n}"))).count();
        assert!((900..1_100).contains(&standing), "{standing}");
    }

    #[test]
    fn the_places_are_those_of_crc_32_ieee() {
        // CRC-32/ISO-HDLC: the check value of "123456789" is cbf43926.
        assert_eq!(crc32fast::hash(b"123456789"), 0xcbf4_3926);
        assert!(!stands_after("123456789"));
        assert!(stands_after("granule.1676"), "{:08x}", crc32fast::hash(b"granule.1676"));
    }
}
