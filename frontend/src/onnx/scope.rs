//! Names to values, scope by scope: a graph sees its own names and those of the graphs around it; the body of
//! a function sees nothing outside.

use indexmap::IndexMap;

use super::model::ValueId;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ScopeId(u32);

/// Every scope of a model.
#[derive(Default)]
pub(super) struct Scopes(Vec<Scope>);

struct Scope {
    parent: Option<ScopeId>,
    /// `None`: an input of a function that its call doesn't give.
    names: IndexMap<String, Option<ValueId>>,
}

impl Scopes {
    pub fn add(&mut self, parent: Option<ScopeId>) -> ScopeId {
        self.0.push(Scope { parent, names: IndexMap::new() });
        ScopeId(self.0.len() as u32 - 1)
    }

    /// Binds `name`; false, and nothing changes, where this scope has it already. A name of an enclosing scope
    /// may be hidden: exporters reuse names in subgraphs.
    pub fn declare(&mut self, scope: ScopeId, name: &str, value: Option<ValueId>) -> bool {
        let names = &mut self.0[scope.0 as usize].names;
        if names.contains_key(name) {
            return false;
        }
        names.insert(name.to_owned(), value);
        true
    }

    /// What `name` stands for, here or further out; `None` where nothing defines it.
    pub fn lookup(&self, scope: ScopeId, name: &str) -> Option<Option<ValueId>> {
        let mut scope = &self.0[scope.0 as usize];
        loop {
            match (scope.names.get(name), scope.parent) {
                (Some(&value), _) => return Some(value),
                (None, Some(parent)) => scope = &self.0[parent.0 as usize],
                (None, None) => return None,
            }
        }
    }

    /// What `name` stands for in this scope itself.
    pub fn own(&self, scope: ScopeId, name: &str) -> Option<Option<ValueId>> {
        self.0[scope.0 as usize].names.get(name).copied()
    }
}
