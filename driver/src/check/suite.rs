//! Runs every case below a folder, each in a process of its own, some at a time.

use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::memory;
use super::tolerances::Tolerances;
use super::{Outcome, Verdict};
use crate::{Code, Diagnostic, Result, report};

/// What to run, and how.
pub struct Suite {
    pub folder: PathBuf,
    /// Only cases whose name contains this.
    pub matching: String,
    /// Processes at a time.
    pub jobs: usize,
    /// Time for a case.
    pub timeout: Duration,
    /// Arguments for the process of a case, after the folder.
    pub arguments: Vec<String>,
}

/// Runs the suite; `done` gets each case's name and outcome, in the order of the names.
///
/// # Errors
/// A folder that can't be read, and one without a case to run: a wrong name must not look like success.
pub fn run(suite: &Suite, done: &mut dyn FnMut(&str, &Outcome)) -> Result<()> {
    let mut cases = Vec::new();
    find(&suite.folder, &mut cases)?;
    let name = |case: &Path| {
        let name = case.strip_prefix(&suite.folder).unwrap_or(case).display().to_string();
        if name.is_empty() { ".".to_string() } else { name }
    };
    let mut cases: Vec<(String, PathBuf)> = cases.into_iter().map(|case| (name(&case), case)).collect();
    if cases.is_empty() {
        let found = none(suite, "no folder below has a model.onnx");
        return Err(found
            .help("give --suite a folder with cases; `tcc check --help` says what a case is")
            .into());
    }
    cases.retain(|(name, _)| name.contains(&suite.matching));
    if cases.is_empty() {
        let found = none(suite, &format!("no case below has a name with `{}`", suite.matching));
        return Err(found.help("a name is the path below --suite; without --match all are checked").into());
    }
    cases.sort();

    let tolerances = Tolerances::of_suite(&suite.folder);
    let next = AtomicUsize::new(0);
    let (send, receive) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..suite.jobs.clamp(1, cases.len().max(1)) {
            let (send, next, cases, tolerances) = (send.clone(), &next, &cases, &tolerances);
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some((_, folder)) = cases.get(index) else { return };
                    // The receiver is there until every sender is gone.
                    let _ = send.send((index, isolated(suite, tolerances, folder)));
                }
            });
        }
        drop(send);
        let mut waiting = std::collections::BTreeMap::new();
        let mut shown = 0;
        for (index, outcome) in receive {
            waiting.insert(index, outcome);
            while let Some(outcome) = waiting.remove(&shown) {
                done(&cases[shown].0, &outcome);
                shown += 1;
            }
        }
    });
    Ok(())
}

/// There is nothing to run.
fn none(suite: &Suite, why: &str) -> Diagnostic {
    Diagnostic::error(Code::InputMismatch, format!("{}: {why}", suite.folder.display()))
}

/// Folders with a model, not followed through links: a link could lead in circles.
fn find(folder: &Path, cases: &mut Vec<PathBuf>) -> Result<()> {
    if folder.join("model.onnx").exists() {
        cases.push(folder.to_path_buf());
        return Ok(());
    }
    for entry in std::fs::read_dir(folder).map_err(|error| report::unreadable(folder, error))? {
        let entry = entry.map_err(|error| report::unreadable(folder, error))?;
        if entry.file_type().is_ok_and(|ty| ty.is_dir()) {
            find(&entry.path(), cases)?;
        }
    }
    Ok(())
}

/// Runs a case in a process of its own.
fn isolated(suite: &Suite, tolerances: &Tolerances, folder: &Path) -> Outcome {
    let cannot = |what: &str, error: std::io::Error| Outcome::new(Verdict::Error, format!("{what}: {error}"));
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(error) => return cannot("finding this program", error),
    };
    let tolerance = tolerances.of_case(folder);
    let child = Command::new(program)
        .args(["check", "--one"])
        .arg(folder)
        .args(["--rtol", &tolerance.rtol.to_string(), "--atol", &tolerance.atol.to_string()])
        .args(&suite.arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) => return cannot("starting a process", error),
    };
    // Pipes are emptied while the process runs, or it would wait for that when one is full.
    let stdout = drain(child.stdout.take());
    let stderr = drain(child.stderr.take());
    let status = match wait(&mut child, suite.timeout) {
        Ok(Some(status)) => status,
        Ok(None) => {
            let seconds = suite.timeout.as_secs_f64();
            return Outcome::new(Verdict::Timeout, format!("no answer in {seconds} s"));
        }
        Err(error) => return cannot("waiting for a process", error),
    };
    let text = |thread: std::thread::JoinHandle<String>| thread.join().unwrap_or_default();
    let (stdout, stderr) = (text(stdout), text(stderr));
    let answer = stdout.lines().last().and_then(Outcome::from_json).filter(|_| status.success());
    answer.unwrap_or_else(|| Outcome::new(Verdict::Crash, last_words(status, &stderr)))
}

/// Output that is kept of a process.
const KEPT: u64 = 1 << 20;

fn drain(pipe: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        if let Some(mut pipe) = pipe {
            // What can't be read is missing in a message at most.
            let _ = pipe.by_ref().take(KEPT).read_to_end(&mut kept);
            let _ = std::io::copy(&mut pipe, &mut std::io::sink());
        }
        String::from_utf8_lossy(&kept).into_owned()
    })
}

/// Waits for the process to end; `None` where it had to be killed.
fn wait(child: &mut std::process::Child, timeout: Duration) -> std::io::Result<Option<ExitStatus>> {
    let start = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if start.elapsed() > timeout {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

/// How a process without an answer ended: its status, and what it said of a panic.
fn last_words(status: ExitStatus, stderr: &str) -> String {
    let how = match (status.signal(), status.code()) {
        (Some(signal), _) => format!("killed by signal {signal}"),
        (None, Some(code)) => format!("exit status {code}"),
        (None, None) => "no exit status".to_string(),
    };
    if memory::ran_out(stderr) {
        return format!("out of memory ({how}): --memory sets how much a case may take");
    }
    let mut lines = stderr.lines().filter(|line| !line.trim().is_empty());
    let panic = lines.clone().skip_while(|line| !line.contains("panicked at")).take(2);
    let said: Vec<&str> = panic.collect();
    let said = if said.is_empty() { lines.next_back().unwrap_or("").to_string() } else { said.join(" ") };
    format!("{how}: {}", said.chars().take(400).collect::<String>())
}
