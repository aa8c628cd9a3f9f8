//! Decides whether a failed request is retried, and after which pause.
//!
//! The functions are pure: the caller provides the random numbers.

use std::time::Duration;

/// The first pause, which is then doubled.
pub const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// The longest pause that Vector chooses itself.
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// The longest pause that a provider may request. For a longer one, the user is informed instead.
pub const MAX_RETRY_AFTER: Duration = Duration::from_mins(2);

/// The result of a request, as far as it matters for a retry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RetryVerdict {
    pub is_ok: bool,
    /// Whether the same request may succeed next time.
    pub is_retryable: bool,
    /// The pause that the provider requested, if any.
    pub retry_after: Option<Duration>,
    /// Whether the request was too long for the model. It then has to become shorter, and is not
    /// retried.
    pub is_context_overflow: bool,
    /// What went wrong, as a sentence.
    pub reason: String,
}

/// Returns the pause before the next attempt; None if there must be none. `tried` is the number of
/// attempts so far, from 1. `dice` is a random number.
pub fn retry_pause(
    verdict: &RetryVerdict,
    tried: u32,
    retries: u32,
    first: Duration,
    random: u32,
) -> Option<Duration> {
    let is_vain = verdict.is_ok || !verdict.is_retryable || verdict.is_context_overflow;
    if is_vain || tried > retries {
        return None;
    }
    if let Some(delay) = verdict.retry_after {
        // Never earlier than requested, and with jitter, so that clients do not retry all at once.
        return (delay <= MAX_RETRY_AFTER).then(|| delay + scale_duration(first / 4, random));
    }
    let whole = first.saturating_mul(1 << (tried - 1).min(16)).min(MAX_PAUSE);
    Some(whole / 2 + scale_duration(whole / 2, random))
}

/// Scales a duration by `dice`.
fn scale_duration(whole: Duration, random: u32) -> Duration {
    whole.mul_f64(f64::from(random) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed() -> RetryVerdict {
        RetryVerdict { is_retryable: true, ..RetryVerdict::default() }
    }

    #[test]
    fn retry_pauses_double_up_to_a_limit() {
        let pause =
            |tried, dice| retry_pause(&failed(), tried, 10, FIRST_PAUSE, dice).unwrap().as_millis();
        assert_eq!([pause(1, 0), pause(2, 0), pause(3, 0)], [500, 1_000, 2_000]);
        assert_eq!([pause(1, u32::MAX), pause(2, u32::MAX)], [1_000, 2_000]);
        assert_eq!([pause(10, 0), pause(10, u32::MAX)], [15_000, 30_000]);
    }

    #[test]
    fn hopeless_requests_are_not_retried() {
        let none = |verdict: RetryVerdict, tried| {
            assert_eq!(retry_pause(&verdict, tried, 3, FIRST_PAUSE, 0), None, "{verdict:?}");
        };
        none(RetryVerdict { is_retryable: false, ..failed() }, 1);
        none(RetryVerdict { is_ok: true, ..failed() }, 1);
        none(RetryVerdict { is_context_overflow: true, ..failed() }, 1);
        none(failed(), 4);
        none(RetryVerdict { retry_after: Some(MAX_RETRY_AFTER * 2), ..failed() }, 1);
        assert!(retry_pause(&failed(), 3, 3, FIRST_PAUSE, 0).is_some());
        assert_eq!(retry_pause(&failed(), 1, 0, FIRST_PAUSE, 0), None);
    }

    #[test]
    fn retry_after_delay_is_never_undercut() {
        let asked = Duration::from_secs(40);
        let verdict = RetryVerdict { retry_after: Some(asked), ..failed() };
        assert_eq!(retry_pause(&verdict, 1, 3, FIRST_PAUSE, 0), Some(asked));
        let late = retry_pause(&verdict, 1, 3, FIRST_PAUSE, u32::MAX).unwrap();
        assert!(late >= asked && late <= asked + FIRST_PAUSE);
    }
}
