//! What is wrong with a file, collected rather than stopped at the first.

use tcc_ir::diag::{Code, Diagnostic, Diagnostics};

/// The findings so far, in the order found. A hostile file can have millions, so only the first
/// [`Problems::KEPT`] are kept.
#[derive(Debug, Default)]
pub struct Problems {
    list: Vec<Diagnostic>,
    dropped: usize,
}

impl Problems {
    pub const KEPT: usize = 200;

    pub fn push(&mut self, problem: Diagnostic) {
        if self.list.len() < Self::KEPT {
            self.list.push(problem);
        } else {
            self.dropped += 1;
        }
    }

    /// Keeps the value or records the problem.
    pub fn check<T>(&mut self, result: Result<T, Diagnostic>) -> Option<T> {
        result.map_err(|problem| self.push(problem)).ok()
    }

    /// How many there are, to go back to with [`Problems::rollback`].
    pub fn mark(&self) -> usize {
        self.list.len()
    }

    /// Forgets what came after `mark`: an attempt failed that another one replaces.
    pub fn rollback(&mut self, mark: usize) {
        self.list.truncate(mark);
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub fn has(&self, code: Code) -> bool {
        self.list.iter().any(|problem| problem.code == code)
    }

    /// `Ok(value)` where nothing is wrong.
    pub fn or<T>(self, value: T) -> Result<T, Diagnostics> {
        if self.list.is_empty() { Ok(value) } else { Err(self.into()) }
    }
}

impl From<Problems> for Diagnostics {
    fn from(mut problems: Problems) -> Self {
        if let (Some(last), true) = (problems.list.last_mut(), problems.dropped > 0) {
            last.notes.push(format!("and {} more problems", problems.dropped));
        }
        Diagnostics(problems.list)
    }
}
