//! The edit engine: every way of describing a change of a text becomes sorted ranges.
