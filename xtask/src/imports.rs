//! No circle of imports among the files of a crate: what a file needs stands below it. Only a module and what is in
//! it may name each other. Test modules are left out.
#![allow(clippy::unwrap_used, clippy::panic, reason = "test code")]

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Names from the crate's root to a module, or to an item in one.
type Names = Vec<String>;

/// What a file says of names.
#[derive(Debug, Default)]
struct File {
    /// Every path from `crate`, `self` or `super`, from the root.
    mentions: BTreeSet<Names>,
    /// What `use` brings in: the local name, and the path from the root. `*` stands for all names.
    uses: Vec<(String, Names)>,
    /// Modules that exist for tests only.
    tests: BTreeSet<Names>,
}

#[test]
fn no_crate_has_a_circle_of_imports() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut circles = Vec::new();
    let mut crates = 0;
    for folder in ["crates", "guest-tests"].map(|folder| root.join(folder)) {
        for entry in fs::read_dir(folder).unwrap() {
            let source = entry.unwrap().path().join("src");
            if source.is_dir() {
                crates += 1;
                circles.extend(circles_of(&source).into_iter().map(|circle| (source.clone(), circle)));
            }
        }
    }
    crates += 1;
    let source = root.join("xtask/src");
    circles.extend(circles_of(&source).into_iter().map(|circle| (source.clone(), circle)));
    assert!(crates > 10, "only {crates} crates were found");
    let text = |(source, circle): &(PathBuf, Vec<String>)| {
        let source = source.strip_prefix(root).unwrap().display();
        format!("{source}:\n  {}", circle.join("\n  "))
    };
    assert!(circles.is_empty(), "{}", circles.iter().map(text).collect::<Vec<_>>().join("\n"));
}

#[test]
fn a_circle_is_found_through_a_re_export() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("lib.rs", "mod a; mod b; mod c; pub use b::B; #[cfg(test)] mod tests;");
    write("a.rs", "use crate::B; pub struct A;");
    write("b.rs", "use super::{c::C}; pub struct B;");
    write("c.rs", "pub struct C; #[cfg(test)] mod tests { use crate::a::A; }");
    write("tests.rs", "use crate::a::A;");
    assert_eq!(circles_of(folder.path()), Vec::<Vec<String>>::new());
    write("c.rs", "fn c() { matches!(1, crate::a::A) }");
    let circle = ["a -> b", "b -> c", "c -> a"].map(str::to_owned).to_vec();
    assert_eq!(circles_of(folder.path()), [circle]);
}

/// Imports that are part of a circle, a list for each set of files that reach each other.
fn circles_of(source: &Path) -> Vec<Vec<String>> {
    let mut files = BTreeMap::new();
    read(source, &mut Vec::new(), &mut files);
    let tests: BTreeSet<Names> = files.values().flat_map(|file| file.tests.iter().cloned()).collect();
    files.retain(|module, _| !tests.iter().any(|test| module.starts_with(test)));

    let mut imports: BTreeMap<&Names, BTreeSet<&Names>> = BTreeMap::new();
    for (module, file) in &files {
        for mention in file.mentions.iter().chain(file.uses.iter().map(|(_, path)| path)) {
            let Some(other) = defining_module(&files, mention, 0) else { continue };
            if !other.starts_with(module) && !module.starts_with(other) {
                imports.entry(module).or_default().insert(other);
            }
        }
    }

    let reached = |from: &Names| {
        let mut seen = BTreeSet::new();
        let mut next: Vec<&Names> = imports.get(from).into_iter().flatten().copied().collect();
        while let Some(module) = next.pop() {
            if seen.insert(module) {
                next.extend(imports.get(module).into_iter().flatten());
            }
        }
        seen
    };
    let reached: BTreeMap<&Names, BTreeSet<&Names>> =
        files.keys().map(|module| (module, reached(module))).collect();
    let mut done = BTreeSet::new();
    let mut circles = Vec::new();
    for (&module, others) in &reached {
        if !others.contains(module) || done.contains(module) {
            continue;
        }
        let circle: BTreeSet<&Names> =
            others.iter().copied().filter(|other| reached[other].contains(module)).collect();
        let arrows = circle.iter().flat_map(|from| {
            let within = imports[from].iter().filter(|to| circle.contains(*to));
            within.map(|to| format!("{} -> {}", from.join("::"), to.join("::")))
        });
        circles.push(arrows.collect());
        done.extend(circle);
    }
    circles
}

/// The file in which the item of a path is defined, behind all re-exports.
fn defining_module<'a>(files: &'a BTreeMap<Names, File>, path: &[String], depth: u8) -> Option<&'a Names> {
    let length = (0..=path.len()).rev().find(|&length| files.contains_key(&path[..length]))?;
    let (module, file) = files.get_key_value(&path[..length])?;
    let rest = &path[length..];
    if let (Some(name), true) = (rest.first(), depth < 8) {
        for (local, target) in &file.uses {
            if local == name {
                let target: Names = target.iter().chain(&rest[1..]).cloned().collect();
                return defining_module(files, &target, depth + 1);
            }
        }
    }
    Some(module)
}

fn read(folder: &Path, module: &mut Names, files: &mut BTreeMap<Names, File>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        // Each file there is a crate of its own.
        if path.is_dir() && !(module.is_empty() && name == "bin") {
            module.push(name);
            read(&path, module, files);
            module.pop();
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let tokens = text.parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let own = matches!(name.as_str(), "lib" | "main" | "mod");
            let at: Names = module.iter().cloned().chain((!own).then_some(name)).collect();
            let mut file = files.remove(&at).unwrap_or_default();
            scan(tokens, &at, &mut file);
            files.insert(at, file);
        }
    }
}

fn is(token: Option<&TokenTree>, text: &str) -> bool {
    match token {
        Some(TokenTree::Ident(ident)) => *ident == text,
        Some(TokenTree::Punct(punct)) => text.len() == 1 && text.starts_with(punct.as_char()),
        _ => false,
    }
}

fn ident(token: Option<&TokenTree>) -> Option<String> {
    match token {
        Some(TokenTree::Ident(ident)) => Some(ident.to_string()),
        _ => None,
    }
}

/// Where a path begins: the module that its next names are relative to, and how many tokens that took.
fn start(tokens: &[TokenTree], module: &[String]) -> Option<(Names, usize)> {
    let behind = |at: usize| is(tokens.get(at), ":") && is(tokens.get(at + 1), ":");
    let mut base = match ident(tokens.first())?.as_str() {
        "crate" => Vec::new(),
        "self" => module.to_vec(),
        "super" => module[..module.len().saturating_sub(1)].to_vec(),
        _ => return None,
    };
    let mut at = 1;
    while behind(at) && is(tokens.get(at + 2), "super") {
        base.pop();
        at += 3;
    }
    behind(at).then_some((base, at + 2))
}

/// Takes one tree of a path: names, braces, `*`, `as`. Each leaf is given with the name by which it is known.
fn tree(tokens: &[TokenTree], base: &[String], leaves: &mut Vec<(String, Names)>) -> usize {
    let mut path = base.to_vec();
    let mut at = 0;
    loop {
        match tokens.get(at) {
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                for part in inner.split(|token| is(Some(token), ",")).filter(|part| !part.is_empty()) {
                    tree(part, &path, leaves);
                }
                return at + 1;
            }
            Some(TokenTree::Ident(name)) => {
                if *name != "self" {
                    path.push(name.to_string());
                }
                at += 1;
            }
            // `*`: the module.
            _ => {
                leaves.push(("*".to_owned(), path));
                return at + 1;
            }
        }
        if is(tokens.get(at), ":") && is(tokens.get(at + 1), ":") {
            at += 2;
            continue;
        }
        let local = if is(tokens.get(at), "as") { ident(tokens.get(at + 1)) } else { path.last().cloned() };
        leaves.push((local.unwrap_or_default(), path));
        return at;
    }
}

fn scan(stream: TokenStream, module: &[String], file: &mut File) {
    let tokens: Vec<TokenTree> = stream.into_iter().collect();
    let mut at = 0;
    while at < tokens.len() {
        let rest = &tokens[at..];
        if is(rest.first(), "#")
            && let Some(TokenTree::Group(attribute)) = rest.get(1)
            && attribute.stream().to_string().replace(' ', "").starts_with("cfg(test)")
        {
            let end = rest.iter().position(|token| match token {
                TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
                other => is(Some(other), ";"),
            });
            let end = end.unwrap_or(rest.len() - 1);
            if let Some(name) = rest[..end].iter().position(|token| is(Some(token), "mod")) {
                let name = ident(rest.get(name + 1)).unwrap_or_default();
                file.tests.insert(module.iter().cloned().chain([name]).collect());
            }
            at += end + 1;
        } else if is(rest.first(), "mod")
            && let (Some(name), Some(TokenTree::Group(body))) = (ident(rest.get(1)), rest.get(2))
        {
            let inner: Names = module.iter().cloned().chain([name]).collect();
            scan(body.stream(), &inner, file);
            at += 3;
        } else if is(rest.first(), "use") {
            let mut leaves = Vec::new();
            let (base, skip) = start(&rest[1..], module).unwrap_or_else(|| (module.to_vec(), 0));
            at += 1 + skip + tree(&rest[1 + skip..], &base, &mut leaves);
            file.uses.extend(leaves);
        } else if let Some((base, skip)) = start(rest, module) {
            let mut leaves = Vec::new();
            at += skip + tree(&rest[skip..], &base, &mut leaves);
            file.mentions.extend(leaves.into_iter().map(|(_, path)| path));
        } else {
            if let Some(TokenTree::Group(group)) = rest.first() {
                scan(group.stream(), module, file);
            }
            at += 1;
        }
    }
}
