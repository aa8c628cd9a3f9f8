//! The calendar: what day a count of seconds is. Nobody here knows what time it is.

/// A moment in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// The year, as 2026.
    pub year: u64,
    /// The month, from 1.
    pub month: u64,
    /// The day of the month, from 1.
    pub day: u64,
    /// The hour, from 0.
    pub hour: u64,
    /// The minute, from 0.
    pub minute: u64,
    /// The second, from 0.
    pub second: u64,
}

impl Moment {
    /// Of this many seconds since 1970.
    pub fn of(seconds: u64) -> Self {
        let (day, time) = (seconds / 86_400, seconds % 86_400);
        // Counted from 0000-03-01, so that a leap day is the last of its year, in eras of 400 years.
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
