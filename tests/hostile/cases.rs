//! Files that once did harm, one by one.
