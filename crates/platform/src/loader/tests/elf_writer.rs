//! A tiny ELF writer. Layout of the file: header, program headers, their data, section data,
//! section names, section headers. Offsets: generic ABI, "ELF header" and "Program header".

pub(super) const PT_LOAD: u32 = 1;
pub(super) const PT_INTERP: u32 = 3;
pub(super) const PT_NOTE: u32 = 4;
pub(super) const SHT_PROGBITS: u32 = 1;
pub(super) const SHT_NOBITS: u32 = 8;

const EM_386: u16 = 3;
const EM_X86_64: u16 = 62;

/// File offset of a field of program header `index` of an ELF64 file.
pub(super) fn program_field(index: usize, field: &str) -> usize {
    let offset = match field {
        "p_type" => 0,
        "p_offset" => 8,
        "p_vaddr" => 16,
        "p_paddr" => 24,
        "p_filesz" => 32,
        "p_memsz" => 40,
        "p_align" => 48,
        other => panic!("no field {other}"),
    };
    64 + index * 56 + offset
}

/// Overwrites part of a finished file.
pub(super) fn patch(mut file: Vec<u8>, offset: usize, bytes: &[u8]) -> Vec<u8> {
    file[offset..offset + bytes.len()].copy_from_slice(bytes);
    file
}

struct Program {
    kind: u32,
    vaddr: u64,
    paddr: u64,
    data: Vec<u8>,
    mem_size: u64,
}

struct Section {
    name: String,
    kind: u32,
    data: Vec<u8>,
}

pub(super) struct ElfWriter {
    is_64: bool,
    kind: u16,
    machine: u16,
    entry: u64,
    programs: Vec<Program>,
    sections: Vec<Section>,
}

impl ElfWriter {
    pub(super) fn elf64() -> Self {
        Self { is_64: true, machine: EM_X86_64, ..Self::elf32() }
    }

    pub(super) fn elf32() -> Self {
        Self { is_64: false, kind: 2, machine: EM_386, entry: 0, programs: vec![], sections: vec![] }
    }

    pub(super) fn kind(self, kind: u16) -> Self {
        Self { kind, ..self }
    }

    pub(super) fn machine(self, machine: u16) -> Self {
        Self { machine, ..self }
    }

    pub(super) fn entry(self, entry: u64) -> Self {
        Self { entry, ..self }
    }

    /// A segment at equal virtual and physical address, with `bss` bytes behind its data.
    pub(super) fn segment(self, kind: u32, address: u64, data: Vec<u8>, bss: u64) -> Self {
        self.segment_at(kind, address, address, data, bss)
    }

    pub(super) fn segment_at(mut self, kind: u32, vaddr: u64, paddr: u64, data: Vec<u8>, bss: u64) -> Self {
        let mem_size = data.len() as u64 + bss;
        self.programs.push(Program { kind, vaddr, paddr, data, mem_size });
        self
    }

    pub(super) fn section(mut self, name: &str, kind: u32, data: Vec<u8>) -> Self {
        self.sections.push(Section { name: name.to_owned(), kind, data });
        self
    }

    pub(super) fn build(&self) -> Vec<u8> {
        let (header_size, program_size) = if self.is_64 { (64, 56) } else { (52, 32) };
        let mut data = vec![0; header_size + self.programs.len() * program_size];
        let mut append = |bytes: &[u8]| {
            data.resize(data.len().next_multiple_of(16), 0);
            let offset = data.len() as u64;
            data.extend(bytes);
            offset
        };
        let program_offsets: Vec<u64> = self.programs.iter().map(|p| append(&p.data)).collect();
        let section_offsets: Vec<u64> = self.sections.iter().map(|s| append(&s.data)).collect();
        let mut names = vec![0];
        let mut name_offset = |name: &str| {
            let offset = names.len() as u64;
            names.extend(name.as_bytes());
            names.push(0);
            offset
        };
        let mut table = vec![[0; 4]];
        for (section, offset) in self.sections.iter().zip(section_offsets) {
            table.push([name_offset(&section.name), section.kind.into(), offset, section.data.len() as u64]);
        }
        let own_name = name_offset(".shstrtab");
        table.push([own_name, 3, append(&names), names.len() as u64]);
        let section_table = append(&[]);
        for [name, kind, offset, size] in &table {
            data.extend((*name as u32).to_le_bytes());
            data.extend((*kind as u32).to_le_bytes());
            // flags, address, offset, size
            for word in [0, 0, *offset, *size] {
                self.word(&mut data, word);
            }
            data.extend([0; 8]); // link, info
            self.word(&mut data, 1); // alignment
            self.word(&mut data, 0); // entry size
        }

        let header = self.header(section_table, table.len() as u16);
        data[..header.len()].copy_from_slice(&header);
        let mut at = header.len();
        for (program, offset) in self.programs.iter().zip(program_offsets) {
            let bytes = self.program(program, offset);
            data[at..at + bytes.len()].copy_from_slice(&bytes);
            at += bytes.len();
        }
        data
    }

    fn word(&self, out: &mut Vec<u8>, value: u64) {
        if self.is_64 {
            out.extend(value.to_le_bytes());
        } else {
            out.extend(u32::try_from(value).unwrap().to_le_bytes());
        }
    }

    fn header(&self, section_table: u64, sections: u16) -> Vec<u8> {
        let mut out = vec![0x7F, b'E', b'L', b'F', if self.is_64 { 2 } else { 1 }, 1, 1];
        out.resize(16, 0);
        out.extend(self.kind.to_le_bytes());
        out.extend(self.machine.to_le_bytes());
        out.extend(1u32.to_le_bytes());
        let (header_size, program_size, section_size) =
            if self.is_64 { (64u16, 56u16, 64u16) } else { (52, 32, 40) };
        for value in [self.entry, header_size.into(), section_table] {
            self.word(&mut out, value);
        }
        out.extend([0; 4]); // flags
        let counts =
            [header_size, program_size, self.programs.len() as u16, section_size, sections, sections - 1];
        out.extend(counts.iter().flat_map(|count| count.to_le_bytes()));
        out
    }

    fn program(&self, program: &Program, offset: u64) -> Vec<u8> {
        let Program { kind, vaddr, paddr, data, mem_size } = program;
        let file_size = data.len() as u64;
        let mut out = kind.to_le_bytes().to_vec();
        let flags = 7u32.to_le_bytes();
        if self.is_64 {
            out.extend(flags);
        }
        for value in [offset, *vaddr, *paddr, file_size, *mem_size] {
            self.word(&mut out, value);
        }
        if !self.is_64 {
            out.extend(flags);
        }
        self.word(&mut out, 4);
        out
    }
}
