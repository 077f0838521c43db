//! Names and features of CPU targets.

use inkwell::OptimizationLevel;

use super::*;

#[test]
fn every_named_target_has_a_back_end_of_its_pointer_width() {
    for name in Target::names() {
        let target = Target::named(name).unwrap();
        // SPIR-V comes from MLIR, not from LLVM.
        if target.arch == Arch::Spirv {
            continue;
        }
        let machine = target.machine(OptimizationLevel::Default).unwrap_or_else(|error| panic!("{error}"));
        let pointer = machine.get_target_data().get_pointer_byte_size(None);
        assert_eq!(pointer * 8, target.pointer_bits, "{name}");
    }
}

#[test]
fn unknown_name_lists_the_known_ones() {
    let message = Target::named("z80").unwrap_err().to_string();
    assert!(
        message.contains("z80") && message.contains("x86-64-v3") && message.contains("host"),
        "{message}"
    );
}

#[test]
fn required_features_use_detection_names() {
    let v3 = Target::named("x86-64-v3").unwrap().required_features();
    assert!(v3.contains(&"avx2") && v3.contains(&"bmi1") && !v3.contains(&"avx512f"), "{v3:?}");
    assert_eq!(Target::named("wasm32").unwrap().required_features(), Vec::<&str>::new());
}

#[test]
fn host_has_what_it_requires() {
    let host = Target::host().unwrap();
    #[cfg(target_arch = "x86_64")]
    assert_eq!(host.required_features().contains(&"avx2"), std::is_x86_feature_detected!("avx2"));
    assert_eq!(host.name, "host");
}
