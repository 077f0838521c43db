//! Einsum: products summed over named axes.

use indexmap::IndexSet;
use tcc_ir::ops::Slice;
use tcc_ir::{Dim, ValueId};

use super::contraction::{Labelled, common_extent, contract};
use super::precision::compute_type;
use super::{Entry, onnx};
use crate::onnx::node::{ImportError, NodeCx, Result};

pub(super) const TABLE: &[Entry] = &[onnx("Einsum", 12, einsum)];

/// One operand's or the result's part of an equation: letters before the ellipsis, if there is one, and after it.
#[derive(Debug, PartialEq)]
struct Term {
    before: Vec<char>,
    after: Option<Vec<char>>,
}

impl Term {
    fn parse(text: &str) -> Result<Term> {
        let bad = || ImportError::invalid(format!("`{text}` is no term of an equation"));
        let letters = |part: &str| {
            part.chars().all(|c| c.is_ascii_alphabetic()).then(|| part.chars().collect()).ok_or_else(bad)
        };
        match text.split_once("...") {
            None => Ok(Term { before: letters(text)?, after: None }),
            Some((before, after)) => Ok(Term { before: letters(before)?, after: Some(letters(after)?) }),
        }
    }

    fn letters(&self) -> impl Iterator<Item = char> {
        self.before.iter().chain(self.after.iter().flatten()).copied()
    }
}

/// The numbers that stand for axes: an axis of the ellipsis by its place from the end, then letters.
struct Labels {
    n_ellipsis: usize,
    letters: IndexSet<char>,
}

impl Labels {
    /// The labels of a term over `n_axes` axes, or of the result with the whole ellipsis.
    fn of(&self, term: &Term, n_axes: Option<usize>) -> Result<Vec<usize>> {
        let n_letters = term.letters().count();
        let n_ellipsis = match (n_axes, &term.after) {
            (None, None) => 0,
            (None, Some(_)) => self.n_ellipsis,
            (Some(n_axes), None) if n_axes == n_letters => 0,
            (Some(n_axes), Some(_)) if n_axes >= n_letters => n_axes - n_letters,
            (Some(n_axes), _) => {
                return Err(ImportError::invalid(format!(
                    "an operand of rank {n_axes} has {n_letters} letters in the equation"
                )));
            }
        };
        let letter = |letter: &char| {
            self.letters
                .get_index_of(letter)
                .map(|index| self.n_ellipsis + index)
                .ok_or_else(|| ImportError::invalid(format!("no operand of the equation has `{letter}`")))
        };
        let before = term.before.iter().map(letter);
        let ellipsis = (self.n_ellipsis - n_ellipsis..self.n_ellipsis).map(Ok);
        before.chain(ellipsis).chain(term.after.iter().flatten().map(letter)).collect()
    }
}

fn einsum(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let equation: String = cx
        .opt_string("equation")?
        .ok_or_else(|| ImportError::invalid("attribute `equation` is missing"))?
        .split_whitespace()
        .collect();
    let inputs = cx.inputs()?;
    let (left, right) = match equation.split_once("->") {
        Some((left, right)) => (left, Some(right)),
        None => (equation.as_str(), None),
    };
    let terms: Vec<Term> = left.split(',').map(Term::parse).collect::<Result<_>>()?;
    if terms.len() != inputs.len() || inputs.is_empty() {
        return Err(ImportError::invalid(format!(
            "the equation has {} operands, the node {}",
            terms.len(),
            inputs.len()
        )));
    }
    let mut n_ellipsis = 0;
    for (term, &input) in terms.iter().zip(&inputs) {
        if term.after.is_some() {
            n_ellipsis = n_ellipsis.max(cx.rank(input)?.saturating_sub(term.letters().count()));
        }
    }
    let labels = Labels { n_ellipsis, letters: terms.iter().flat_map(Term::letters).collect() };
    let result = match right {
        Some(right) => labels.of(&Term::parse(right)?, None)?,
        None => implicit_result(&labels, &terms),
    };
    if result.iter().collect::<IndexSet<_>>().len() < result.len() {
        return Err(ImportError::invalid("the result names an axis twice"));
    }
    let dtype = cx.dtype(inputs[0])?;
    let out = if dtype.is_int() { dtype } else { compute_type(dtype) };
    let mut operands = Vec::new();
    for (term, &input) in terms.iter().zip(&inputs) {
        let labels = labels.of(term, Some(cx.rank(input)?))?;
        operands.push(diagonals(cx, Labelled { value: input, labels })?);
    }
    let operands = agreed(cx, operands, labels.n_ellipsis + labels.letters.len())?;
    let mut rest = operands.into_iter();
    let mut product = rest.next().expect("there is an operand");
    while let Some(next) = rest.next() {
        let later: IndexSet<usize> =
            rest.as_slice().iter().flat_map(|operand| operand.labels.iter().copied()).collect();
        let is_kept = |label: usize| result.contains(&label) || later.contains(&label);
        product = contract(cx, product, next, is_kept, out)?;
    }
    let y = product.sum_except(cx, |label| result.contains(&label))?.arranged(cx, &result)?;
    Ok(vec![cx.cast(y, dtype)?])
}

/// Without `->`: the ellipsis, then the letters that occur once, in alphabetical order.
fn implicit_result(labels: &Labels, terms: &[Term]) -> Vec<usize> {
    let count = |letter: char| terms.iter().flat_map(Term::letters).filter(|&other| other == letter).count();
    let mut once: Vec<char> = labels.letters.iter().copied().filter(|&letter| count(letter) == 1).collect();
    once.sort_unstable();
    let letters = once.iter().filter_map(|letter| labels.letters.get_index_of(letter));
    (0..labels.n_ellipsis).chain(letters.map(|index| labels.n_ellipsis + index)).collect()
}

/// Takes the diagonal of every pair of axes with one label.
fn diagonals(cx: &mut NodeCx, mut operand: Labelled) -> Result<Labelled> {
    loop {
        let labels = &operand.labels;
        let pair = (0..labels.len()).find_map(|second| {
            let first = labels[..second].iter().position(|&label| label == labels[second])?;
            Some((first, second))
        });
        let Some((first, second)) = pair else { return Ok(operand) };
        let dims = cx.shape(operand.value)?;
        let rank = dims.len();
        // With the two axes at the end and joined, the diagonal is every (n+1)th element.
        let perm: Vec<usize> =
            (0..rank).filter(|&axis| axis != first && axis != second).chain([first, second]).collect();
        let lead: Vec<Dim> = perm[..rank - 2].iter().map(|&axis| dims[axis].clone()).collect();
        let labels = perm[..rank - 1].iter().map(|&axis| operand.labels[axis]).collect();
        let size = dims[first].clone();
        let turned = cx.transpose(operand.value, perm)?;
        let square = [lead.clone(), vec![size.clone(), size.clone()]].concat();
        let turned = cx.broadcast(turned, square)?;
        let joined = [lead.clone(), vec![size.clone() * size.clone()]].concat();
        let joined = cx.reshape(turned, joined)?;
        let mut steps = vec![Dim::from(1); rank - 1];
        steps[rank - 2] = size.clone() + Dim::from(1);
        let sizes = [lead, vec![size]].concat();
        let starts = vec![Dim::from(0); rank - 1];
        operand = Labelled { value: cx.add(Slice { starts, sizes, steps }, &[joined])?, labels };
    }
}

/// Makes the extents of each label equal: axes of extent 1 that broadcast go, or are widened where that isn't known.
fn agreed(cx: &mut NodeCx, operands: Vec<Labelled>, n_labels: usize) -> Result<Vec<Labelled>> {
    let mut common: Vec<Dim> = vec![Dim::from(1); n_labels];
    for operand in &operands {
        for (&label, dim) in operand.labels.iter().zip(&cx.shape(operand.value)?) {
            common[label] = common_extent(&common[label], dim)?;
        }
    }
    let mut agreed = Vec::new();
    for operand in operands {
        let dims = cx.shape(operand.value)?;
        let own: Vec<(usize, Dim)> = operand.labels.iter().copied().zip(dims).collect();
        let goes = |label: usize| {
            let is_one = own.iter().any(|(other, dim)| *other == label && dim.is_const(1));
            is_one && !common[label].is_const(1)
        };
        let wide = own
            .iter()
            .map(|(label, dim)| if goes(*label) { dim.clone() } else { common[*label].clone() })
            .collect();
        let value = cx.broadcast(operand.value, wide)?;
        agreed.push(Labelled { value, labels: operand.labels.clone() }.without(cx, goes)?);
    }
    Ok(agreed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_term_is_letters_around_an_ellipsis() {
        let term = Term::parse("ab...c").unwrap();
        assert_eq!(term, Term { before: vec!['a', 'b'], after: Some(vec!['c']) });
        assert!(Term::parse("a..b").is_err());
        assert!(Term::parse("a...b...").is_err());
        assert!(Term::parse("a1").is_err());
    }

    #[test]
    fn without_an_arrow_what_occurs_once_is_kept_in_alphabetical_order() {
        let terms = [Term::parse("...ba").unwrap(), Term::parse("bz").unwrap()];
        let labels = Labels { n_ellipsis: 1, letters: "baz".chars().collect() };
        assert_eq!(implicit_result(&labels, &terms), vec![0, 2, 3]);
    }
}
