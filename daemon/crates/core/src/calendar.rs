//! Conversion between counts of seconds or days and UTC dates. It never reads the clock.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UtcMoment {
    pub year: u64,
    pub month: u64,
    pub day: u64,
    pub hour: u64,
    pub minute: u64,
    pub second: u64,
}

/// Parses a date such as `2026-12-01` into days since 1970-01-01; None if it is not a valid date.
pub fn parse_date(date: &str) -> Option<u64> {
    let is_plain = date.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    let mut parts = date.split('-').map(|part| part.parse::<u64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    if !is_plain || parts.next().is_some() {
        return None;
    }
    days_since_epoch(year, month, day)
}

/// Returns the days since 1970-01-01; None if it is not a valid date, or after 9999.
pub fn days_since_epoch(year: u64, month: u64, day: u64) -> Option<u64> {
    if !(1970..10_000).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Days are counted from 0000-03-01, as in `from_seconds`.
    let (years, months) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let before = 365 * years + years / 4 - years / 100 + years / 400;
    let days = (before + (153 * months + 2) / 5 + day).checked_sub(719_469)?;
    let back = UtcMoment::from_seconds(days * 86_400);
    ((back.month, back.day) == (month, day)).then_some(days)
}

/// Formats days since 1970-01-01 as a date such as `2026-12-01`.
pub fn format_date(day: u64) -> String {
    let UtcMoment { year, month, day, .. } = UtcMoment::from_seconds(day * 86_400);
    format!("{year:04}-{month:02}-{day:02}")
}

impl UtcMoment {
    /// Converts seconds since 1970-01-01.
    pub fn from_seconds(seconds: u64) -> Self {
        let (day, time) = (seconds / 86_400, seconds % 86_400);
        // Days are counted from 0000-03-01, so a leap day is the last of its year, in eras of 400
        // years.
        let day = day + 719_468;
        let (era, day) = (day / 146_097, day % 146_097);
        let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
        let day = day - (365 * year + year / 4 - year / 100);
        let month = (5 * day + 2) / 153;
        let date = day - (153 * month + 2) / 5 + 1;
        let month = if month < 10 { month + 3 } else { month - 9 };
        Self {
            year: era * 400 + year + u64::from(month <= 2),
            month,
            day: date,
            hour: time / 3_600,
            minute: time / 60 % 60,
            second: time % 60,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{format_date, parse_date};

    #[test]
    fn dates_round_trip_and_invalid_ones_are_rejected() {
        for count in (0..60_000).step_by(7).chain([59, 60, 11_016, 11_017, 47_540, 47_541]) {
            assert_eq!(parse_date(&format_date(count)), Some(count));
        }
        for no in ["", "2026", "2026-12", "2026-02-29", "2026-13-01", "2026-00-01", "2026-12-00"] {
            assert_eq!(parse_date(no), None, "{no}");
        }
        for no in
            ["1969-12-31", "2026-12-01-1", "+2026-12-01", "2026-12-99", "99999-01-01", "x-1-1"]
        {
            assert_eq!(parse_date(no), None, "{no}");
        }
    }
}
