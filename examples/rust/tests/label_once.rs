//! Run by `cargo test`. KEELSON names the command if keelson is not on PATH.

use labels::{label_once, Keelson, MAPS};

const JSON: &str = "application/json";

fn with_config_map() -> Keelson {
    let server = Keelson::start(&[]);
    let created = server.request("POST", MAPS, JSON, Some(r#"{"metadata":{"name":"a"}}"#));
    assert_eq!(created.code, 201, "{}", created.body);
    server
}

#[test]
fn labels_in_spite_of_a_conflict() {
    let server = with_config_map();
    let fault = r#"{"verb":"patch","resource":"configmaps","fail":409}"#;
    server.control("POST", "/faults", Some(fault));
    assert_eq!(label_once(&server, "a"), 200);
    let stored = server.request("GET", &format!("{MAPS}/a"), JSON, None).body;
    assert!(stored.contains(r#""seen": "yes""#), "{stored}");
    let patches = server.control("POST", "/requests", Some(r#"{"verb":"patch"}"#));
    assert_eq!(patches.matches(r#""verb":"patch""#).count(), 2, "{patches}");
}

#[test]
fn forks_are_isolated() {
    let server = with_config_map();
    let path = format!("{MAPS}/a");
    {
        let fork = server.fork();
        assert_eq!(fork.request("DELETE", &path, JSON, None).code, 200);
        assert_eq!(fork.request("GET", &path, JSON, None).code, 404);
    }
    assert_eq!(server.request("GET", &path, JSON, None).code, 200);
}
