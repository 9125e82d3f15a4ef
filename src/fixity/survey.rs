//! What is known of all files before the first one is read.

use super::check::RecordedFile;
use crate::error::Result;

/// The least number of paths in a sample of more files.
const SAMPLED: usize = 1_000;

/// The number and the size of files, and a sample of their paths.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Survey {
    /// The number of files.
    pub files: u64,
    /// The sum of the known sizes, in bytes.
    pub bytes: u64,
    /// The paths of 1,000 to 2,000 files that are evenly distributed over all of them, or of all files if
    /// they are fewer.
    pub sample: Vec<String>,
}

impl Survey {
    /// Reads all files once.
    ///
    /// # Errors
    ///
    /// Those of the iterator.
    pub fn of(files: impl IntoIterator<Item = Result<RecordedFile>>) -> Result<Self> {
        let mut survey = Survey::default();
        // Whenever the sample is full, every other path is dropped, and half as many are added from then on.
        let mut stride = 1;
        for file in files {
            let file = file?;
            if survey.files.is_multiple_of(stride) {
                survey.sample.push(file.path);
            }
            survey.files += 1;
            survey.bytes += file.size.unwrap_or(0);
            if survey.sample.len() > 2 * SAMPLED {
                let mut is_kept = false;
                survey.sample.retain(|_| {
                    is_kept = !is_kept;
                    is_kept
                });
                stride *= 2;
            }
        }
        Ok(survey)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_spread_evenly_over_all_files() {
        for count in [0, 1, 1_000, 2_000, 2_001, 2_002, 5_000, 100_003_u64] {
            let files = (0..count).map(|number| {
                let mut file = RecordedFile::unrecorded(number.to_string().parse().unwrap());
                file.size = number.is_multiple_of(2).then_some(3);
                Ok(file)
            });
            let survey = Survey::of(files).unwrap();
            assert_eq!((survey.files, survey.bytes), (count, count.div_ceil(2) * 3));
            let sampled: Vec<u64> = survey.sample.iter().map(|it| it.parse().unwrap()).collect();
            let stride = sampled.get(1).copied().unwrap_or(1);
            let expected: Vec<u64> = (0..count).step_by(stride as usize).collect();
            assert_eq!(sampled, expected);
            assert!(sampled.len() as u64 == count || (1_000..=2_000).contains(&sampled.len()));
        }
    }
}
