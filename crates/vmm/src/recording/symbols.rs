//! Functions of ELF files and of the kernel, by address.

use addr2line::gimli::{BaseAddresses, EhFrame, LittleEndian, UnwindSection as _};
use object::read::elf::ElfFile64;
use object::{Endianness, Object as _, ObjectSection as _, ObjectSymbol as _, SymbolKind};

/// Sections of code that only jumps elsewhere.
const LINKAGE: [&str; 3] = [".plt", ".plt.sec", ".plt.got"];
/// What their code is called.
pub(super) const PLT: &str = "[plt]";

/// A function.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Symbol {
    /// Where it begins.
    pub address: u64,
    /// Bytes; 0 if it ends where the next one begins.
    pub size: u64,
    /// Its name.
    pub name: String,
}

/// A name as its language writes it.
pub(crate) fn demangled(name: &str) -> String {
    addr2line::demangle_auto(name.into(), None).into_owned()
}

/// Functions by address.
#[derive(Debug, Clone, Default)]
pub struct Symbols(Vec<Symbol>);

impl Symbols {
    /// The functions of an ELF file: those with names, and the rest by what `.eh_frame` says, with their address as
    /// a name.
    #[must_use]
    pub fn of_elf(data: &[u8]) -> Self {
        let Ok(file) = ElfFile64::<Endianness>::parse(data) else { return Self::default() };
        let mut named = Vec::new();
        for symbol in file.symbols().chain(file.dynamic_symbols()) {
            if symbol.kind() == SymbolKind::Text
                && symbol.is_definition()
                && let Ok(name) = symbol.name()
            {
                // Versions are not part of a name.
                let name = name.split('@').next().unwrap_or(name);
                named.push(Symbol { address: symbol.address(), size: symbol.size(), name: name.to_owned() });
            }
        }
        for section in file.sections() {
            if section.name().is_ok_and(|name| LINKAGE.contains(&name)) {
                named.push(Symbol { address: section.address(), size: section.size(), name: PLT.to_owned() });
            }
        }
        let named = Self::new(named);
        let mut all = named.0.clone();
        for (address, size) in frames(&file) {
            // A symbol without a size goes on only as far as nothing else begins.
            let covers = |symbol: &Symbol| symbol.size > 0 || symbol.address == address;
            if !named.find(address).is_some_and(covers) {
                all.push(Symbol { address, size, name: format!("{address:#x}") });
            }
        }
        Self::new(all)
    }

    /// The functions of a kernel, from the text of its `/proc/kallsyms` or `System.map`.
    #[must_use]
    pub fn of_kernel(text: &str) -> Self {
        let parse = |line: &str| {
            let mut words = line.split_whitespace();
            let address = u64::from_str_radix(words.next()?, 16).ok().filter(|address| *address != 0)?;
            let kind = words.next()?;
            let name = words.next()?.to_owned();
            matches!(kind, "t" | "T" | "w" | "W").then_some(Symbol { address, size: 0, name })
        };
        Self::new(text.lines().filter_map(parse).collect())
    }

    fn new(mut symbols: Vec<Symbol>) -> Self {
        // Of several names for a function the one with a size, then the first in order, for every host.
        symbols.sort_by(|a, b| (a.address, a.size == 0, &a.name).cmp(&(b.address, b.size == 0, &b.name)));
        symbols.dedup_by_key(|symbol| symbol.address);
        Self(symbols)
    }

    /// The function in which an address lies.
    #[must_use]
    pub fn find(&self, address: u64) -> Option<&Symbol> {
        let behind = self.0.partition_point(|symbol| symbol.address <= address);
        let symbol = self.0.get(behind.checked_sub(1)?)?;
        // Assembly often has no sizes.
        (symbol.size == 0 || address - symbol.address < symbol.size).then_some(symbol)
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// First address and length of what `.eh_frame` describes (LSB, "Exception Frames").
fn frames(file: &ElfFile64<'_, Endianness>) -> Vec<(u64, u64)> {
    let Some(section) = file.section_by_name(".eh_frame") else { return Vec::new() };
    let Ok(data) = section.uncompressed_data() else { return Vec::new() };
    let frame = EhFrame::new(&data, LittleEndian);
    let address = |name| file.section_by_name(name).map_or(0, |section| section.address());
    let bases = BaseAddresses::default()
        .set_eh_frame(section.address())
        .set_text(address(".text"))
        .set_got(address(".got"));
    let mut found = Vec::new();
    let mut entries = frame.entries(&bases);
    while let Ok(Some(entry)) = entries.next() {
        if let addr2line::gimli::CieOrFde::Fde(partial) = entry
            && let Ok(entry) = partial.parse(EhFrame::cie_from_offset)
        {
            found.push((entry.initial_address(), entry.len()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(symbols: &Symbols, addresses: &[u64]) -> Vec<Option<String>> {
        addresses.iter().map(|address| symbols.find(*address).map(|symbol| symbol.name.clone())).collect()
    }

    #[test]
    fn a_function_ends_where_its_size_says() {
        let list = [(16, 8, "a"), (16, 0, "A"), (32, 0, "start"), (64, 4, "b")];
        let symbol =
            |(address, size, name): (u64, u64, &str)| Symbol { address, size, name: name.to_owned() };
        let symbols = Symbols::new(list.map(symbol).to_vec());
        let some = |name: &str| Some(name.to_owned());
        let (a, start, b) = (some("a"), some("start"), some("b"));
        let expected = [None, a.clone(), a, None, start.clone(), start, b, None];
        assert_eq!(names(&symbols, &[15, 16, 23, 24, 32, 63, 64, 68]), expected);
    }

    #[test]
    fn kernel_symbols_are_functions_only() {
        let text = "ffffffff81000000 T _text\nffffffff81000100 D data\n\
                    0000000000000000 t hidden\nffffffff81000200 t f\n";
        let symbols = Symbols::of_kernel(text);
        assert_eq!(symbols.len(), 2);
        assert_eq!(names(&symbols, &[0xFFFF_FFFF_8100_0250]), [Some("f".to_owned())]);
    }

    #[test]
    fn this_program_s_own_functions_are_found() {
        let data = std::fs::read("/proc/self/exe").expect("this program");
        let symbols = Symbols::of_elf(&data);
        assert!(symbols.len() > 1000, "{}", symbols.len());
    }
}
