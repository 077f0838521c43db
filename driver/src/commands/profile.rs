//! `--profile`: time and rates of each step.

use tcc::draw::text;
use tcc_runtime::ProfileRow;

/// Most nodes of a kernel that are named.
const MOST_NODES: usize = 4;

/// Prints the steps, those that took longest first.
pub fn show(rows: &[ProfileRow]) {
    let mut rows: Vec<&ProfileRow> = rows.iter().filter(|row| row.calls > 0).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.time));
    let total: f64 = rows.iter().map(|row| row.time.as_secs_f64()).sum();
    println!("{:>9} {:>6} {:>7} {:>9} {:>8}  kernel", "ms", "%", "calls", "GFLOP/s", "GB/s");
    for row in &rows {
        let seconds = row.time.as_secs_f64();
        let rate = |n: u64| if seconds > 0.0 { n as f64 / seconds / 1e9 } else { 0.0 };
        println!(
            "{:>9.3} {:>6.1} {:>7} {:>9.2} {:>8.2}  {} {}",
            seconds * 1e3,
            if total > 0.0 { seconds / total * 100.0 } else { 0.0 },
            row.calls,
            rate(row.flops),
            rate(row.bytes),
            row.name,
            text::names(&row.source, MOST_NODES)
        );
    }
    println!("{:>9.3} {:>6} in {}", total * 1e3, "", text::plural(rows.len(), "step"));
}
