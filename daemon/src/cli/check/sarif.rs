//! Findings as SARIF 2.1.0 (OASIS, 2020), which code hosts and editors read.
//!
//! A script without its own file is reported in the place's file, with its instance path as a
//! logical location. Its line numbers are those of the script.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value as Json, json};
use vector_luau::{FindingSeverity, SourceFinding};

use super::CheckReport;
use crate::tasks::check::CheckedScript;

pub(super) fn sarif_log(report: &CheckReport<'_>) -> Json {
    let rules: BTreeSet<&str> = report.all_findings().map(|it| it.code.as_str()).collect();
    let rules: Vec<&str> = rules.into_iter().collect();
    let index = |code: &str| rules.binary_search(&code).ok();
    let mut results = Vec::new();
    if let Some((file, _, found)) = &report.settings {
        results.extend(
            found.iter().map(|it| sarif_result(it, index(&it.code), &file_uri(file), None)),
        );
    }
    for (script, finding) in report.script_findings() {
        let file = script.file.as_deref().map_or(report.place, Path::new);
        results.push(sarif_result(finding, index(&finding.code), &file_uri(file), Some(script)));
    }
    let rules: Vec<Json> = rules.iter().map(|code| json!({ "id": code })).collect();
    let untyped = report
        .untyped_reason
        .iter()
        .map(|why| json!({ "level": "note", "message": { "text": why } }));
    let notes: Vec<Json> = untyped.collect();
    json!({
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "vector",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            } },
            "columnKind": "unicodeCodePoints",
            "invocations": [{ "executionSuccessful": true, "toolExecutionNotifications": notes }],
            "results": results,
        }],
    })
}

fn sarif_result(
    finding: &SourceFinding,
    rule: Option<usize>,
    file: &str,
    script: Option<&CheckedScript>,
) -> Json {
    let at = finding.at;
    let mut text = finding.message.clone();
    for note in &finding.notes {
        text.push('\n');
        text.push_str(note);
    }
    let mut location = json!({
        "physicalLocation": {
            "artifactLocation": { "uri": file },
            "region": {
                "startLine": at.line,
                "startColumn": at.column,
                "endLine": at.end_line,
                "endColumn": at.end_column,
            },
        },
    });
    if let Some(script) = script {
        location["logicalLocations"] = json!([{
            "name": script.path.name(),
            "fullyQualifiedName": script.path,
            "kind": "module",
        }]);
    }
    let level = match finding.severity {
        FindingSeverity::Note => "note",
        FindingSeverity::Warning => "warning",
        FindingSeverity::Error => "error",
    };
    let mut result = json!({
        "ruleId": finding.code,
        "level": level,
        "message": { "text": text },
        "locations": [location],
    });
    if let Some(rule) = rule {
        result["ruleIndex"] = rule.into();
    }
    result
}

/// A file as a relative reference, or as a URI if the path is absolute (RFC 3986 and RFC 8089).
fn file_uri(file: &Path) -> String {
    let text = file.to_string_lossy().replace('\\', "/");
    let text = text.strip_prefix("./").unwrap_or(&text);
    let mut address = String::new();
    if text.starts_with('/') {
        address.push_str("file://");
    } else if file.is_absolute() {
        address.push_str("file:///");
    }
    let drive = if file.is_absolute() { ':' } else { '/' };
    for byte in text.bytes() {
        let c = char::from(byte);
        if c.is_ascii_alphanumeric() || "-._~/".contains(c) || c == drive {
            address.push(c);
        } else {
            address.push_str(&format!("%{byte:02X}"));
        }
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_paths_become_uris() {
        assert_eq!(file_uri(Path::new("./a b/ä.rbxl")), "a%20b/%C3%A4.rbxl");
        assert_eq!(file_uri(Path::new("a:b%.rbxl")), "a%3Ab%25.rbxl");
        #[cfg(unix)]
        assert_eq!(file_uri(Path::new("/x/a#.rbxl")), "file:///x/a%23.rbxl");
    }
}
