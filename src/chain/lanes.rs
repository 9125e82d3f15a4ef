//! Independent chains side by side: one id is pushed to many of them at once.
//!
//! Each chain uses one lane of the processor's vectors. The message is the same in all lanes, except
//! for the link. The instructions are chosen at run time; the result is the same with all of them,
//! and the tests compare each with the plain loop.
//!
//! # Unsafe code
//!
//! The two calls of functions compiled for AVX2 and AVX-512 are the only unsafe code in this crate.
//! They are sound because only [`Lanes::all`] makes a [`Lanes`] that uses these instructions, and it
//! asks the processor first. Everything in the called functions is safe: they use no pointers, and
//! read and write through slices only.

use super::md5::{Block, State};
use super::step::Message;
#[cfg(target_arch = "x86_64")]
use super::vectors::{avx2, avx512};

/// The words of many links: the first word of each, then the second word of each, and so on.
pub(super) type Words<'links> = [&'links mut [u32]; 4];

/// The instructions that hash chains side by side; the result is the same with all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lanes(Instructions);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Instructions {
    Plain,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Lanes {
    /// Two chains at a time, without vectors.
    pub fn plain() -> Self {
        Lanes(Instructions::Plain)
    }

    /// The fastest instructions that this processor has.
    pub fn fastest() -> Self {
        Lanes::all().last().copied().unwrap_or(Lanes::plain())
    }

    /// All that this processor has, the fastest last.
    pub fn all() -> Vec<Self> {
        let mut all = vec![Instructions::Plain];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") {
                all.push(Instructions::Avx2);
            }
            if is_x86_feature_detected!("avx512f") {
                all.push(Instructions::Avx512);
            }
        }
        all.into_iter().map(Lanes).collect()
    }

    /// The name of the instructions: `plain`, `AVX2` or `AVX-512`.
    pub fn name(self) -> &'static str {
        match self.0 {
            Instructions::Plain => "plain",
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => "AVX2",
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512 => "AVX-512",
        }
    }

    /// Pushes the id of a message to every link.
    #[inline]
    pub(super) fn push(self, links: Words<'_>, message: &Message) {
        match self.0 {
            Instructions::Plain => push_each(links, message),
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => in_groups(links, message, |links, blocks| {
                // SAFETY: `Lanes::all` found that the processor has AVX2.
                #[expect(unsafe_code, reason = "the function needs AVX2, which the processor has")]
                unsafe {
                    avx2::push(links, blocks);
                }
            }),
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512 => in_groups(links, message, |links, blocks| {
                // SAFETY: `Lanes::all` found that the processor has AVX-512 F.
                #[expect(
                    unsafe_code,
                    reason = "the function needs AVX-512 F, which the processor has"
                )]
                unsafe {
                    avx512::push(links, blocks);
                }
            }),
        }
    }
}

/// Pushes the id to two links at a time.
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
    let next: [State; N] =
        message.hash_next(lanes.map(|lane| links.each_ref().map(|words| words[lane])));
    for (lane, next) in lanes.into_iter().zip(next) {
        for (words, word) in links.iter_mut().zip(next) {
            words[lane] = word;
        }
    }
}

/// The fewest links that are hashed as a group; a group costs about as much as four single links.
#[cfg(target_arch = "x86_64")]
const FEWEST_IN_GROUP: usize = 4;

/// Pushes to the links in groups of `LANES`; the last group is filled up with zeros.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_instructions_have_a_name_and_the_plain_ones_come_first() {
        let all = Lanes::all();
        assert_eq!(all.first(), Some(&Lanes::plain()));
        assert_eq!(all.last(), Some(&Lanes::fastest()));
        let names: Vec<_> = all.iter().map(|lanes| lanes.name()).collect();
        assert_eq!(names, ["plain", "AVX2", "AVX-512"][..names.len()]);
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
