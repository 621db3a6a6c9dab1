use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

const JSON: &str = "application/json";

/// A running server, or a fork of one; dropping it ends it.
pub struct Keelson {
    description: String,
    /// File of the certificate authority.
    authority: PathBuf,
    /// None for a fork.
    process: Option<Child>,
}

pub struct Response {
    pub code: u16,
    pub body: String,
}

impl Keelson {
    /// Starts `keelson testserver`, which ends with this process. The environment variable KEELSON
    /// names the command if keelson is not on PATH.
    pub fn start(flags: &[&str]) -> Keelson {
        let command = env::var("KEELSON").unwrap_or_else(|_| "keelson".to_string());
        let words: Vec<&str> = command.split_whitespace().collect();
        let mut process = Command::new(words[0])
            .args(&words[1..])
            .arg("testserver")
            .args(flags)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("keelson is on PATH, or KEELSON names it");
        let mut line = String::new();
        let output = process.stdout.take().expect("the output is a pipe");
        BufReader::new(output).read_line(&mut line).expect("it prints a line");
        Keelson::described(line, Some(process))
    }

    fn described(description: String, process: Option<Child>) -> Keelson {
        let control = member(&description, "control").replace(|c: char| !c.is_alphanumeric(), "-");
        let authority = env::temp_dir().join(format!("keelson-{control}.pem"));
        fs::write(&authority, member(&description, "ca")).expect("the file is written");
        Keelson { description, authority, process }
    }

    pub fn kubeconfig(&self) -> String {
        member(&self.description, "kubeconfig")
    }

    /// Calls the API as the administrator.
    pub fn request(&self, method: &str, path: &str, content_type: &str, body: Option<&str>) -> Response {
        let url = member(&self.description, "url") + path;
        self.call(method, &url, &member(&self.description, "token"), content_type, body)
    }

    /// Calls the control interface: /fork, /reset, /faults, /requests, /clock.
    pub fn control(&self, method: &str, path: &str, body: Option<&str>) -> String {
        let url = member(&self.description, "control") + path;
        let token = member(&self.description, "controlToken");
        let response = self.call(method, &url, &token, JSON, body);
        assert!(response.code < 400, "{method} {path}: {}", response.body);
        response.body
    }

    /// An isolated copy of the server.
    pub fn fork(&self) -> Keelson {
        Keelson::described(self.control("POST", "/fork", None), None)
    }

    fn call(&self, method: &str, url: &str, token: &str, content_type: &str, body: Option<&str>) -> Response {
        let mut command = Command::new("curl");
        command
            .args(["--silent", "--show-error", "--request", method, "--write-out", "\n%{http_code}"])
            .arg("--cacert")
            .arg(&self.authority)
            .args(["--header", &format!("Authorization: Bearer {token}")])
            .args(["--header", &format!("Content-Type: {content_type}")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        if body.is_some() {
            command.args(["--data-binary", "@-"]);
        }
        let mut curl = command.arg(url).spawn().expect("curl is on PATH");
        let mut input = curl.stdin.take().expect("the input is a pipe");
        input.write_all(body.unwrap_or("").as_bytes()).expect("the body is sent");
        drop(input);
        let output = curl.wait_with_output().expect("curl ends");
        let text = String::from_utf8(output.stdout).expect("the response is text");
        let (body, code) = text.rsplit_once('\n').expect("curl prints the status code");
        Response { code: code.parse().expect("a number"), body: body.to_string() }
    }
}

impl Drop for Keelson {
    fn drop(&mut self) {
        match self.process.take() {
            None => {
                self.control("DELETE", "", None);
            }
            Some(mut process) => {
                // The program ends when its standard input closes.
                drop(process.stdin.take());
                process.wait().expect("keelson ends");
            }
        }
        let _ = fs::remove_file(&self.authority);
    }
}

/// A member of the description, which is a flat JSON object of strings.
fn member(description: &str, name: &str) -> String {
    let start = format!("\"{name}\":\"");
    let at = description.find(&start).expect("the description has the member") + start.len();
    let mut text = String::new();
    let mut characters = description[at..].chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => break,
            '\\' => match characters.next() {
                Some('n') => text.push('\n'),
                Some(escaped) => text.push(escaped),
                None => break,
            },
            _ => text.push(character),
        }
    }
    text
}
