//! Makes pixels of a drawing, with the machine's own fonts.

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::fontdb::Database;
use resvg::usvg::{Options, Tree};

/// Pixels of the picture per pixel of the drawing, so that it is sharp on dense screens and in print.
const PIXELS_PER_UNIT: f32 = 2.0;

/// Tried first; Debian's `fonts-dejavu-core` has it.
const FAMILY: &str = "DejaVu Sans";

/// Why there is no picture.
#[derive(Debug, thiserror::Error)]
pub enum PngError {
    /// The drawing is not one.
    #[error("the drawing cannot be read: {0}")]
    Drawing(#[from] resvg::usvg::Error),
    /// The picture cannot be held in memory.
    #[error("a picture of {width} × {height} pixels does not fit into memory")]
    TooLarge {
        /// Pixels across.
        width: u32,
        /// Pixels down.
        height: u32,
    },
    /// The picture cannot be encoded.
    #[error("the picture cannot be encoded: {0}")]
    Encoding(String),
}

/// Draws with the fonts of this machine, which are looked up once.
pub struct Rasteriser {
    options: Options<'static>,
}

impl Default for Rasteriser {
    fn default() -> Self {
        Self::new()
    }
}

impl Rasteriser {
    /// Looks the machine's fonts up.
    #[must_use]
    pub fn new() -> Self {
        let mut options = Options {
            font_family: FAMILY.to_owned(),
            ..Options::default()
        };
        let fonts = options.fontdb_mut();
        fonts.load_system_fonts();
        if let Some(family) = family_for_text(fonts) {
            fonts.set_sans_serif_family(family);
        }
        Self { options }
    }

    /// What is wrong with this machine's fonts, and what to do about it; none where all is well.
    #[must_use]
    pub fn warning(&self) -> Option<&'static str> {
        self.options.fontdb.is_empty().then_some(
            "this machine has no fonts, so the PNG pictures have no text: install some with \
             `apt-get install fonts-dejavu-core` and render again; the SVG pictures are complete",
        )
    }

    /// The drawing as a PNG file.
    ///
    /// # Errors
    ///
    /// When the drawing is no SVG, or the picture does not fit into memory.
    pub fn png(&self, svg: &str) -> Result<Vec<u8>, PngError> {
        let tree = Tree::from_str(svg, &self.options)?;
        let size = tree.size().to_int_size();
        let width = (size.width() as f32 * PIXELS_PER_UNIT) as u32;
        let height = (size.height() as f32 * PIXELS_PER_UNIT) as u32;
        let mut picture = Pixmap::new(width, height).ok_or(PngError::TooLarge { width, height })?;
        let scale = Transform::from_scale(PIXELS_PER_UNIT, PIXELS_PER_UNIT);
        resvg::render(&tree, scale, &mut picture.as_mut());
        picture
            .encode_png()
            .map_err(|error| PngError::Encoding(error.to_string()))
    }
}

/// The wanted family, else any that the machine has: text in another face is better than none.
fn family_for_text(fonts: &Database) -> Option<String> {
    let families = || fonts.faces().flat_map(|face| &face.families);
    families()
        .find(|(name, _)| name == FAMILY)
        .or_else(|| families().next())
        .map(|(name, _)| name.clone())
}
