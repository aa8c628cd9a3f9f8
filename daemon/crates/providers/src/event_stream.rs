//! A reader of AWS's binary event stream.
//!
//! A message consists of its total length, the length of its headers and the checksum of both
//! lengths (4 bytes each, big endian), then headers, payload, and the checksum of all bytes before
//! it. Checksums are CRC-32 as in gzip, and both are verified before a message is returned. Source:
//! <https://docs.aws.amazon.com/AmazonS3/latest/API/RESTSelectObjectAppendix.html>.

/// The size of the prelude: two lengths and their checksum.
const PRELUDE_BYTES: usize = 12;
const CHECKSUM_BYTES: usize = 4;
/// The size limit of a message. AWS itself allows 24 MB.
const MAX_MESSAGE_BYTES: usize = 24 << 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StreamMessage {
    headers: Vec<(String, String)>,
    pub(super) payload: Vec<u8>,
}

impl StreamMessage {
    /// Returns the value of a string header.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(it, _)| it == name).map(|(_, value)| value.as_str())
    }
}

/// The reason the bytes are not an event stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum StreamError {
    #[error("a checksum of the event stream does not match: the data was damaged in transit")]
    Checksum,
    #[error("a message of the event stream has impossible lengths")]
    Length,
    #[error("a message of the event stream has invalid headers")]
    Headers,
}

/// Reads messages from bytes that are split anywhere. After an error, it returns no more messages.
#[derive(Debug, Default)]
pub(super) struct EventStream {
    bytes: Vec<u8>,
    error: Option<StreamError>,
}

impl EventStream {
    /// Returns the messages that end within these bytes, and the error in the bytes after them.
    pub(super) fn push_bytes(&mut self, bytes: &[u8]) -> (Vec<StreamMessage>, Option<StreamError>) {
        let mut messages = Vec::new();
        if self.error.is_some() {
            return (messages, self.error);
        }
        self.bytes.extend_from_slice(bytes);
        let mut at = 0;
        loop {
            match read_message(&self.bytes[at..]) {
                Ok(Some((message, length))) => {
                    messages.push(message);
                    at += length;
                }
                Ok(None) => break,
                Err(broken) => {
                    self.error = Some(broken);
                    break;
                }
            }
        }
        self.bytes.drain(..at);
        (messages, self.error)
    }
}

fn read_u32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// Reads the first message and its length. None if it is incomplete.
fn read_message(bytes: &[u8]) -> Result<Option<(StreamMessage, usize)>, StreamError> {
    let (Some(all), Some(headers), Some(sum)) =
        (read_u32(bytes, 0), read_u32(bytes, 4), read_u32(bytes, 8))
    else {
        return Ok(None);
    };
    if compute_crc32(&bytes[..8]) != sum {
        return Err(StreamError::Checksum);
    }
    let (all, headers) = (all as usize, headers as usize);
    let around = PRELUDE_BYTES + CHECKSUM_BYTES;
    if !(around..=MAX_MESSAGE_BYTES).contains(&all) || headers > all - around {
        return Err(StreamError::Length);
    }
    let Some(message) = bytes.get(..all) else {
        return Ok(None);
    };
    let (checked, sum) = message.split_at(all - CHECKSUM_BYTES);
    if read_u32(sum, 0) != Some(compute_crc32(checked)) {
        return Err(StreamError::Checksum);
    }
    let (headers, payload) = checked[PRELUDE_BYTES..].split_at(headers);
    let headers = string_headers(headers).ok_or(StreamError::Headers)?;
    Ok(Some((StreamMessage { headers, payload: payload.to_vec() }, all)))
}

/// Reads the headers, and returns those that are strings.
fn string_headers(mut bytes: &[u8]) -> Option<Vec<(String, String)>> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let name = take_bytes(&mut bytes, 1)?[0];
        let name = take_bytes(&mut bytes, usize::from(name))?;
        let kind = take_bytes(&mut bytes, 1)?[0];
        let length = match kind {
            // True, false.
            0 | 1 => 0,
            // A byte, a short, an integer, a long, a timestamp, a UUID.
            2 => 1,
            3 => 2,
            4 => 4,
            5 | 8 => 8,
            9 => 16,
            // A byte array, a string.
            6 | 7 => {
                let length = take_bytes(&mut bytes, 2)?;
                usize::from(u16::from_be_bytes(length.try_into().ok()?))
            }
            _ => return None,
        };
        let value = take_bytes(&mut bytes, length)?;
        if kind == 7 {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            found.push((text(name), text(value)));
        }
    }
    Some(found)
}

fn take_bytes<'a>(bytes: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(taken)
}

const CRC_TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut at = 0;
    while at < 256 {
        let mut value = at as u32;
        let mut bit = 0;
        while bit < 8 {
            value = if value & 1 == 1 { 0xedb8_8320 ^ (value >> 1) } else { value >> 1 };
            bit += 1;
        }
        table[at] = value;
        at += 1;
    }
    table
};

/// Computes CRC-32 as in gzip.
fn compute_crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |sum, byte| CRC_TABLE[(sum as u8 ^ byte) as usize] ^ (sum >> 8))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Encodes a message with these string headers.
    pub(in super::super) fn written(headers: &[(&str, &str)], payload: &[u8]) -> Vec<u8> {
        let mut all_headers = Vec::new();
        for (name, value) in headers {
            all_headers.push(name.len() as u8);
            all_headers.extend_from_slice(name.as_bytes());
            all_headers.push(7);
            all_headers.extend_from_slice(&(value.len() as u16).to_be_bytes());
            all_headers.extend_from_slice(value.as_bytes());
        }
        framed(&all_headers, payload)
    }

    fn framed(headers: &[u8], payload: &[u8]) -> Vec<u8> {
        let all = PRELUDE_BYTES + headers.len() + payload.len() + CHECKSUM_BYTES;
        let mut bytes = (all as u32).to_be_bytes().to_vec();
        bytes.extend_from_slice(&(headers.len() as u32).to_be_bytes());
        bytes.extend_from_slice(&compute_crc32(&bytes).to_be_bytes());
        bytes.extend_from_slice(headers);
        bytes.extend_from_slice(payload);
        bytes.extend_from_slice(&compute_crc32(&bytes).to_be_bytes());
        bytes
    }

    #[test]
    fn crc32_matches_known_values() {
        assert_eq!(compute_crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(compute_crc32(b""), 0);
    }

    #[test]
    fn messages_are_decoded_from_any_chunk_size() {
        let mut bytes = written(&[(":event-type", "a"), (":message-type", "event")], b"{}");
        bytes.extend(written(&[], b""));
        bytes.extend(written(&[(":event-type", "b")], "ü".as_bytes()));
        for size in 1..=bytes.len() {
            let mut reader = EventStream::default();
            let mut found = Vec::new();
            for chunk in bytes.chunks(size) {
                let (messages, broken) = reader.push_bytes(chunk);
                assert_eq!(broken, None);
                found.extend(messages);
            }
            let types: Vec<_> = found.iter().map(|it| it.header(":event-type")).collect();
            assert_eq!(types, [Some("a"), None, Some("b")]);
            assert_eq!(found[2].payload, "ü".as_bytes());
        }
    }

    #[test]
    fn every_changed_byte_is_detected() {
        let whole = written(&[(":event-type", "a")], b"{\"x\":1}");
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x10;
            let (messages, broken) = EventStream::default().push_bytes(&bytes);
            assert_eq!(messages, [], "{at}");
            assert!(broken.is_some(), "{at}");
        }
    }

    #[test]
    fn only_messages_before_damage_are_returned() {
        let good = written(&[(":event-type", "a")], b"{}");
        let mut bytes = good.clone();
        bytes.extend(&good);
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        let mut reader = EventStream::default();
        let (messages, broken) = reader.push_bytes(&bytes);
        assert_eq!((messages.len(), broken), (1, Some(StreamError::Checksum)));
        assert_eq!(reader.push_bytes(&good), (vec![], Some(StreamError::Checksum)));
    }

    #[test]
    fn only_string_headers_are_kept() {
        let mut headers = Vec::new();
        for (kind, length) in [(0, 0), (1, 0), (2, 1), (3, 2), (4, 4), (5, 8), (8, 8), (9, 16)] {
            headers.extend([1, b'x', kind]);
            headers.extend(vec![0; length]);
        }
        headers.extend([1, b'y', 6, 0, 2, 1, 1, 1, b'z', 7, 0, 1, b'!']);
        let (messages, broken) = EventStream::default().push_bytes(&framed(&headers, b""));
        assert_eq!(broken, None);
        assert_eq!(messages[0].headers, [("z".to_owned(), "!".to_owned())]);
    }

    #[test]
    fn invalid_lengths_and_headers_are_refused() {
        let mut long = [0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0].to_vec();
        long.extend_from_slice(&compute_crc32(&long).to_be_bytes());
        assert_eq!(EventStream::default().push_bytes(&long).1, Some(StreamError::Length));
        let headers = [200, b'x'];
        assert_eq!(
            EventStream::default().push_bytes(&framed(&headers, b"")).1,
            Some(StreamError::Headers)
        );
    }
}
