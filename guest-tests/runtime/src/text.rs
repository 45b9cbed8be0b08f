//! Text of bounded size, for what must not allocate.

use core::fmt;

/// At most `N` bytes of UTF-8. What does not fit is dropped.
#[derive(Debug, Clone, Copy)]
pub struct Text<const N: usize> {
    bytes: [u8; N],
    length: usize,
}

impl<const N: usize> Text<N> {
    /// No text.
    #[must_use]
    pub const fn new() -> Self {
        Self { bytes: [0; N], length: 0 }
    }

    /// `arguments`, formatted.
    #[must_use]
    pub fn format(arguments: fmt::Arguments<'_>) -> Self {
        let mut text = Self::new();
        // A Display that fails leaves what it wrote before, and that is the text.
        let _ = fmt::Write::write_fmt(&mut text, arguments);
        text
    }

    /// Appends `character` if it fits.
    pub fn push(&mut self, character: char) {
        let end = self.length + character.len_utf8();
        if let Some(place) = self.bytes.get_mut(self.length..end) {
            character.encode_utf8(place);
            self.length = end;
        }
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        core::str::from_utf8(&self.bytes[..self.length]).unwrap_or("")
    }
}

impl<const N: usize> Default for Text<N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const N: usize> fmt::Write for Text<N> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.chars().for_each(|character| self.push(character));
        Ok(())
    }
}
