//! One step of the chain: MD5 of `hex(link) LF id LF`, or of `id LF` at the start. Contains the compression
//! function of MD5 for one or two chains, and its rounds for many chains (RFC 1321 § 3.4).
//!
//! The tests compare it with the crate `md-5` on messages of every length. A chain cannot begin a step before
//! the previous step ends, so its speed depends on the longest path of dependent operations in one compression.
//! Here, this path is as short as plain Rust allows: a step is 1.3 times as fast as with the `Digest` of `md-5`
//! (`cargo bench --bench sweep`).

use crate::EMPTY;

/// The hash of the ids so far, as four words. `None` means that there are no ids.
pub(crate) type ChainLink = Option<Md5State>;

/// The bytes before the id: 32 hexadecimal characters and LF.
const PREFIX_BYTES: usize = 33;

/// The message that one step hashes, in blocks. The 32 bytes of the link are left zero.
///
/// All chains to which an id is pushed share one message, so it is laid out only once.
#[derive(Debug, Clone, Default)]
pub(crate) struct Message {
    bytes: Vec<u8>,
    /// The number of bytes before the id, and the length of the id in bytes.
    shape: (usize, usize),
}

impl Message {
    /// Makes this the message of a step that is not the first.
    #[inline]
    pub fn set_next(&mut self, granule_id: &str) {
        self.lay_out(PREFIX_BYTES, granule_id);
    }

    /// Makes this the message of the first step.
    #[inline]
    pub fn set_first(&mut self, granule_id: &str) {
        self.lay_out(0, granule_id);
    }

    /// The blocks of the message. Its first 32 bytes are reserved for the link.
    #[inline]
    pub fn blocks(&self) -> &[Block] {
        self.bytes.as_chunks().0
    }

    /// Writes the id after `prefix` bytes, then LF and the padding of MD5: a one bit, zeros, and the
    /// length in bits (RFC 1321 § 3.1 and 3.2).
    #[inline]
    fn lay_out(&mut self, prefix: usize, granule_id: &str) {
        let end = prefix + granule_id.len();
        if self.shape != (prefix, granule_id.len()) || self.bytes.is_empty() {
            let length = end + 1;
            self.bytes.clear();
            self.bytes.resize((length + 1 + 8).next_multiple_of(64) - 8, 0);
            self.bytes.extend_from_slice(&(length as u64 * 8).to_le_bytes());
            if prefix > 0 {
                self.bytes[prefix - 1] = b'\n';
            }
            self.bytes[end] = b'\n';
            self.bytes[end + 1] = 0x80;
            self.shape = (prefix, granule_id.len());
        }
        // The ids of a dataset usually have the same length. Then only these bytes differ.
        self.bytes[prefix..end].copy_from_slice(granule_id.as_bytes());
    }

    /// The hash of the message of a first step.
    #[inline]
    pub fn hash_first(&self) -> Md5State {
        let [state] =
            self.blocks().iter().fold([START], |state, block| compress(state, [&words(block)]));
        state
    }

    /// The hashes of the message with each of these links, side by side.
    ///
    /// It is inlined into the loop that calls it, so that the links stay in registers from id to id. With links
    /// in memory, two chains reach 0.85 of the speed of one chain; with registers, 0.9.
    #[inline(always)]
    pub fn hash_next<const N: usize>(&self, links: [Md5State; N]) -> [Md5State; N] {
        let [first, rest @ ..] = self.blocks() else { return links };
        let mut firsts = [words(first); N];
        for (first, link) in firsts.iter_mut().zip(links) {
            for (words, word) in first.chunks_exact_mut(2).zip(link) {
                words[0] = hex_word(word);
                words[1] = hex_word(word >> 16);
            }
        }
        let states = compress([START; N], firsts.each_ref());
        rest.iter().fold(states, |states, block| {
            let words = words(block);
            compress(states, [&words; N])
        })
    }
}

/// The four hexadecimal characters of the two low bytes of a word, as a word of a message.
///
/// It uses a table because it is on the longest path. With arithmetic, the speed of a step is 0.96 times as
/// high.
#[inline]
fn hex_word(word: u32) -> u32 {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    static PAIRS: [u16; 256] = {
        let mut pairs = [0; 256];
        let mut byte = 0;
        while byte < 256 {
            pairs[byte] = u16::from_le_bytes([DIGITS[byte >> 4], DIGITS[byte & 0xf]]);
            byte += 1;
        }
        pairs
    };
    let pair = |byte: u32| u32::from(PAIRS[(byte & 0xff) as usize]);
    pair(word) | pair(word >> 8) << 16
}

/// The link after one more id.
#[inline]
pub(crate) fn step(link: ChainLink, granule_id: &str, message: &mut Message) -> Md5State {
    match link {
        None => {
            message.set_first(granule_id);
            message.hash_first()
        }
        Some(link) => {
            message.set_next(granule_id);
            let [next] = message.hash_next([link]);
            next
        }
    }
}

/// The bytes of the hash at a link.
pub(crate) fn hash(link: ChainLink) -> [u8; 16] {
    let Some(words) = link else { return EMPTY };
    let mut bytes = [0; 16];
    for (bytes, word) in bytes.chunks_exact_mut(4).zip(words) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

/// The link for a hash; `None` for [`EMPTY`].
pub(crate) fn link(hash: [u8; 16]) -> ChainLink {
    let mut words = [0; 4];
    for (word, bytes) in words.iter_mut().zip(hash.as_chunks().0) {
        *word = u32::from_le_bytes(*bytes);
    }
    (hash != EMPTY).then_some(words)
}

/// The four words of a running hash.
pub(crate) type Md5State = [u32; 4];

/// The part of a message that one compression reads.
pub(crate) type Block = [u8; 64];

/// A block as the sixteen words of RFC 1321.
#[inline(always)]
pub(crate) fn words(block: &Block) -> [u32; 16] {
    let bytes = block.as_chunks::<4>().0;
    std::array::from_fn(|word| u32::from_le_bytes(bytes[word]))
}

/// The state before the first block (RFC 1321 § 3.3).
pub(crate) const START: Md5State = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];

/// The constant of each round: `floor(2^32 * abs(sin(i + 1)))` (RFC 1321 § 3.4).
pub(crate) static SINES: [u32; 64] = [
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391,
];

/// The 64 rounds: calls of `$round!($with, function, a b c d, round, word of the message, rotation)`.
///
/// The names of the four words rotate from round to round, so no value is moved.
macro_rules! rounds {
    ($round:ident!($($with:tt)*), $words:tt) => {
        four_rounds!($round!($($with)*), $words, f1, 0, 0 1 2 3, 7 12 17 22);
        four_rounds!($round!($($with)*), $words, f1, 4, 4 5 6 7, 7 12 17 22);
        four_rounds!($round!($($with)*), $words, f1, 8, 8 9 10 11, 7 12 17 22);
        four_rounds!($round!($($with)*), $words, f1, 12, 12 13 14 15, 7 12 17 22);
        four_rounds!($round!($($with)*), $words, f2, 16, 1 6 11 0, 5 9 14 20);
        four_rounds!($round!($($with)*), $words, f2, 20, 5 10 15 4, 5 9 14 20);
        four_rounds!($round!($($with)*), $words, f2, 24, 9 14 3 8, 5 9 14 20);
        four_rounds!($round!($($with)*), $words, f2, 28, 13 2 7 12, 5 9 14 20);
        four_rounds!($round!($($with)*), $words, f3, 32, 5 8 11 14, 4 11 16 23);
        four_rounds!($round!($($with)*), $words, f3, 36, 1 4 7 10, 4 11 16 23);
        four_rounds!($round!($($with)*), $words, f3, 40, 13 0 3 6, 4 11 16 23);
        four_rounds!($round!($($with)*), $words, f3, 44, 9 12 15 2, 4 11 16 23);
        four_rounds!($round!($($with)*), $words, f4, 48, 0 7 14 5, 6 10 15 21);
        four_rounds!($round!($($with)*), $words, f4, 52, 12 3 10 1, 6 10 15 21);
        four_rounds!($round!($($with)*), $words, f4, 56, 8 15 6 13, 6 10 15 21);
        four_rounds!($round!($($with)*), $words, f4, 60, 4 11 2 9, 6 10 15 21);
    };
}

/// Four rounds, after which the order of the words is the original one.
macro_rules! four_rounds {
    (
        $round:ident!($($with:tt)*), ($a:ident $b:ident $c:ident $d:ident), $f:ident, $i:literal,
        $w0:literal $w1:literal $w2:literal $w3:literal, $t0:literal $t1:literal $t2:literal $t3:literal
    ) => {
        $round!($($with)*, $f, $a $b $c $d, { $i }, $w0, $t0);
        $round!($($with)*, $f, $d $a $b $c, { $i + 1 }, $w1, $t1);
        $round!($($with)*, $f, $c $d $a $b, { $i + 2 }, $w2, $t2);
        $round!($($with)*, $f, $b $c $d $a, { $i + 3 }, $w3, $t3);
    };
}
#[cfg(target_arch = "x86_64")]
pub(crate) use {four_rounds, rounds};

/// The states of some chains after one more block of each chain's message.
///
/// One chain leaves most of the processor idle, since each operation waits for the previous one. Two chains
/// with interleaved rounds take 1.1 to 1.4 times as long as one.
#[inline(always)]
pub(crate) fn compress<const N: usize>(
    states: [Md5State; N],
    blocks: [&[u32; 16]; N],
) -> [Md5State; N] {
    // Hides the constants from the optimiser. Otherwise, it adds each constant last, on the longest path,
    // although message word and constant can be added long before: 3.9 M steps/s instead of 4.7.
    let sines = std::hint::black_box(&SINES);
    let [mut a, mut b, mut c, mut d]: [[u32; N]; 4] =
        std::array::from_fn(|word| std::array::from_fn(|chain| states[chain][word]));
    macro_rules! round {
        (_, $f:ident, $a:ident $b:ident $c:ident $d:ident, $i:block, $word:literal, $turn:literal) => {
            for n in 0..N {
                let early = $a[n].wrapping_add(blocks[n][$word].wrapping_add(sines[$i]));
                $a[n] = $f(early, $b[n], $c[n], $d[n]).rotate_left($turn).wrapping_add($b[n]);
            }
        };
    }
    rounds!(round!(_), (a b c d));
    std::array::from_fn(|n| {
        let [first, second, third, fourth] = states[n];
        [
            first.wrapping_add(a[n]),
            second.wrapping_add(b[n]),
            third.wrapping_add(c[n]),
            fourth.wrapping_add(d[n]),
        ]
    })
}

// The four functions of RFC 1321, added to `early`. `b` is the input that is computed last.

#[inline(always)]
fn f1(early: u32, b: u32, c: u32, d: u32) -> u32 {
    early.wrapping_add(d ^ (b & (c ^ d)))
}

/// The two halves share no bit, so both can be added. The half without `b` is added early.
#[inline(always)]
fn f2(early: u32, b: u32, c: u32, d: u32) -> u32 {
    early.wrapping_add(c & !d).wrapping_add(b & d)
}

#[inline(always)]
fn f3(early: u32, b: u32, c: u32, d: u32) -> u32 {
    early.wrapping_add((c ^ d) ^ b)
}

#[inline(always)]
fn f4(early: u32, b: u32, c: u32, d: u32) -> u32 {
    early.wrapping_add(c ^ (b | !d))
}

#[cfg(test)]
mod tests {
    use ::md5::{Digest, Md5};

    use super::*;

    /// The hash after one more id, computed with the crate `md-5`.
    fn expected(link: ChainLink, granule_id: &str) -> [u8; 16] {
        let text = match link {
            Some(_) => format!("{}\n{granule_id}\n", hex::encode(hash(link))),
            None => format!("{granule_id}\n"),
        };
        Md5::digest(text).into()
    }

    #[test]
    fn a_step_agrees_with_the_crate_md_5_for_ids_of_every_length() {
        let mut message = Message::default();
        let mut last = None;
        for length in 0..1_200 {
            let text: String = (0..length).map(|n| char::from(b'!' + (n * 7 % 94) as u8)).collect();
            for link in [None, last] {
                let next = step(link, &text, &mut message);
                assert_eq!(hash(Some(next)), expected(link, &text), "{length} bytes");
                last = Some(next);
            }
        }
    }

    #[test]
    fn a_hash_and_its_link_have_the_same_bytes() {
        let bytes: [u8; 16] = std::array::from_fn(|index| index as u8 + 1);
        assert_eq!(hash(link(bytes)), bytes);
        assert_eq!(link(EMPTY), None);
        assert_eq!(hash(None), <[u8; 16]>::from(Md5::digest("")));
    }
}
