//! Drives Debian's chromium over the DevTools protocol, through two pipes: commands in, answers and events out.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// A browser with one page.
pub struct Browser {
    process: Child,
    commands: ChildStdin,
    answers: BufReader<ChildStdout>,
    session: Option<String>,
    next: u64,
    /// Everything the browser told since it started.
    pub events: Vec<Value>,
}

impl Browser {
    /// Starts the browser with an empty profile in `folder`; what pages save goes there too.
    pub fn start(folder: &Path) -> Self {
        // The browser takes commands on descriptor 3 and answers on 4. Containers run as root, without sandboxes.
        // Nothing waits for ever: after five minutes the browser ends, and with it the test that waits.
        let script = "exec timeout 300 chromium --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run \
                      --disable-background-networking --disable-component-update --window-size=1300,900 \
                      --remote-debugging-pipe --user-data-dir=\"$0\" 3<&0 4>&1 </dev/null >/dev/null 2>&1";
        let mut process = Command::new("sh")
            .args(["-c", script])
            .arg(folder.join("profile"))
            .env("HOME", folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("sh starts");
        let commands = process.stdin.take().expect("a pipe");
        let answers = BufReader::new(process.stdout.take().expect("a pipe"));
        let mut browser = Self { process, commands, answers, session: None, next: 0, events: Vec::new() };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let attached = browser.call("Target.attachToTarget", json!({"targetId": target["targetId"], "flatten": true}));
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Network", "Log"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        let downloads = json!({"behavior": "allow", "downloadPath": folder.join("saved"), "eventsEnabled": true});
        browser.call("Browser.setDownloadBehavior", downloads);
        browser
    }

    /// Sends a command and waits for its answer; events that come before it are kept.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.next += 1;
        let mut message = json!({"id": self.next, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            message["sessionId"] = session.as_str().into();
        }
        self.commands.write_all(format!("{message}\0").as_bytes()).expect("the browser listens");
        loop {
            let message = self.receive();
            if message["id"] == self.next {
                assert!(message["error"].is_null(), "{method}: {message}");
                return message["result"].clone();
            }
            self.events.push(message);
        }
    }

    fn receive(&mut self) -> Value {
        let mut bytes = Vec::new();
        self.answers.read_until(0, &mut bytes).expect("the browser answers");
        assert!(!bytes.is_empty(), "chromium is missing or ended; scripts/setup test installs it");
        serde_json::from_slice(&bytes[..bytes.len() - 1]).expect("messages are JSON")
    }

    /// The first event of this kind among those from number `from` on, with its number; waits until there is one.
    pub fn wait(&mut self, from: usize, method: &str) -> (usize, Value) {
        loop {
            let found = (from..self.events.len()).find(|&i| self.events[i]["method"] == method);
            if let Some(at) = found {
                return (at, self.events[at]["params"].clone());
            }
            let event = self.receive();
            self.events.push(event);
        }
    }

    /// Opens a file and waits until it is loaded.
    pub fn open(&mut self, path: &Path, hash: &str) {
        let from = self.events.len();
        self.call("Page.navigate", json!({"url": format!("file://{}{hash}", path.display())}));
        self.wait(from, "Page.loadEventFired");
    }

    /// The value of an expression in the page, a promise's once it is settled.
    #[track_caller]
    pub fn value(&mut self, expression: &str) -> Value {
        let parameters = json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let answer = self.call("Runtime.evaluate", parameters);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// Addresses that pages asked for.
    pub fn requests(&self) -> Vec<String> {
        let sent = self.events.iter().filter(|e| e["method"] == "Network.requestWillBeSent");
        sent.filter_map(|e| e["params"]["request"]["url"].as_str().map(str::to_owned)).collect()
    }

    /// What the console would show in red.
    pub fn errors(&self) -> Vec<&Value> {
        let is_error = |e: &&Value| match e["method"].as_str() {
            Some("Runtime.exceptionThrown") => true,
            Some("Runtime.consoleAPICalled") => e["params"]["type"] == "error",
            Some("Log.entryAdded") => e["params"]["entry"]["level"] == "error",
            _ => false,
        };
        self.events.iter().filter(is_error).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
