//! Built-in routines on small arguments, with results worked out by hand or taken from the ONNX specification.

mod support;

use support::*;
use tcc_runtime::builtin::*;
use tcc_runtime::package::{DType, Form};
use tcc_runtime::{Object, Tensor};

const TEXT: DType = DType::String;

fn f32_tensor(shape: &[i64], numbers: &[f32]) -> Object {
    Object::Tensor(Tensor::plain(DType::F32, shape.to_vec(), bytes_f32(numbers)))
}

fn i64_tensor(shape: &[i64], numbers: &[i64]) -> Object {
    Object::Tensor(Tensor::plain(DType::I64, shape.to_vec(), bytes_i64(numbers)))
}

fn bools(shape: &[i64], bits: &[u8]) -> Object {
    Object::Tensor(Tensor::plain(DType::Bool, shape.to_vec(), bits.to_vec()))
}

fn strings(shape: &[i64], texts: &[&str]) -> Object {
    Object::Tensor(Tensor::strings(shape.to_vec(), texts.iter().map(|text| text.to_string()).collect()))
}

fn tensor(object: &Object) -> Tensor {
    match object {
        Object::Tensor(tensor) => tensor.clone(),
        _ => panic!("not a tensor: {object:?}"),
    }
}

/// The routine's only result.
fn one<T: Builtin>(routine: &T, inputs: &[Object], form: Form, dtype: DType, rank: usize) -> Object {
    run_builtin(routine, inputs, &[(form, dtype, rank)]).unwrap_or_else(|error| panic!("{error}")).remove(0)
}

fn refusal<T: Builtin>(routine: &T, inputs: &[Object], form: Form, dtype: DType, rank: usize) -> String {
    run_builtin(routine, inputs, &[(form, dtype, rank)]).unwrap_err().to_string()
}

#[test]
fn topk_orders_ties_by_index_and_nan_as_largest() {
    let x = f32_tensor(&[2, 4], &[1.0, f32::NAN, 3.0, 3.0, -1.0, -0.0, 0.0, -2.0]);
    let run = |k: i64, axis, largest| {
        let outputs = [(Form::Tensor, DType::F32, 2), (Form::Tensor, DType::I64, 2)];
        let results =
            run_builtin(&TopK { axis, largest }, &[x.clone(), i64_tensor(&[1], &[k])], &outputs).unwrap();
        (tensor(&results[0]), i64s(tensor(&results[1]).as_bytes().unwrap()))
    };
    let (values, indices) = run(3, -1, true);
    assert_eq!(indices, [1, 2, 3, 1, 2, 0]);
    assert_eq!(values.shape, [2, 3]);
    assert_eq!(f32s(values.as_bytes().unwrap())[1..3], [3.0, 3.0]);
    assert_eq!(run(2, 1, false).1, [0, 2, 3, 0]);
    assert_eq!(run(1, 0, true).1, [0, 0, 0, 0]);
    assert_eq!(run(0, 0, true).0.shape, [0, 4]);
    let outputs = [(Form::Tensor, DType::F32, 2), (Form::Tensor, DType::I64, 2)];
    let error =
        run_builtin(&TopK { axis: 1, largest: true }, &[x, i64_tensor(&[1], &[5])], &outputs).unwrap_err();
    assert!(error.to_string().contains("0 to 4"), "{error}");
}

#[test]
fn sort_handles_integers_of_both_signs() {
    let x = i64_tensor(&[4], &[3, i64::MIN, -1, i64::MAX]);
    let sorted = |descending| {
        i64s(
            tensor(&one(&Sort { axis: 0, descending }, &[x.clone()], Form::Tensor, DType::I64, 1))
                .as_bytes()
                .unwrap(),
        )
    };
    assert_eq!(sorted(false), [i64::MIN, -1, 3, i64::MAX]);
    assert_eq!(sorted(true), [i64::MAX, 3, -1, i64::MIN]);
}

#[test]
fn nonzero_lists_positions_by_axis() {
    let x = bools(&[2, 2], &[1, 0, 1, 1]);
    let found = one(&NonZero {}, &[x], Form::Tensor, DType::I64, 2);
    assert_eq!(found, i64_tensor(&[2, 3], &[0, 1, 1, 0, 0, 1]));
    assert_eq!(one(&NonZero {}, &[bools(&[], &[1])], Form::Tensor, DType::I64, 2), i64_tensor(&[0, 1], &[]));
}

#[test]
fn compress_keeps_rows_or_elements() {
    let x = f32_tensor(&[3, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let mask = bools(&[3], &[0, 1, 1]);
    let rows = one(&Compress { axis: Some(0) }, &[x.clone(), mask], Form::Tensor, DType::F32, 2);
    assert_eq!(rows, f32_tensor(&[2, 2], &[3.0, 4.0, 5.0, 6.0]));
    let flat = one(
        &Compress { axis: None },
        &[x.clone(), bools(&[5], &[0, 1, 0, 0, 1])],
        Form::Tensor,
        DType::F32,
        1,
    );
    assert_eq!(flat, f32_tensor(&[2], &[2.0, 5.0]));
    let error = refusal(&Compress { axis: Some(1) }, &[x, bools(&[3], &[1; 3])], Form::Tensor, DType::F32, 2);
    assert!(error.contains("the mask has 3 elements, the axis 2"), "{error}");
}

#[test]
fn unique_reports_first_positions_classes_and_counts() {
    let outputs = |dtype, rank| {
        [
            (Form::Tensor, dtype, rank),
            (Form::Tensor, DType::I64, 1),
            (Form::Tensor, DType::I64, 1),
            (Form::Tensor, DType::I64, 1),
        ]
    };
    let x = f32_tensor(&[6], &[2.0, 1.0, 1.0, 3.0, 4.0, 3.0]);
    let sorted =
        run_builtin(&Unique { axis: None, sorted: true }, &[x.clone()], &outputs(DType::F32, 1)).unwrap();
    assert_eq!(sorted[0], f32_tensor(&[4], &[1.0, 2.0, 3.0, 4.0]));
    assert_eq!(sorted[1], i64_tensor(&[4], &[1, 0, 3, 4]));
    assert_eq!(sorted[2], i64_tensor(&[6], &[1, 0, 0, 2, 3, 2]));
    assert_eq!(sorted[3], i64_tensor(&[4], &[2, 1, 2, 1]));
    let unsorted = run_builtin(&Unique { axis: None, sorted: false }, &[x], &outputs(DType::F32, 1)).unwrap();
    assert_eq!(unsorted[0], f32_tensor(&[4], &[2.0, 1.0, 3.0, 4.0]));
    assert_eq!(unsorted[2], i64_tensor(&[6], &[0, 1, 1, 2, 3, 2]));
    assert_eq!(unsorted[3], i64_tensor(&[4], &[1, 2, 2, 1]));
    let rows = f32_tensor(&[3, 3], &[1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 2.0, 3.0, 4.0]);
    let rows =
        run_builtin(&Unique { axis: Some(0), sorted: true }, &[rows], &outputs(DType::F32, 2)).unwrap();
    assert_eq!(rows[0], f32_tensor(&[2, 3], &[1.0, 0.0, 0.0, 2.0, 3.0, 4.0]));
    let texts = strings(&[3], &["b", "a", "b"]);
    let texts = run_builtin(&Unique { axis: None, sorted: true }, &[texts], &outputs(TEXT, 1)).unwrap();
    assert_eq!(texts[0], strings(&[2], &["a", "b"]));
    assert_eq!(texts[2], i64_tensor(&[3], &[1, 0, 1]));
}

#[test]
fn nms_keeps_the_best_of_overlapping_boxes() {
    let corners = [
        [0.0, 0.0, 1.0, 1.0],
        [0.0, 0.1, 1.0, 1.1],
        [0.0, -0.1, 1.0, 0.9],
        [0.0, 10.0, 1.0, 11.0],
        [0.0, 10.1, 1.0, 11.1],
        [0.0, 100.0, 1.0, 101.0],
    ];
    let boxes = f32_tensor(&[1, 6, 4], corners.as_flattened());
    let scores = f32_tensor(&[1, 1, 6], &[0.9, 0.75, 0.6, 0.95, 0.5, 0.3]);
    let run = |most: i64, lowest: f32| {
        let scalars = [i64_tensor(&[1], &[most]), f32_tensor(&[1], &[0.5]), f32_tensor(&[1], &[lowest])];
        let inputs = [&[boxes.clone(), scores.clone()][..], &scalars].concat();
        one(&NonMaxSuppression { center_point_box: false }, &inputs, Form::Tensor, DType::I64, 2)
    };
    assert_eq!(run(3, 0.0), i64_tensor(&[3, 3], &[0, 0, 3, 0, 0, 0, 0, 0, 5]));
    assert_eq!(run(3, 0.4), i64_tensor(&[2, 3], &[0, 0, 3, 0, 0, 0]));
    assert_eq!(run(1, 0.0), i64_tensor(&[1, 3], &[0, 0, 3]));
    let none =
        one(&NonMaxSuppression { center_point_box: false }, &[boxes, scores], Form::Tensor, DType::I64, 2);
    assert_eq!(none, i64_tensor(&[0, 3], &[]));
}

#[test]
fn random_tensors_repeat_with_their_seed() {
    // The declared size of a random result isn't found by the routine: it comes with the argument's dims.
    let draw = |seed| {
        let mut b = Builder::new();
        let (p, dims) = b.input("p", Form::Tensor, DType::F32, 1);
        let y = b.output("y", Form::Tensor, DType::F32, &dims);
        let z = b.output("z", Form::Tensor, DType::F32, &dims);
        b.builtin(0, &Bernoulli { seed: Some(seed) }, &[p], &[y], &[]);
        b.builtin(0, &RandomUniform { low: 2.0, high: 3.0, seed: Some(seed) }, &[], &[z], &[]);
        let mut context = b.context(1);
        context.set_input(0, DType::F32, &[1000], &bytes_f32(&[0.25; 1000])).unwrap();
        context.run().unwrap();
        (f32s(context.output(0).unwrap().bytes), f32s(context.output(1).unwrap().bytes))
    };
    let (coins, numbers) = draw(1);
    assert_eq!(draw(1), (coins.clone(), numbers.clone()));
    assert_ne!(draw(2).1, numbers);
    let ones = coins.iter().sum::<f32>();
    assert!(coins.iter().all(|&x| x == 0.0 || x == 1.0) && (200.0..300.0).contains(&ones), "{ones}");
    assert!(numbers.iter().all(|x| (2.0..3.0).contains(x)));
}

#[test]
fn multinomial_never_picks_the_impossible() {
    let logs = f32_tensor(&[2, 3], &[0.0, f32::NEG_INFINITY, 0.0, -1000.0, 1000.0, -1000.0]);
    let picks = one(&Multinomial { samples: 100, seed: Some(3) }, &[logs], Form::Tensor, DType::I64, 2);
    let picks = i64s(tensor(&picks).as_bytes().unwrap());
    assert!(picks[..100].contains(&0) && picks[..100].contains(&2) && !picks[..100].contains(&1));
    assert_eq!(picks[100..], [1; 100]);
}

#[test]
fn sequences_are_built_and_taken_apart() {
    let (a, b) = (f32_tensor(&[2], &[1.0, 2.0]), f32_tensor(&[1], &[3.0]));
    let sequence = one(&SequenceConstruct {}, &[a.clone(), b.clone()], Form::Sequence, DType::F32, 0);
    assert_eq!(sequence, Object::Sequence(vec![tensor(&a), tensor(&b)]));
    let at = |position| {
        one(&SequenceAt {}, &[sequence.clone(), i64_tensor(&[], &[position])], Form::Tensor, DType::F32, 1)
    };
    assert_eq!((at(0), at(-1)), (a.clone(), b.clone()));
    let error =
        refusal(&SequenceAt {}, &[sequence.clone(), i64_tensor(&[], &[2])], Form::Tensor, DType::F32, 1);
    assert!(error.contains("position 2 isn't in a sequence of 2"), "{error}");
    let insert = |extra: &[Object]| {
        one(
            &SequenceInsert {},
            &[&[sequence.clone(), b.clone()][..], extra].concat(),
            Form::Sequence,
            DType::F32,
            0,
        )
    };
    assert_eq!(insert(&[]), Object::Sequence(vec![tensor(&a), tensor(&b), tensor(&b)]));
    assert_eq!(insert(&[i64_tensor(&[], &[-2])]), Object::Sequence(vec![tensor(&b), tensor(&a), tensor(&b)]));
    let erased = one(&SequenceErase {}, &[sequence.clone()], Form::Sequence, DType::F32, 0);
    assert_eq!(erased, Object::Sequence(vec![tensor(&a)]));
    assert_eq!(
        one(&SequenceLength {}, &[sequence.clone()], Form::Tensor, DType::I64, 0),
        i64_tensor(&[], &[2])
    );
    assert_eq!(one(&SequenceEmpty {}, &[], Form::Sequence, DType::F32, 0), Object::Sequence(vec![]));
    let joined = one(
        &ConcatFromSequence { axis: 0, new_axis: false },
        &[sequence.clone()],
        Form::Tensor,
        DType::F32,
        1,
    );
    assert_eq!(joined, f32_tensor(&[3], &[1.0, 2.0, 3.0]));
    let error =
        refusal(&ConcatFromSequence { axis: 0, new_axis: true }, &[sequence], Form::Tensor, DType::F32, 2);
    assert!(error.contains("can't be joined"), "{error}");
}

#[test]
fn splits_and_joins_are_inverse() {
    let x = f32_tensor(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let split = |inputs: &[Object], keepdims| {
        one(&SplitToSequence { axis: 1, keepdims }, inputs, Form::Sequence, DType::F32, 0)
    };
    let twos = split(&[x.clone(), i64_tensor(&[], &[2])], true);
    let expected = [f32_tensor(&[2, 2], &[1.0, 2.0, 4.0, 5.0]), f32_tensor(&[2, 1], &[3.0, 6.0])];
    assert_eq!(twos, Object::Sequence(expected.iter().map(tensor).collect()));
    assert_eq!(split(&[x.clone(), i64_tensor(&[2], &[2, 1])], true), twos);
    assert_eq!(
        one(&ConcatFromSequence { axis: -1, new_axis: false }, &[twos], Form::Tensor, DType::F32, 2),
        x
    );
    let ones = split(&[x.clone()], false);
    assert_eq!(one(&ConcatFromSequence { axis: 1, new_axis: true }, &[ones], Form::Tensor, DType::F32, 2), x);
}

#[test]
fn optionals_hold_something_or_nothing() {
    let x = f32_tensor(&[1], &[1.0]);
    let full = one(&OptionalWrap {}, &[x.clone()], Form::Optional, DType::F32, 0);
    let empty = one(&OptionalWrap {}, &[], Form::Optional, DType::F32, 0);
    assert_eq!(empty, Object::Optional(None));
    let has = |inputs: &[Object]| one(&OptionalHasElement {}, inputs, Form::Tensor, DType::Bool, 0);
    assert_eq!((has(&[full.clone()]), has(&[empty.clone()])), (bools(&[], &[1]), bools(&[], &[0])));
    assert_eq!((has(&[x.clone()]), has(&[])), (bools(&[], &[1]), bools(&[], &[0])));
    assert_eq!(one(&OptionalGetElement {}, &[full], Form::Tensor, DType::F32, 1), x);
    assert_eq!(one(&OptionalGetElement {}, &[x.clone()], Form::Tensor, DType::F32, 1), x);
    assert!(refusal(&OptionalGetElement {}, &[empty], Form::Tensor, DType::F32, 1).contains("empty"));
}

#[test]
fn strings_are_joined_compared_and_picked() {
    let (a, b) = (strings(&[2, 1], &["a", "b"]), strings(&[2], &["b", "x"]));
    let joined = one(&StringConcat {}, &[a.clone(), b.clone()], Form::Tensor, TEXT, 2);
    assert_eq!(joined, strings(&[2, 2], &["ab", "ax", "bb", "bx"]));
    assert_eq!(
        one(&StringEqual {}, &[a, b.clone()], Form::Tensor, DType::Bool, 2),
        bools(&[2, 2], &[0, 0, 1, 0])
    );
    let picked = one(&StringGather { axis: 1 }, &[joined, i64_tensor(&[1], &[-1])], Form::Tensor, TEXT, 2);
    assert_eq!(picked, strings(&[2, 1], &["ax", "bx"]));
    let error = refusal(&StringGather { axis: 0 }, &[b, i64_tensor(&[1], &[2])], Form::Tensor, TEXT, 1);
    assert!(error.contains("index 2 isn't in an axis of 2"), "{error}");
}

#[test]
fn string_take_moves_strings_in_the_declared_shape() {
    let mut b = Builder::new();
    let (x, _) = b.input("x", Form::Tensor, TEXT, 2);
    let dims = b.numbers(&[3, 2]);
    let y = b.output("y", Form::Tensor, TEXT, &dims);
    // The transpose of [2, 3].
    let order = b.weight("order", DType::I64, &[6], &bytes_i64(&[0, 3, 1, 4, 2, 5]));
    b.builtin(0, &StringTake {}, &[x, order], &[y], &[]);
    let mut context = b.context(1);
    context.set_input_object(0, strings(&[2, 3], &["a", "b", "c", "d", "e", "f"])).unwrap();
    context.run().unwrap();
    assert_eq!(context.output_object(0).unwrap(), &strings(&[3, 2], &["a", "d", "b", "e", "c", "f"]));
}

#[test]
fn string_split_pads_to_the_widest() {
    let outputs = [(Form::Tensor, TEXT, 2), (Form::Tensor, DType::I64, 1)];
    let split = |delimiter: Option<&str>, maxsplit, texts: &[&str]| {
        let routine = StringSplit { delimiter: delimiter.map(String::from), maxsplit };
        run_builtin(&routine, &[strings(&[texts.len() as i64], texts)], &outputs).unwrap()
    };
    let results = split(Some("."), None, &["abc.com", "def.net.x"]);
    assert_eq!(results[0], strings(&[2, 3], &["abc", "com", "", "def", "net", "x"]));
    assert_eq!(results[1], i64_tensor(&[2], &[2, 3]));
    assert_eq!(split(Some(""), Some(1), &[" a b  c"])[0], strings(&[1, 2], &["a", "b  c"]));
    assert_eq!(split(None, None, &[])[0], strings(&[0, 0], &[]));
}

#[test]
fn the_normalizer_drops_stop_words() {
    let normalize = |case_change, case_sensitive, texts: &[&str]| {
        let routine = StringNormalizer { case_change, case_sensitive, stopwords: vec!["Monday".into()] };
        one(&routine, &[strings(&[texts.len() as i64], texts)], Form::Tensor, TEXT, 1)
    };
    assert_eq!(
        normalize(CaseChange::Upper, true, &["monday", "Monday", "a"]),
        strings(&[2], &["MONDAY", "A"])
    );
    assert_eq!(normalize(CaseChange::None, false, &["monday", "Ab"]), strings(&[1], &["Ab"]));
    assert_eq!(normalize(CaseChange::Lower, true, &["Monday"]), strings(&[1], &[""]));
}

#[test]
fn labels_are_mapped_with_a_default() {
    let to_numbers = LabelEncoder {
        keys: Labels::Strings(vec!["a".into(), "b".into()]),
        values: Labels::Integers(vec![0, 1]),
        default: Labels::Integers(vec![42]),
    };
    let numbers = one(&to_numbers, &[strings(&[3], &["b", "d", "a"])], Form::Tensor, DType::I64, 1);
    assert_eq!(numbers, i64_tensor(&[3], &[1, 42, 0]));
    let to_strings = LabelEncoder {
        keys: Labels::Floats(vec![f64::NAN, 0.0]),
        values: Labels::Strings(vec!["nan".into(), "zero".into()]),
        default: Labels::Strings(vec!["?".into()]),
    };
    let texts = one(&to_strings, &[f32_tensor(&[3], &[-0.0, f32::NAN, 1.0])], Form::Tensor, TEXT, 1);
    assert_eq!(texts, strings(&[3], &["zero", "nan", "?"]));
}

#[test]
fn numbers_are_read_and_written_as_text() {
    let texts = one(
        &NumberToString {},
        &[f32_tensor(&[4], &[0.1, -2.0, f32::NAN, f32::INFINITY])],
        Form::Tensor,
        TEXT,
        1,
    );
    assert_eq!(texts, strings(&[4], &["0.1", "-2", "NaN", "INF"]));
    let numbers =
        one(&StringToNumber {}, &[strings(&[3], &["1e2", "-INF", " 3"])], Form::Tensor, DType::F32, 1);
    assert_eq!(numbers, f32_tensor(&[3], &[100.0, f32::NEG_INFINITY, 3.0]));
    let error = refusal(&StringToNumber {}, &[strings(&[1], &["x"])], Form::Tensor, DType::I64, 1);
    assert!(error.contains("\"x\" isn't a number of type i64"), "{error}");
}

/// The first examples of the ONNX specification.
#[test]
fn tfidf_counts_ngrams_with_skips() {
    let vectorizer = |min, max, skips| TfIdfVectorizer {
        mode: TfIdfMode::Tf,
        min_gram_length: min,
        max_gram_length: max,
        max_skip_count: skips,
        ngram_counts: vec![0, 4],
        ngram_indexes: vec![0, 1, 2, 3, 4, 5, 6],
        pool: TfIdfPool::Integers(vec![2, 3, 5, 4, 5, 6, 7, 8, 6, 7]),
        weights: vec![],
    };
    let items = i64_tensor(&[12], &[1, 1, 3, 3, 3, 7, 8, 6, 7, 5, 6, 8]);
    let count = |min, max, skips| {
        f32s(
            tensor(&one(&vectorizer(min, max, skips), &[items.clone()], Form::Tensor, DType::F32, 1))
                .as_bytes()
                .unwrap(),
        )
    };
    assert_eq!(count(2, 2, 0), [0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0]);
    assert_eq!(count(2, 2, 5), [0.0, 0.0, 0.0, 0.0, 1.0, 3.0, 1.0]);
    assert_eq!(count(1, 2, 5), [0.0, 3.0, 1.0, 0.0, 1.0, 3.0, 1.0]);
}

#[test]
fn attributes_that_make_no_sense_are_refused_at_load() {
    let mut b = Builder::new();
    let (x, _) = b.input("x", Form::Tensor, DType::F32, 1);
    b.builtin(0, &NonZero {}, &[x, x], &[], &[]);
    let error = b.package().unwrap_err().to_string();
    assert!(error.contains("2 arguments"), "{error}");
}
