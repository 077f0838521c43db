//! What is drawn: boxes, frames around boxes, and the values that go from box to box.

/// A picture without places.
#[derive(Debug, Default)]
pub struct Scene {
    pub title: String,
    pub subtitle: String,
    /// A node's parent and all whose values it takes come before it.
    pub nodes: Vec<Node>,
    pub wires: Vec<Wire>,
}

/// A box, or a frame around the nodes whose parent it is.
#[derive(Debug)]
pub struct Node {
    pub kind: Kind,
    pub parent: Option<usize>,
    pub title: String,
    pub lines: Vec<String>,
    /// Constants that it reads, a line each.
    pub constants: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Input,
    Output,
    Kernel,
    /// A routine of the runtime's library.
    Builtin,
    /// What takes no time to speak of: views, copies, sizes that are read, state of a loop.
    Small,
    /// Frame around a task graph.
    Tasks,
    /// Frame around two branches, of which one runs.
    Choice,
    /// Frame around a branch.
    Branch,
    Loop,
}

impl Kind {
    /// Whether the node may be a frame.
    pub fn is_frame(self) -> bool {
        matches!(self, Kind::Tasks | Kind::Choice | Kind::Branch | Kind::Loop)
    }
}

/// A value on its way from the node that makes it to all that take it.
#[derive(Debug)]
pub struct Wire {
    pub from: usize,
    pub to: Vec<usize>,
    /// Type and shape.
    pub label: String,
    /// The value's name, or nothing.
    pub name: String,
}
