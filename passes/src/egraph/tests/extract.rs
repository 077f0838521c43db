//! Choices that step by step improvement doesn't find.

use crate::egraph::bits::Bits;
use crate::egraph::cost::Cost;
use crate::egraph::extract::{STEPS, solve};
use crate::egraph::fusion::{Way, Ways};
use crate::egraph::language::{Head, Term};
use tcc_ir::ops::Iota;
use tcc_ir::{DType, Op};

fn way(seconds: f64, reads: &[usize]) -> Way {
    let op = Op::from(Iota { dims: vec![], axis: 0, dtype: DType::F32 });
    Way {
        term: Term::new(Head::Op { op, outs: vec![], checks: vec![] }, []),
        reads: reads.to_vec(),
        cost: Cost { seconds, ..Cost::default() },
        kernel: None,
        absorbed: Bits::default(),
        view: false,
    }
}

#[test]
fn classes_that_must_change_together_do() {
    // Reading both shared values pays only if both readers do, and reading one of them never.
    let reader = || vec![way(3.0, &[]), way(2.2, &[0]), way(2.2, &[1]), way(0.0, &[0, 1])];
    let of = vec![vec![way(2.0, &[])], vec![way(2.0, &[])], reader(), reader(), vec![way(0.0, &[2, 3])]];
    let solution = solve(&Ways { of, dropped: 0 }, &[4], &[]).expect("every class has a way");
    assert_eq!(solution.seconds, 4.0);
    assert_eq!(solution.needed, [true; 5]);
}

#[test]
fn many_choices_end_in_time() {
    let mut of = vec![vec![way(1.0, &[])], vec![way(1.0, &[])]];
    for class in 2..400 {
        of.push(vec![way(1.0, &[class - 1]), way(1.0, &[class - 2]), way(1.0, &[class - 1, class - 2])]);
    }
    let solution = solve(&Ways { of, dropped: 0 }, &[399], &[]).expect("every class has a way");
    assert_eq!(solution.seconds, 200.0);
    assert!(solution.steps.iter().all(|n| *n <= STEPS), "{:?}", solution.steps);
    assert!(solution.cut_short() > 0, "nothing needs an end: {:?}", solution.steps);
}

#[test]
fn classes_on_the_way_count_as_steps() {
    let mut of = vec![vec![way(1.0, &[])]];
    of.extend((1..1000).map(|class| vec![way(1.0, &[class - 1])]));
    of.push(vec![way(1.0, &[999]), way(2.0, &[999])]);
    let solution = solve(&Ways { of, dropped: 0 }, &[1000], &[]).expect("every class has a way");
    assert!(matches!(solution.steps[..], [1000..=3000]), "{:?}", solution.steps);
}
