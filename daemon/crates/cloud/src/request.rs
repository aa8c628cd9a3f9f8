//! A request as data, before it is sent.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// What stays as it is in a query: RFC 3986's unreserved characters.
const QUERY: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The host of Open Cloud and the Creator Store.
pub(crate) const APIS: &str = "apis.roblox.com";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloudRequest {
    pub host: &'static str,
    /// The path, which begins with `/`.
    pub path: String,
    /// The query, in its order.
    pub query: Vec<(&'static str, String)>,
}

impl CloudRequest {
    pub fn new(host: &'static str, path: &str) -> Self {
        Self { host, path: path.to_owned(), query: Vec::new() }
    }

    /// Adds a parameter of the query.
    #[must_use]
    pub fn with_query(mut self, name: &'static str, value: impl ToString) -> Self {
        self.query.push((name, value.to_string()));
        self
    }

    /// Returns the path with the query, percent-encoded.
    pub fn target(&self) -> String {
        let mut target = self.path.clone();
        for (at, (name, value)) in self.query.iter().enumerate() {
            target.push(if at == 0 { '?' } else { '&' });
            target.push_str(name);
            target.push('=');
            target.extend(utf8_percent_encode(value, QUERY));
        }
        target
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn query_is_percent_encoded() {
        let request = CloudRequest::new(APIS, "/v1/x")
            .with_query("query", "a tree & ümlaut+1")
            .with_query("maxPageSize", 25);
        assert_eq!(request.target(), "/v1/x?query=a%20tree%20%26%20%C3%BCmlaut%2B1&maxPageSize=25");
    }
}
