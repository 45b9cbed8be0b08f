//! `vpmu man`: manual pages, one for each command.
//!
//! clap_mangen writes what clap knows. It would fill the lines behind the options like prose: examples and tables of
//! exit statuses become sections of their own here, line by line.

use crate::args::Cli;
use crate::error::CliError;
use crate::exit;
use clap::{Command, CommandFactory as _};
use clap_mangen::Man;
use roff::{Roff, roman};
use std::path::Path;
use std::{fs, io};

pub(super) fn man(directory: &Path) -> Result<u8, CliError> {
    let failed = |path: &Path, source| CliError::Write { path: path.to_owned(), source };
    fs::create_dir_all(directory).map_err(|source| failed(directory, source))?;
    for (name, page) in pages()? {
        let path = directory.join(name);
        fs::write(&path, page).map_err(|source| failed(&path, source))?;
    }
    Ok(exit::PASS)
}

/// File names and contents.
fn pages() -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    let mut pages = Vec::new();
    let mut commands = vec![command];
    while let Some(command) = commands.pop() {
        commands.extend(command.get_subcommands().cloned());
        pages.push(page(command)?);
    }
    Ok(pages)
}

fn page(command: Command) -> io::Result<(String, Vec<u8>)> {
    let behind = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let man = Man::new(command.after_help(None::<&str>)).source(concat!("vpmu ", env!("CARGO_PKG_VERSION")));
    let mut page = Vec::new();
    man.render(&mut page)?;
    sections(&behind).to_writer(&mut page)?;
    Ok((man.get_filename(), page))
}

/// The text behind a command's options. A block that begins with `Heading:` and is indented is a section and keeps its
/// lines; others are notes.
fn sections(text: &str) -> Roff {
    let mut roff = Roff::new();
    let mut in_notes = false;
    for block in text.split("\n\n") {
        let (first, rest) = block.split_once('\n').unwrap_or((block, ""));
        match first.strip_suffix(':') {
            Some(heading) if rest.starts_with(' ') => {
                in_notes = false;
                roff.control("SH", [heading.to_uppercase().as_str()]).control("nf", []);
                rest.lines().for_each(|line| {
                    roff.text([roman(line.strip_prefix("  ").unwrap_or(line))]);
                });
                roff.control("fi", []);
            }
            _ if block.is_empty() => {}
            _ => {
                if !std::mem::replace(&mut in_notes, true) {
                    roff.control("SH", ["NOTES"]);
                }
                roff.control("PP", []).text([roman(block)]);
            }
        }
    }
    roff
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page() {
        let pages = pages().unwrap();
        let has = |name: &str| pages.iter().any(|(file, _)| file == name);
        for name in ["vpmu.1", "vpmu-run.1", "vpmu-test.1", "vpmu-test-merge.1", "vpmu-list-events.1"] {
            assert!(has(name), "{name}");
        }
        let (_, run) = pages.iter().find(|(file, _)| file == "vpmu-run.1").unwrap();
        let run = String::from_utf8_lossy(run);
        assert!(run.contains(r"\-\-profile") && run.contains(".SH EXAMPLES\n.nf\n"), "{run}");
    }

    #[test]
    fn what_is_behind_the_options_keeps_its_lines() {
        let text = "Prose of\ntwo lines.\n\nMore.\n\nExamples:\n  vpmu a    first\n  vpmu b    second";
        let expected = ".SH NOTES\n.PP\nProse of\ntwo lines.\n.PP\nMore.\n\
                        .SH EXAMPLES\n.nf\nvpmu a    first\nvpmu b    second\n.fi\n";
        let rendered = sections(text).to_roff();
        assert!(rendered.ends_with(expected), "{rendered}");
    }
}
