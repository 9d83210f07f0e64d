//! A headless Chromium, driven over WebDriver. It cannot reach any host, and it ends with its test.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use fantoccini::wd::WebDriverCompatibleCommand;
use fantoccini::{Client, ClientBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;
use url::{ParseError, Url};

use crate::common::children;

/// How long a page may take for what it does at once.
const PATIENCE: Duration = Duration::from_secs(20);

/// An open page.
pub struct Page {
    client: Client,
    _driver: Driver,
    _profile: TempDir,
}

impl Page {
    /// Opens a file in a browser of its own.
    pub async fn open(file: &Path) -> Self {
        let (driver, port) = Driver::start();
        let profile = tempfile::tempdir().unwrap();
        let capabilities = json!({
            "browserName": "chrome",
            "goog:loggingPrefs": { "browser": "ALL" },
            "goog:chromeOptions": { "args": [
                "--headless",
                // Chromium's own sandbox does not run as root, as in a container.
                "--no-sandbox",
                "--disable-dev-shm-usage",
                "--host-resolver-rules=MAP * ~NOTFOUND",
                "--window-size=1280,1000",
                format!("--user-data-dir={}", profile.path().display()),
            ] },
        });
        let Value::Object(capabilities) = capabilities else {
            unreachable!("an object above");
        };
        let client = ClientBuilder::new(HttpConnector::new())
            .capabilities(capabilities)
            .connect(&format!("http://127.0.0.1:{port}"))
            .await
            .unwrap_or_else(|error| panic!("Chromium does not start: {error}. {INSTALL}"));
        let page = Self {
            client,
            _driver: driver,
            _profile: profile,
        };
        page.go(&format!("file://{}", file.display())).await;
        page
    }

    /// Goes to an address.
    pub async fn go(&self, address: &str) {
        self.client.goto(address).await.unwrap();
    }

    /// The browser.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Runs the body of a function in the page; gives what it returns.
    pub async fn run(&self, script: &str) -> Value {
        self.client.execute(script, Vec::new()).await.unwrap()
    }

    /// The same as text.
    pub async fn text(&self, script: &str) -> String {
        let value = self.run(script).await;
        value
            .as_str()
            .unwrap_or_else(|| panic!("{value} of `{script}`"))
            .to_owned()
    }

    /// The same as a list of texts.
    pub async fn texts(&self, script: &str) -> Vec<String> {
        serde_json::from_value(self.run(script).await).unwrap()
    }

    /// Waits until an expression of the page is true.
    pub async fn until(&self, condition: &str) {
        let deadline = Instant::now() + PATIENCE;
        while self.run(&format!("return Boolean({condition})")).await != Value::Bool(true) {
            assert!(Instant::now() < deadline, "never came: {condition}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Clicks on the first element of a selector.
    pub async fn click(&self, selector: &str) {
        self.run(&format!(
            "document.querySelector({}).click()",
            json!(selector)
        ))
        .await;
    }

    /// Calls a method of the Chrome DevTools Protocol.
    pub async fn devtools(&self, method: &'static str, params: Value) {
        let body = json!({ "cmd": method, "params": params });
        self.issue("goog/cdp/execute", body).await;
    }

    /// What the page complained about on its console, a line each.
    pub async fn complaints(&self) -> Vec<String> {
        let log = self.issue("se/log", json!({ "type": "browser" })).await;
        let entries = log.as_array().unwrap().iter();
        let severe = entries.filter(|entry| entry["level"] == "SEVERE");
        severe.map(|entry| entry["message"].to_string()).collect()
    }

    async fn issue(&self, path: &'static str, body: Value) -> Value {
        self.client.issue_cmd(Post { path, body }).await.unwrap()
    }
}

/// A command that WebDriver itself does not have.
#[derive(Debug)]
struct Post {
    path: &'static str,
    body: Value,
}

impl WebDriverCompatibleCommand for Post {
    fn endpoint(&self, base: &Url, session: Option<&str>) -> Result<Url, ParseError> {
        base.join(&format!(
            "session/{}/{}",
            session.unwrap_or_default(),
            self.path
        ))
    }

    fn method_and_body(&self, _: &Url) -> (http::Method, Option<String>) {
        (http::Method::POST, Some(self.body.to_string()))
    }
}

const INSTALL: &str =
    "Install Chromium and its driver, with `apt-get install chromium chromium-driver` on Debian";

/// A chromedriver, which ends with all its children.
struct Driver(Child);

impl Driver {
    /// Gives the port too.
    fn start() -> (Self, u16) {
        let child = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("chromedriver does not start: {error}. {INSTALL}"));
        let mut driver = Self(child);
        let lines = BufReader::new(driver.0.stdout.take().unwrap()).lines();
        let port = lines.map_while(Result::ok).find_map(|line| {
            let (_, port) = line.split_once("started successfully on port ")?;
            port.trim_end_matches('.').parse().ok()
        });
        (driver, port.expect("chromedriver says its port"))
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // The browser outlives a driver that is killed, so it goes first: in good order, so that it reaps its own children.
        let deadline = Instant::now() + PATIENCE / 4;
        while Instant::now() < deadline && !children(self.0.id()).is_empty() {
            for (browser, _) in children(self.0.id()) {
                signal(browser, Signal::TERM);
            }
            thread::sleep(Duration::from_millis(20));
        }
        for pid in descendants(self.0.id()) {
            signal(pid, Signal::KILL);
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// To a process that may be gone.
fn signal(pid: u32, signal: Signal) {
    let _ = kill_process(Pid::from_raw(pid as i32).unwrap(), signal);
}

fn descendants(of: u32) -> Vec<u32> {
    let children = children(of).into_iter();
    children
        .flat_map(|(child, _)| std::iter::once(child).chain(descendants(child)))
        .collect()
}
