//! Pictures of packages: the steps of a run as a graph, in SVG or for Graphviz.
//!
//! [`steps`] makes a [`scene`] of a manifest, [`layout`] gives its boxes and lines places, [`svg`] and [`dot`] write it.
//! Names come from models and are hostile until [`text::clean`] has seen them.

mod dot;
mod layout;
mod scene;
mod steps;
mod svg;
pub mod text;
mod values;

use std::path::{Path, PathBuf};
use std::str::FromStr;

use tcc_runtime::package::Manifest;

use crate::{Result, write};

/// A file for a picture; its name says which form the picture has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PictureFile {
    path: PathBuf,
    form: Form,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Svg,
    Dot,
}

impl FromStr for PictureFile {
    type Err = String;

    fn from_str(name: &str) -> std::result::Result<PictureFile, String> {
        let path = PathBuf::from(name);
        let form = match path.extension().and_then(|extension| extension.to_str()) {
            Some("svg") => Form::Svg,
            Some("dot") => Form::Dot,
            _ => return Err("the name must end in .svg (a picture) or .dot (for Graphviz)".to_string()),
        };
        Ok(PictureFile { path, form })
    }
}

impl PictureFile {
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Draws the steps of `manifest` into the file.
    ///
    /// # Errors
    /// A graph that is too large for a picture, or for an SVG, or a file that can't be written; it never holds half a picture.
    pub fn draw(&self, manifest: &Manifest) -> Result<()> {
        let scene = steps::scene(manifest)?;
        let picture = match self.form {
            Form::Svg => svg::print(&scene)?,
            Form::Dot => dot::print(&scene),
        };
        write::whole(&self.path, |path| std::fs::write(path, &picture))
    }
}
