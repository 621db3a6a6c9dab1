//! A function that labels a ConfigMap, and a Keelson API server for its tests.
//! Needs the standard library and curl; clients such as kube-rs take `Keelson::kubeconfig`.

mod keelson;

pub use keelson::{Keelson, Response};

pub const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// Labels the ConfigMap; tries again when another client was faster. Returns the last status code.
pub fn label_once(server: &Keelson, name: &str) -> u16 {
    let path = format!("{MAPS}/{name}");
    let patch = r#"{"metadata":{"labels":{"seen":"yes"}}}"#;
    let mut code = 0;
    for _ in 0..3 {
        code = server.request("PATCH", &path, "application/merge-patch+json", Some(patch)).code;
        if code != 409 {
            break;
        }
    }
    code
}
