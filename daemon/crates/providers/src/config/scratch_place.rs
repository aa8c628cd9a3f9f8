//! The scratch place of the settings: the place on Roblox in which specs run.

use std::str::FromStr;

/// A place that nobody plays, as in `123/456`: the ids of its universe and of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScratchPlace {
    pub universe: u64,
    pub place: u64,
}

impl FromStr for ScratchPlace {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let id = |text: &str| text.parse::<u64>().ok().filter(|id| *id > 0);
        let ids = text.split_once('/');
        let found = ids.and_then(|(universe, place)| Some((id(universe)?, id(place)?)));
        found.map(|(universe, place)| Self { universe, place }).ok_or_else(|| {
            "name the universe and the place by their IDs, as in 123/456; both are in the menu of the \
             place at https://create.roblox.com/dashboard/creations"
                .to_owned()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scratch_place_is_two_ids() {
        assert_eq!("1/23".parse(), Ok(ScratchPlace { universe: 1, place: 23 }));
        for other in ["", "1", "1/", "/2", "0/2", "1/2/3", "a/b", "-1/2"] {
            let why = other.parse::<ScratchPlace>().unwrap_err();
            assert!(why.contains("123/456"), "{other}: {why}");
        }
    }
}
