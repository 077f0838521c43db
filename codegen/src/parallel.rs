//! Compiles many modules on several threads. Results depend on how kernels are split into modules, not on threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::compile::{Artifacts, Emit, Options, compile_in};
use crate::error::Error;
use crate::image::Image;
use crate::mlir::Session;
use crate::target::Target;

/// Compiles each module's text; results come in the order of the texts. Each thread has a session of its own.
pub fn compile_all(
    texts: &[String],
    target: &Target,
    options: &Options<'_>,
    threads: usize,
) -> Vec<Result<Artifacts, Error>> {
    let next = AtomicUsize::new(0);
    let done: Vec<Mutex<Option<Result<Artifacts, Error>>>> = texts.iter().map(|_| Mutex::new(None)).collect();
    let work = || {
        let session = Session::new();
        loop {
            let idx = next.fetch_add(1, Ordering::Relaxed);
            let (Some(text), Some(slot)) = (texts.get(idx), done.get(idx)) else { return };
            let result = compile_in(&session, text, target, options);
            *slot.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(result);
        }
    };
    let threads = threads.clamp(1, texts.len().max(1));
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        work();
        for thread in others {
            if let Err(panic) = thread.join() {
                std::panic::resume_unwind(panic);
            }
        }
    });
    let take = |slot: Mutex<Option<_>>| slot.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    done.into_iter().map(|slot| take(slot).expect("each module was compiled")).collect()
}

/// One image of the kernels of all modules. The first error in the order of the texts is returned.
pub fn compile_image(
    texts: &[String],
    target: &Target,
    options: &Options<'_>,
    threads: usize,
) -> Result<Image, Error> {
    let options = Options { emit: &[Emit::Image], ..*options };
    let mut images = Vec::with_capacity(texts.len());
    for artifacts in compile_all(texts, target, &options, threads) {
        images.extend(artifacts?.image);
    }
    Image::join(images)
}
