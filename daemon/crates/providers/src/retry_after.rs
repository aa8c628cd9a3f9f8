//! Parses how long a provider asks to wait, in all the forms that providers use.
//!
//! The functions are pure: dates are relative to the response's own date, or to the time of its
//! receipt.

use std::sync::LazyLock;
use std::time::Duration;

use regex::Regex;
use serde_json::Value as Json;
use vector_core::calendar::days_since_epoch;

use super::answer_builder::{member_count, member_list, member_text};
use super::failure::ResponseHead;

/// The longest valid hint. A larger number must mean something else.
const MAX_HINT_SECONDS: f64 = 366.0 * 86_400.0;

/// Returns the delay that a response asks for. The most exact hint wins.
pub(super) fn find_retry_after(
    head: &ResponseHead,
    body: &Json,
    text: &str,
    status: Option<u16>,
) -> Option<Duration> {
    let error = &body["error"];
    let now = parse_date(head.header("date")).or(head.received_at.map(|now| now as f64 / 1_000.0));
    let milliseconds = ["retry-after-ms", "x-ms-retry-after-ms"]
        .iter()
        .find_map(|name| head.header(name).parse::<f64>().ok())
        .map(|it| it / 1_000.0);
    let seconds = milliseconds
        .or_else(|| parse_moment(head.header("retry-after"), now))
        .or_else(|| parse_retry_info(error))
        .or_else(|| [error, &error["metadata"], body].into_iter().find_map(parse_body_member))
        .or_else(|| parse_sentence(text))
        .or_else(|| {
            find_limit_reset(head, &error["metadata"]["headers"], now)
                .filter(|_| status == Some(429))
        });
    let seconds = seconds.filter(|it| (0.0..=MAX_HINT_SECONDS).contains(it))?;
    Some(Duration::from_millis((seconds * 1_000.0).round() as u64))
}

/// Parses a number of seconds, a duration, or a date, and returns seconds from `now`.
fn parse_moment(value: &str, now: Option<f64>) -> Option<f64> {
    if let Ok(seconds) = value.parse::<f64>() {
        return Some(seconds);
    }
    parse_duration(value).or_else(|| Some((parse_date(value)? - now?).max(0.0)))
}

/// Parses Google's `RetryInfo` detail.
fn parse_retry_info(error: &Json) -> Option<f64> {
    let mut infos = member_list(error, "details")
        .iter()
        .filter(|detail| member_text(detail, "@type").ends_with("google.rpc.RetryInfo"));
    let delay = &infos.find(|info| !info["retryDelay"].is_null())?["retryDelay"];
    match delay {
        Json::String(delay) => parse_duration(delay),
        delay => Some(
            member_count(delay, "seconds").unwrap_or(0) as f64
                + member_count(delay, "nanos").unwrap_or(0) as f64 / 1e9,
        ),
    }
}

/// Reads the retry fields that some providers put in the body.
fn parse_body_member(value: &Json) -> Option<f64> {
    let number = |name: &str| match &value[name] {
        Json::Number(number) => number.as_f64(),
        Json::String(text) => parse_moment(text, None),
        _ => None,
    };
    number("retry_after_ms")
        .map(|it| it / 1_000.0)
        .or_else(|| number("retry_after_seconds"))
        .or_else(|| number("retry_after"))
        .or_else(|| number("resets_in_seconds"))
}

/// Finds a sentence like "Please try again in 1m30.5s." or "Retry after 26 seconds".
fn parse_sentence(text: &str) -> Option<f64> {
    static ASKED: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let pattern = r"(?i)(?:\b(?:try|retry|retrying)\b[^.\n\d]{0,40}?\b(?:in|after)|retry-after|\bwait(?: for)?)[: ]+(?:about |at least |approximately )?(\d[^\n]*)";
        Regex::new(pattern).ok()
    });
    let found = ASKED.as_ref()?.captures(text)?;
    let (seconds, _) = take_duration(found.get(1)?.as_str())?;
    Some(seconds)
}

/// Returns the latest reset time in the rate limit headers: of the limits that are used up, or if
/// none says so, of those that do not report what remains.
fn find_limit_reset(head: &ResponseHead, beneath: &Json, now: Option<f64>) -> Option<f64> {
    let beneath = beneath.as_object().into_iter().flatten();
    let beneath = beneath.filter_map(|(name, value)| {
        let value = value
            .as_str()
            .map(str::to_owned)
            .or_else(|| value.as_i64().map(|it| it.to_string()))?;
        Some((name.clone(), value))
    });
    let all: Vec<(String, String)> = head
        .headers
        .iter()
        .cloned()
        .chain(beneath)
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .filter(|(name, _)| name.contains("ratelimit"))
        .collect();
    let (mut used_up, mut unknown) = (None, None);
    for (name, value) in all.iter().filter(|(name, _)| name.contains("reset")) {
        let Some(seconds) = parse_instant(value, now) else {
            continue;
        };
        let remaining = name.replace("reset", "remaining");
        let remaining = all.iter().find(|(name, _)| *name == remaining);
        let slot = match remaining.map(|(_, value)| value.parse::<f64>()) {
            Some(Ok(remaining)) if remaining > 0.0 => continue,
            Some(Ok(_)) => &mut used_up,
            _ => &mut unknown,
        };
        *slot = Some(slot.map_or(seconds, |it: f64| it.max(seconds)));
    }
    used_up.or(unknown)
}

/// Like `parse_moment`, but large numbers are seconds or milliseconds since 1970.
fn parse_instant(value: &str, now: Option<f64>) -> Option<f64> {
    match value.parse::<f64>() {
        Ok(number) if number > 1e11 => Some((number / 1_000.0 - now?).max(0.0)),
        Ok(number) if number > 1e9 => Some((number - now?).max(0.0)),
        _ => parse_moment(value, now),
    }
}

/// Parses a duration like `6m0s`, `120ms` or `1 hour 5 minutes` to seconds. The text must contain
/// nothing else.
fn parse_duration(value: &str) -> Option<f64> {
    let (seconds, rest) = take_duration(value.trim())?;
    rest.trim().is_empty().then_some(seconds)
}

/// Parses the duration that a text begins with, and returns the rest of the text.
fn take_duration(text: &str) -> Option<(f64, &str)> {
    let (mut total, mut rest, mut is_found) = (0.0, text, false);
    loop {
        let trimmed = rest.trim_start_matches([' ', ',']);
        let trimmed = trimmed.strip_prefix("and ").filter(|_| is_found).unwrap_or(trimmed);
        let digits =
            trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
        let (number, behind) = trimmed.split_at(digits);
        let behind = behind.trim_start();
        let letters = behind.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(behind.len());
        let (unit, behind) = behind.split_at(letters);
        let (Ok(number), Some(unit)) = (number.parse::<f64>(), unit_seconds(unit)) else {
            return is_found.then_some((total, rest));
        };
        (total, rest, is_found) = (total + number * unit, behind, true);
    }
}

fn unit_seconds(unit: &str) -> Option<f64> {
    Some(match unit.to_ascii_lowercase().as_str() {
        "ms" | "msec" | "millisecond" | "milliseconds" => 0.001,
        "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
        "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
        "h" | "hr" | "hour" | "hours" => 3_600.0,
        "d" | "day" | "days" => 86_400.0,
        _ => return None,
    })
}

/// Parses a date to seconds since 1970: an HTTP date (RFC 9110, all three forms) or RFC 3339.
fn parse_date(value: &str) -> Option<f64> {
    let value = value.trim();
    if let Some((day, time)) = value
        .split_once(['T', 't'])
        .filter(|(day, _)| day.contains('-') && !day.contains(' ') && !day.contains(','))
    {
        return parse_rfc3339(day, time);
    }
    let words = value.split([' ', ',', '-']).filter(|it| !it.is_empty());
    let (mut day, mut month, mut year, mut time) = (None, None, None, None);
    for word in words {
        if word.contains(':') {
            time = parse_clock(word);
        } else if let Ok(number) = word.parse::<u64>() {
            match day {
                None => day = Some(number),
                Some(_) => year = Some(number),
            }
        } else if let Some(found) = parse_month(word) {
            month = Some(found);
        }
    }
    let year = year?;
    // Two-digit years are in this century, because these dates are in the future.
    let year = if year < 100 { year + 2_000 } else { year };
    Some(days_since_epoch(year, month?, day?)? as f64 * 86_400.0 + time?)
}

fn parse_rfc3339(day: &str, time: &str) -> Option<f64> {
    let mut numbers = day.split('-').map(|it| it.parse::<u64>().ok());
    let days = days_since_epoch(numbers.next()??, numbers.next()??, numbers.next()??)?;
    let zone = time.find(|c: char| !c.is_ascii_digit() && c != ':' && c != '.');
    let (time, zone) = time.split_at(zone.unwrap_or(time.len()));
    let offset = match zone.as_bytes().first() {
        Some(sign @ (b'+' | b'-')) => {
            let offset = parse_clock(&format!("{}:00", &zone[1..]))?;
            if *sign == b'+' { offset } else { -offset }
        }
        _ => 0.0,
    };
    Some(days as f64 * 86_400.0 + parse_clock(time)? - offset)
}

/// Parses hours, minutes and seconds, and returns seconds.
fn parse_clock(text: &str) -> Option<f64> {
    let numbers: Option<Vec<f64>> = text.split(':').map(|it| it.parse().ok()).collect();
    let [hours, minutes, seconds] = numbers?.try_into().ok()?;
    Some(hours * 3_600.0 + minutes * 60.0 + seconds)
}

fn parse_month(word: &str) -> Option<u64> {
    const MONTHS: &str = "janfebmaraprmayjunjulaugsepoctnovdec";
    let word = word.get(..3)?.to_ascii_lowercase();
    MONTHS.match_indices(&word).map(|(at, _)| at).find(|at| at % 3 == 0).map(|at| at as u64 / 3 + 1)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(headers: &[(&str, &str)], body: Json, expected: Option<u64>) {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let head = ResponseHead {
            status: 429,
            headers: headers.iter().map(own).collect(),
            received_at: None,
        };
        let words = member_text(&body["error"], "message").to_owned();
        let found =
            find_retry_after(&head, &body, &words, Some(429)).map(|it| it.as_millis() as u64);
        assert_eq!(found, expected, "{headers:?} {body}");
    }

    #[test]
    fn delay_is_read_from_retry_after_headers() {
        check(&[], Json::Null, None);
        check(&[("Retry-After", "20")], Json::Null, Some(20_000));
        check(&[("retry-after", "0.5")], Json::Null, Some(500));
        check(&[("retry-after", "20"), ("retry-after-ms", "150.5")], Json::Null, Some(151));
        check(&[("retry-after", "soon")], Json::Null, None);
        check(&[("retry-after", "-1")], Json::Null, None);
        check(&[("retry-after", "1e300")], Json::Null, None);
        check(&[("retry-after", "NaN")], Json::Null, None);
    }

    #[test]
    fn retry_dates_are_relative_to_the_response_date() {
        let now = ("date", "Sun, 22 Nov 2026 15:06:22 GMT");
        let retry = |value| [now, ("retry-after", value)];
        check(&retry("Sun, 22 Nov 2026 15:07:00 GMT"), Json::Null, Some(38_000));
        check(&retry("Sunday, 22-Nov-26 15:07:00 GMT"), Json::Null, Some(38_000));
        check(&retry("Sun Nov 22 15:07:00 2026"), Json::Null, Some(38_000));
        check(&retry("2026-11-22T15:06:23.5Z"), Json::Null, Some(1_500));
        check(&retry("2026-11-22T17:06:23+02:00"), Json::Null, Some(1_000));
        check(&retry("Sun, 22 Nov 2026 15:00:00 GMT"), Json::Null, Some(0));
        check(&[("retry-after", "Sun, 22 Nov 2026 15:07:00 GMT")], Json::Null, None);
        assert_eq!(parse_date("Thu, 29 Feb 2024 00:00:01 GMT"), Some(1_709_164_801.0));
        assert_eq!(parse_date("1970-01-01T00:00:00Z"), Some(0.0));
    }

    #[test]
    fn delay_is_read_from_rate_limit_resets() {
        let used_up = [
            ("x-ratelimit-remaining-requests", "99"),
            ("x-ratelimit-reset-requests", "8h"),
            ("x-ratelimit-remaining-tokens", "0"),
            ("x-ratelimit-reset-tokens", "6m0.5s"),
        ];
        check(&used_up, Json::Null, Some(360_500));
        check(&[("x-ratelimit-reset", "12")], Json::Null, Some(12_000));
        let epoch =
            [("date", "Thu, 01 Jan 2026 00:00:00 GMT"), ("X-RateLimit-Reset", "1767225605")];
        check(&epoch, Json::Null, Some(5_000));
        let anthropic = [
            ("date", "Thu, 01 Jan 2026 00:00:00 GMT"),
            ("anthropic-ratelimit-input-tokens-remaining", "0"),
            ("anthropic-ratelimit-input-tokens-reset", "2026-01-01T00:01:00Z"),
            ("anthropic-ratelimit-requests-remaining", "5"),
            ("anthropic-ratelimit-requests-reset", "2026-01-01T00:09:00Z"),
        ];
        check(&anthropic, Json::Null, Some(60_000));
        let openrouter = json!({"error": {"metadata": {"headers": {
            "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1767225602000"}}}});
        check(&[("date", "Thu, 01 Jan 2026 00:00:00 GMT")], openrouter, Some(2_000));
        let more = [used_up[2], used_up[3], ("retry-after", "1")];
        check(&more, Json::Null, Some(1_000));
    }

    #[test]
    fn delay_is_read_from_body_fields() {
        let info = |delay: Json| {
            json!({"error": {"details": [
                {"@type": "type.googleapis.com/google.rpc.Help"},
                {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}]}})
        };
        check(&[], info(json!("34.074824224s")), Some(34_075));
        check(&[], info(json!({"seconds": 3, "nanos": 500_000_000})), Some(3_500));
        check(&[], json!({"error": {"retry_after": 4}}), Some(4_000));
        check(&[], json!({"error": {"metadata": {"retry_after_seconds": 9.5}}}), Some(9_500));
    }

    #[test]
    fn delay_is_read_from_error_messages() {
        for (message, expected) in [
            ("Rate limit reached. Please try again in 1.242s. Visit 5 pages.", Some(1_242)),
            ("Please try again in 7m12s.", Some(432_000)),
            ("Please try again in 350ms", Some(350)),
            ("Please retry in 34.07s.", Some(34_070)),
            ("Please retry after 26 seconds.", Some(26_000)),
            ("Retry your request after 1 minute and 5 seconds", Some(65_000)),
            ("Too busy, wait 10 seconds", Some(10_000)),
            ("Please try again in a moment", None),
            ("Try again in 5 parsecs", None),
            ("Limit 30000, used 2 in 1m", None),
        ] {
            check(&[], json!({"error": {"message": message}}), expected);
        }
    }
}
