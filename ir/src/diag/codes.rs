//! The table of diagnostic codes: `tcc explain CODE` and docs/errors.md come from it.

macro_rules! codes {
    ($($variant:ident = $id:literal, $title:literal, $explain:literal;)*) => {
        /// A kind of user error. Its number never changes meaning.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Code { $(#[doc = $title] $variant),* }

        /// Every code, in order.
        pub const CODES: &[Code] = &[$(Code::$variant),*];

        impl Code {
            /// For example `TCC1003`.
            pub fn id(self) -> &'static str { match self { $(Code::$variant => $id),* } }
            pub fn title(self) -> &'static str { match self { $(Code::$variant => $title),* } }
            pub fn explanation(self) -> &'static str { match self { $(Code::$variant => $explain),* } }
            pub fn from_id(id: &str) -> Option<Code> { CODES.iter().copied().find(|c| c.id().eq_ignore_ascii_case(id)) }
        }
    };
}

codes! {
    FileUnreadable = "TCC0001", "The file can't be read",
        "The operating system refused to open or read the file. Check the path and its permissions.";
    FileMalformed = "TCC0002", "The file isn't a valid model",
        "The bytes don't decode as the format that the file claims to be. It may be truncated, or damaged in transfer (a Git LFS pointer instead of the model is common).";
    FormatVersion = "TCC0003", "The model's format version isn't supported",
        "The file is in a version of the format, or imports an operator set, that tcc doesn't read. The message names those that it does; onnx.version_converter converts a model to one of them.";
    ExternalData = "TCC0004", "External data can't be used",
        "Weights outside the model file must lie inside the model's folder, and offset and length must fit the file and the tensor's shape.";
    InvalidGraph = "TCC0005", "The graph breaks a rule of its format",
        "For example a cycle, a name that is defined twice or not at all, or a node that lacks a required input.";
    UnsupportedOperator = "TCC1001", "An operator isn't supported",
        "The operator, its version, or an element type or attribute of it isn't implemented. `tcc ops` lists what is.";
    InvalidAttribute = "TCC1002", "An attribute has an impossible value",
        "The specification of the operator doesn't allow the value.";
    TypeMismatch = "TCC1003", "Operand types or shapes don't fit the operator",
        "Shapes are inferred from the graph's inputs on; annotations in the file are not trusted. The message shows the operands.";
    AnnotationMismatch = "TCC1004", "An annotation contradicts inference",
        "The file states a type or shape for a value that the operators can't produce.";
    DimOption = "TCC1005", "A --dim option doesn't fit the model",
        "The name isn't one of the model's symbolic dims, or the value contradicts another dim.";
    EvaluationFailed = "TCC2001", "Evaluation failed",
        "A value met at run time is one that the operator forbids, for example an index out of range or sizes that don't match.";
    TextSyntax = "TCC3001", "The text form can't be parsed",
        "See docs/text-form.md for the grammar.";
    InvalidIr = "TCC3002", "The graph breaks an invariant of the IR",
        "Found by the verifier. In a graph from a file of text this is an error of that file, otherwise one of tcc: please report it.";
    UnknownPass = "TCC3003", "No such pass",
        "`tcc opt --help` lists the passes.";
    TargetUnsupported = "TCC4001", "The target can't run the model",
        "Some kernels need what the target's code generator doesn't have yet. The message lists them all.";
    UnknownTarget = "TCC4002", "No such target",
        "`tcc targets` lists the targets.";
    CodegenFailed = "TCC4003", "Machine code generation failed",
        "An error of tcc, LLVM or MLIR, not of the model. Please report it with the model or `--emit=mlir`.";
    LinkFailed = "TCC4004", "A shared library can't be linked",
        "`--emit=shared` runs LLVM's linker, which has to be on PATH. `--emit=obj,header` makes an object that any linker takes.";
    ResourceLimit = "TCC5001", "A limit was reached",
        "The model asks for more memory, nesting or nodes than tcc allows. The message names the limit.";
    OutputUnwritable = "TCC5002", "The output can't be written",
        "The disk may be full, or the folder not writable. No partial file is left behind.";
    InputMismatch = "TCC5003", "An input given to the model doesn't fit it",
        "Name, element type or shape differ from what the model declares.";
    BadPackage = "TCC5004", "The package can't be loaded",
        "It was written by another version, is damaged, or needs CPU features or a device that this machine lacks.";
    DeviceFailed = "TCC5005", "The GPU failed",
        "The driver refused work or lost the device. Kernels that run for seconds are stopped by some drivers; others need an update.";
}
