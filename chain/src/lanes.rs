//! Independent chains side by side: one id is pushed to many of them at once.
//!
//! Each chain uses one lane of the processor's vectors. The message is the same in all lanes, except for the
//! link. The instructions are chosen at run time. The result is the same with all of them, and the tests
//! compare each with the plain loop.
//!
//! # Unsafe code
//!
//! The call of the function that is compiled for AVX2 is the only unsafe code in this crate. It is sound
//! because only [`Lanes::fastest`] makes a [`Lanes`] that uses these instructions, and it checks the processor
//! first. Everything in the called function is safe: it uses no pointers, and reads and writes through slices
//! only.
//!
//! AVX-512 would double the speed of this step. It is left out because it needs a second version of the step,
//! and `verify` would gain less than that (how much was not measured): beside each chain it hashes the list
//! with SHA-256, which has no lanes. Loops over lanes in plain Rust, which the compiler vectorises, reach a
//! third of the speed of AVX2.

#[cfg(target_arch = "x86_64")]
use crate::step::Block;
use crate::step::{Md5State, Message};

/// The words of many links: the first word of each, then the second word of each, and so on.
pub(crate) type Words<'links> = [&'links mut [u32]; 4];

/// The instructions that hash chains side by side. The result is the same with all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lanes {
    /// Whether AVX2 is used. If so, this processor has it.
    avx2: bool,
}

impl Lanes {
    /// Two chains at a time, without vectors.
    pub fn plain() -> Self {
        Lanes { avx2: false }
    }

    /// The fastest instructions that this processor has.
    pub fn fastest() -> Self {
        #[cfg(target_arch = "x86_64")]
        let avx2 = is_x86_feature_detected!("avx2");
        #[cfg(not(target_arch = "x86_64"))]
        let avx2 = false;
        Lanes { avx2 }
    }

    /// All instructions that this processor has, the fastest last.
    pub fn all() -> Vec<Self> {
        let mut all = vec![Lanes::plain(), Lanes::fastest()];
        all.dedup();
        all
    }

    /// The name of the instructions: `plain` or `AVX2`.
    pub fn name(self) -> &'static str {
        if self.avx2 { "AVX2" } else { "plain" }
    }

    /// Pushes the id of a message to every link.
    #[inline]
    pub(crate) fn push(self, links: Words<'_>, message: &Message) {
        #[cfg(target_arch = "x86_64")]
        if self.avx2 {
            return in_groups(links, message, |links, blocks| {
                // SAFETY: `Lanes::fastest` found that the processor has AVX2.
                #[expect(unsafe_code, reason = "the function needs AVX2, which the processor has")]
                unsafe {
                    avx2::push(links, blocks);
                }
            });
        }
        push_each(links, message);
    }
}

/// Pushes the id to the links, two at a time.
fn push_each(mut links: Words<'_>, message: &Message) {
    let count = links[0].len();
    for lane in (0..count / 2).map(|pair| 2 * pair) {
        push_to(&mut links, [lane, lane + 1], message);
    }
    if !count.is_multiple_of(2) {
        push_to(&mut links, [count - 1], message);
    }
}

#[inline(always)]
fn push_to<const N: usize>(links: &mut Words<'_>, lanes: [usize; N], message: &Message) {
    let next: [Md5State; N] =
        message.hash_next(lanes.map(|lane| links.each_ref().map(|words| words[lane])));
    for (lane, next) in lanes.into_iter().zip(next) {
        for (words, word) in links.iter_mut().zip(next) {
            words[lane] = word;
        }
    }
}

/// The fewest links that are hashed as a group: a group costs about as much as four single links.
#[cfg(target_arch = "x86_64")]
const FEWEST_IN_GROUP: usize = 4;

/// Pushes the id to the links in groups of `LANES`. The last group is filled up with zeros.
#[cfg(target_arch = "x86_64")]
fn in_groups<const LANES: usize>(
    links: Words<'_>,
    message: &Message,
    push: impl Fn([&mut [u32; LANES]; 4], &[Block]),
) {
    let whole = links[0].len() / LANES * LANES;
    let [(a, a_rest), (b, b_rest), (c, c_rest), (d, d_rest)] =
        links.map(|words| words.split_at_mut(whole));
    let groups = a.as_chunks_mut().0.iter_mut().zip(b.as_chunks_mut().0);
    let groups = groups.zip(c.as_chunks_mut().0).zip(d.as_chunks_mut().0);
    for (((a, b), c), d) in groups {
        push([a, b, c, d], message.blocks());
    }
    let rest = [a_rest, b_rest, c_rest, d_rest];
    let count = rest[0].len();
    if count < FEWEST_IN_GROUP {
        return push_each(rest, message);
    }
    let mut filled = [[0; LANES]; 4];
    for (filled, rest) in filled.iter_mut().zip(&rest) {
        filled[..count].copy_from_slice(rest);
    }
    push(filled.each_mut(), message.blocks());
    for (filled, rest) in filled.iter().zip(rest) {
        rest.copy_from_slice(&filled[..count]);
    }
}

/// The step for three vectors of eight links.
#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    use crate::step::{Block, SINES, START, four_rounds, rounds, words};

    /// One of the 64 rounds.
    macro_rules! vector_round {
        (
            $has_link:ident $link:ident $block:ident,
            $f:ident, $a:ident $b:ident $c:ident $d:ident, $i:block, $word:literal, $turn:literal
        ) => {
            let early = add($a, addend::<$has_link, $i, $word>($link, $block));
            $a = add(turn::<$turn, { 32 - $turn }>(add(early, $f($b, $c, $d))), $b);
        };
    }

    /// Defines an operation on several vectors by the operation on one.
    macro_rules! each_vector {
        ($name:ident $(<$($shift:ident: $kind:ty),*>)? ($($from:ident),*) $result:expr) => {
            #[target_feature(enable = "avx2")]
            #[inline]
            fn $name $(<$(const $shift: $kind),*>)? ($($from: Vectors),*) -> Vectors {
                let mut results = splat(0);
                for at in 0..VECTORS {
                    $(let $from = $from[at];)*
                    results[at] = $result;
                }
                results
            }
        };
    }

    const VECTORS: usize = 3;
    const WIDTH: usize = 8;
    type Vectors = [__m256i; VECTORS];

    #[target_feature(enable = "avx2")]
    #[inline]
    fn splat(word: u32) -> Vectors {
        [_mm256_set1_epi32(word as i32); VECTORS]
    }

    each_vector!(add(x, y) _mm256_add_epi32(x, y));
    each_vector!(sub(x, y) _mm256_sub_epi32(x, y));
    each_vector!(and(x, y) _mm256_and_si256(x, y));
    each_vector!(or(x, y) _mm256_or_si256(x, y));
    each_vector!(shift_left<BY: i32>(x) _mm256_slli_epi32::<BY>(x));
    each_vector!(shift_right<BY: i32>(x) _mm256_srli_epi32::<BY>(x));
    each_vector!(turn<LEFT: i32, RIGHT: i32>(x)
        _mm256_or_si256(_mm256_slli_epi32::<LEFT>(x), _mm256_srli_epi32::<RIGHT>(x)));

    // The functions of RFC 1321 § 3.4. `f1` and `f2` have a form with one operation less.
    each_vector!(f1(b, c, d) _mm256_xor_si256(d, _mm256_and_si256(b, _mm256_xor_si256(c, d))));
    each_vector!(f2(b, c, d) _mm256_xor_si256(c, _mm256_and_si256(d, _mm256_xor_si256(b, c))));
    each_vector!(f3(b, c, d) _mm256_xor_si256(_mm256_xor_si256(c, d), b));
    each_vector!(f4(b, c, d)
        _mm256_xor_si256(c, _mm256_or_si256(b, _mm256_xor_si256(d, _mm256_set1_epi32(-1)))));

    #[target_feature(enable = "avx2")]
    #[inline]
    fn load(words: &[u32; LANES]) -> Vectors {
        let mut vectors = splat(0);
        for (vector, words) in vectors.iter_mut().zip(words.as_chunks::<WIDTH>().0) {
            let [a, b, c, d, e, f, g, h] = words.map(|word| word as i32);
            *vector = _mm256_setr_epi32(a, b, c, d, e, f, g, h);
        }
        vectors
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn store(vectors: Vectors, words: &mut [u32; LANES]) {
        for (vector, words) in vectors.into_iter().zip(words.as_chunks_mut::<WIDTH>().0) {
            *words = [
                _mm256_extract_epi32::<0>(vector) as u32,
                _mm256_extract_epi32::<1>(vector) as u32,
                _mm256_extract_epi32::<2>(vector) as u32,
                _mm256_extract_epi32::<3>(vector) as u32,
                _mm256_extract_epi32::<4>(vector) as u32,
                _mm256_extract_epi32::<5>(vector) as u32,
                _mm256_extract_epi32::<6>(vector) as u32,
                _mm256_extract_epi32::<7>(vector) as u32,
            ];
        }
    }

    /// The number of links that are hashed at once.
    pub const LANES: usize = VECTORS * WIDTH;

    /// The value that one round adds: the word of the message plus the constant of the round.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn addend<const HAS_LINK: bool, const ROUND: usize, const WORD: usize>(
        link: &[Vectors; 8],
        block: &[u32; 16],
    ) -> Vectors {
        if HAS_LINK && WORD < 8 {
            add(link[WORD & 7], splat(SINES[ROUND]))
        } else {
            splat(block[WORD].wrapping_add(SINES[ROUND]))
        }
    }

    /// The state after one more block. `link` contains the first eight words of the first block.
    #[target_feature(enable = "avx2")]
    fn compress<const HAS_LINK: bool>(
        state: [Vectors; 4],
        link: &[Vectors; 8],
        block: &[u32; 16],
    ) -> [Vectors; 4] {
        let [mut a, mut b, mut c, mut d] = state;
        rounds!(vector_round!(HAS_LINK link block), (a b c d));
        [add(state[0], a), add(state[1], b), add(state[2], c), add(state[3], d)]
    }

    /// The four hexadecimal characters of the two low bytes of each word.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn hex_words(words: Vectors) -> Vectors {
        let bytes = and(words, splat(0xffff));
        let bytes = and(or(bytes, shift_left::<8>(bytes)), splat(0x00ff_00ff));
        let high = and(shift_right::<4>(bytes), splat(0x000f_000f));
        let low = shift_left::<8>(and(bytes, splat(0x000f_000f)));
        let digits = or(high, low);
        // 1 in each byte that is ten or more: adding six carries into the upper half of the byte.
        let letters = shift_right::<4>(add(digits, splat(0x0606_0606)));
        let letters = and(letters, splat(0x0101_0101));
        // 'a' is '9' + 1 + 39, and 39 is 32 + 8 - 1.
        let to_letters = add(shift_left::<5>(letters), shift_left::<3>(letters));
        sub(add(add(digits, splat(0x3030_3030)), to_letters), letters)
    }

    /// Pushes the id of a message to each of these links.
    #[target_feature(enable = "avx2")]
    pub fn push(links: [&mut [u32; LANES]; 4], blocks: &[Block]) {
        let mut link = [splat(0); 8];
        for (pair, word) in link.chunks_exact_mut(2).zip(&links) {
            let word = load(word);
            pair[0] = hex_words(word);
            pair[1] = hex_words(shift_right::<16>(word));
        }
        let start = [splat(START[0]), splat(START[1]), splat(START[2]), splat(START[3])];
        let mut state = compress::<true>(start, &link, &words(&blocks[0]));
        for block in &blocks[1..] {
            state = compress::<false>(state, &link, &words(block));
        }
        for (link, state) in links.into_iter().zip(state) {
            store(state, link);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_instructions_have_a_name_and_the_plain_ones_come_first() {
        let all = Lanes::all();
        assert_eq!(all.first(), Some(&Lanes::plain()));
        assert_eq!(all.last(), Some(&Lanes::fastest()));
        let names: Vec<_> = all.iter().map(|lanes| lanes.name()).collect();
        assert_eq!(names, ["plain", "AVX2"][..names.len()]);
    }

    #[test]
    fn all_instructions_give_the_result_of_one_link_after_another() {
        let mut message = Message::default();
        for count in (0..100).chain([1_000]) {
            let link = |lane: usize, word: usize| (lane * 4 + word) as u32 ^ 0x9e37_79b9;
            let start: [Vec<u32>; 4] =
                std::array::from_fn(|word| (0..count).map(|lane| link(lane, word)).collect());
            for length in [0, 1, 20, 21, 22, 48, 84, 85, 86, 150, 1_024] {
                message.set_next(&"granule.".repeat(128)[..length]);
                let pushed = |lanes: Lanes| {
                    let mut links = start.clone();
                    for _ in 0..3 {
                        lanes.push(links.each_mut().map(Vec::as_mut_slice), &message);
                    }
                    links
                };
                let mut expected = start.clone();
                for lane in 0..count {
                    let mut link = start.each_ref().map(|words| words[lane]);
                    for _ in 0..3 {
                        [link] = message.hash_next([link]);
                    }
                    expected.iter_mut().zip(link).for_each(|(words, word)| words[lane] = word);
                }
                for lanes in Lanes::all() {
                    let pushed = pushed(lanes);
                    assert_eq!(pushed, expected, "{lanes:?}, {count} links, {length} bytes");
                }
            }
        }
    }
}
