//! Forms (`multipart/form-data`), read as strictly as RFC 7578 allows.

use bytes::Bytes;

/// A part of a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormPart {
    pub name: String,
    /// The name of its file. Empty if it has none.
    pub file_name: String,
    pub content_type: String,
    pub bytes: Bytes,
}

/// Reads a form by its content type and body. None if it is not a whole form.
pub fn read_form(content_type: &str, body: &Bytes) -> Option<Vec<FormPart>> {
    let boundary = content_type.strip_prefix("multipart/form-data; boundary=")?;
    let is_plain = |it: u8| it.is_ascii_alphanumeric() || it == b'-';
    if boundary.is_empty() || boundary.len() > 70 || !boundary.bytes().all(is_plain) {
        return None;
    }
    let first = format!("--{boundary}\r\n");
    let between = format!("\r\n--{boundary}");
    let mut at = body.starts_with(first.as_bytes()).then_some(first.len())?;
    let mut parts = Vec::new();
    loop {
        let head_end = at + find(&body[at..], b"\r\n\r\n")?;
        let head = std::str::from_utf8(&body[at..head_end]).ok()?;
        let start = head_end + 4;
        let end = start + find(&body[start..], between.as_bytes())?;
        parts.push(read_part(head, body.slice(start..end))?);
        at = end + between.len();
        match body.get(at..)? {
            b"--\r\n" => return Some(parts),
            rest if rest.starts_with(b"\r\n") => at += 2,
            _ => return None,
        }
    }
}

fn read_part(head: &str, bytes: Bytes) -> Option<FormPart> {
    let (mut name, mut file_name, mut content_type) = (None, String::new(), String::new());
    for line in head.split("\r\n") {
        let (header, value) = line.split_once(": ")?;
        if header == "Content-Type" {
            value.clone_into(&mut content_type);
            continue;
        }
        let mut parameters = value.split("; ");
        if header != "Content-Disposition" || parameters.next() != Some("form-data") {
            return None;
        }
        for parameter in parameters {
            let (key, quoted) = parameter.split_once('=')?;
            let value = quoted.strip_prefix('"')?.strip_suffix('"')?;
            match key {
                "name" => name = Some(value.to_owned()),
                "filename" => value.clone_into(&mut file_name),
                _ => return None,
            }
        }
    }
    Some(FormPart { name: name?, file_name, content_type, bytes })
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|it| it == wanted)
}
