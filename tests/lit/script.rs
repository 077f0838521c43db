//! Substitutes the RUN lines of one test and runs them as one bash script under a time limit.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::directives::Directives;

/// What RUN lines are given: programs, the folder for `%t` and the time limit of one test.
pub struct Tools {
    pub tcc: PathBuf,
    pub filecheck: String,
    pub fails: PathBuf,
    pub scratch: PathBuf,
    pub timeout: Duration,
}

/// How a script ended; the text is what a person needs to see why.
pub enum Outcome {
    Passed,
    Failed(String),
    TimedOut(String),
}

/// Runs the RUN lines of `file`; `name` is its path below the root of the tests.
pub fn run(directives: &Directives, name: &str, file: &Path, tools: &Tools) -> Outcome {
    let temporary = tools.scratch.join(format!("{name}.tmp"));
    let script = substitute(&directives.run.join("\n"), file, &temporary, tools);
    let log = tools.scratch.join(format!("{name}.log"));
    match execute(&script, &log, tools.timeout) {
        Err(e) => Outcome::Failed(format!("cannot run bash: {e}")),
        Ok(Some(status)) if status.success() => Outcome::Passed,
        Ok(status) => {
            let end = match status {
                Some(status) => status.to_string(),
                None => format!("no end within {} s", tools.timeout.as_secs()),
            };
            let output = std::fs::read(&log).unwrap_or_default();
            let report =
                format!("{end}\n--- script\n{script}\n--- output\n{}", String::from_utf8_lossy(&output));
            if status.is_some() { Outcome::Failed(report) } else { Outcome::TimedOut(report) }
        }
    }
}

fn substitute(text: &str, file: &Path, temporary: &Path, tools: &Tools) -> String {
    let folder = file.parent().expect("a file has a folder");
    // Longest first, because %t and %s also start longer names.
    let table = [
        ("%FileCheck", tools.filecheck.clone()),
        ("%fails", tools.fails.display().to_string()),
        ("%tcc", tools.tcc.display().to_string()),
        ("%s", file.display().to_string()),
        ("%S", folder.display().to_string()),
        ("%t", temporary.display().to_string()),
    ];
    let mut result = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        result.push_str(&rest[..at]);
        rest = &rest[at..];
        match table.iter().find(|(key, _)| rest.starts_with(key)) {
            Some((key, value)) => {
                result.push_str(value);
                rest = &rest[key.len()..];
            }
            None => {
                result.push('%');
                rest = &rest[1..];
            }
        }
    }
    result + rest
}

/// Runs `script` with its output in the file `log`; `None` when it had to be killed at the time limit.
fn execute(script: &str, log: &Path, timeout: Duration) -> std::io::Result<Option<ExitStatus>> {
    std::fs::create_dir_all(log.parent().expect("a log has a folder"))?;
    let output = File::create(log)?;
    // A process group of its own, so that everything the script started can be stopped with it.
    let mut bash = Command::new("bash")
        .args(["-e", "-o", "pipefail", "-c", script])
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output)
        .process_group(0)
        .spawn()?;
    let deadline = Instant::now() + timeout;
    loop {
        if let Some(status) = bash.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= deadline {
            let group = i32::try_from(bash.id()).expect("process ids fit in i32");
            // SAFETY: killpg takes plain integers; the group exists until `bash`, its leader, is waited for below.
            unsafe { libc::killpg(group, libc::SIGKILL) };
            bash.wait()?;
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(3));
    }
}

/// A script that never ends is killed, with what it started. (A trial: see `directives::self_tests`.)
pub fn self_tests(scratch: &Path) -> Vec<libtest_mimic::Trial> {
    let log = scratch.join("runner-timeout.log");
    vec![libtest_mimic::Trial::test("runner::script::endless_script_is_killed", move || {
        match execute("sleep 50 | cat", &log, Duration::from_millis(100))? {
            None => Ok(()),
            Some(status) => Err(format!("ended by itself: {status}").into()),
        }
    })]
}
