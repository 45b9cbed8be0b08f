//! From text to a filter: recursive descent.

use super::{Expr, FilterError, Matcher, Property};
use crate::similar::most_similar;

/// Deeper nesting than an expression needs; it bounds the stack.
const MAX_DEPTH: usize = 64;

struct Parser<'a> {
    text: &'a str,
    /// Byte offset of what has not been read.
    at: usize,
    depth: usize,
}

pub(super) fn parse(text: &str) -> Result<Expr, FilterError> {
    let mut parser = Parser { text, at: 0, depth: 0 };
    let expr = parser.either()?;
    match parser.peek() {
        None => Ok(expr),
        Some(')') => Err(parser.error("this parenthesis was never opened")),
        Some(_) => Err(parser.error("`and`, `or` or the end was expected")),
    }
}

impl<'a> Parser<'a> {
    /// Something is wrong with what comes next.
    fn error(&self, what: impl Into<String>) -> FilterError {
        self.error_at(self.at, what)
    }

    fn error_at(&self, at: usize, what: impl Into<String>) -> FilterError {
        let column = self.text[..at].chars().count() + 1;
        FilterError { text: self.text.to_owned(), what: what.into(), column }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// The next character that is not a blank.
    fn peek(&mut self) -> Option<char> {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
        self.rest().chars().next()
    }

    fn take(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.at += wanted.len_utf8();
        }
        found
    }

    /// The word that comes next, without taking it.
    fn word(&mut self) -> &'a str {
        self.peek();
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        &rest[..end]
    }

    fn take_word(&mut self, wanted: &str) -> bool {
        let found = self.word() == wanted;
        if found {
            self.at += wanted.len();
        }
        found
    }

    fn either(&mut self) -> Result<Expr, FilterError> {
        let mut expr = self.both()?;
        while self.take('|') || self.take('+') || self.take_word("or") {
            expr = Expr::Or(Box::new(expr), Box::new(self.both()?));
        }
        Ok(expr)
    }

    fn both(&mut self) -> Result<Expr, FilterError> {
        let mut expr = self.negated()?;
        loop {
            if self.take('&') || self.take_word("and") {
                expr = Expr::And(Box::new(expr), Box::new(self.negated()?));
            } else if self.take('-') {
                expr = Expr::And(Box::new(expr), Box::new(Expr::Not(Box::new(self.negated()?))));
            } else {
                return Ok(expr);
            }
        }
    }

    fn negated(&mut self) -> Result<Expr, FilterError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.error("this is nested too deeply"));
        }
        let expr = if self.take('!') || self.take_word("not") {
            Expr::Not(Box::new(self.negated()?))
        } else if self.peek() == Some('(') {
            let opened = self.at;
            self.take('(');
            let inner = self.either()?;
            if !self.take(')') {
                return Err(match self.peek() {
                    None => self.error_at(opened, "this parenthesis is never closed"),
                    Some(_) => self.error("`and`, `or` or `)` was expected"),
                });
            }
            inner
        } else {
            self.predicate()?
        };
        self.depth -= 1;
        Ok(expr)
    }

    fn predicate(&mut self) -> Result<Expr, FilterError> {
        let word = self.word();
        if word.is_empty() {
            let what = match self.peek() {
                None => "a predicate such as image(lbr) is missing".to_owned(),
                Some(other) => format!("`{other}` begins no predicate"),
            };
            return Err(self.error(what));
        }
        let begin = self.at;
        self.at += word.len();
        if !self.take('(') {
            self.at = begin;
            return Err(self.error(format!("`{word}` needs parentheses, as in image(lbr)")));
        }
        let expr = match word {
            "all" => Expr::All,
            "none" => Expr::None,
            _ => match Property::ALL.iter().find(|(_, name)| *name == word) {
                Some((property, _)) => return self.matcher(*property),
                None => {
                    let names = Property::ALL.iter().map(|(_, name)| *name).chain(["all", "none"]);
                    let all: Vec<&str> = names.clone().collect();
                    let hint = match most_similar(word, names) {
                        Some(name) => format!("did you mean `{name}`?"),
                        None => format!("there are {}", all.join(", ")),
                    };
                    return Err(self.error_at(begin, format!("no predicate is called `{word}`; {hint}")));
                }
            },
        };
        if self.take(')') { Ok(expr) } else { Err(self.error(format!("{word}() takes nothing"))) }
    }

    /// Behind `name(`: the matcher and the closing parenthesis.
    fn matcher(&mut self, property: Property) -> Result<Expr, FilterError> {
        self.peek();
        let begin = self.at;
        let matcher = if self.take('/') {
            let text = self.until('/').ok_or_else(|| self.error_at(begin, "a `/` is missing at the end"))?;
            // Only the delimiter is ours; every other escape is the regular expression's.
            Matcher::regex(&text.replace("\\/", "/"))
        } else {
            let open = || self.error_at(begin, "a `)` is missing");
            let rest = self.rest();
            let mut name = String::new();
            let mut chars = rest.char_indices();
            let end = loop {
                match chars.next().ok_or_else(open)? {
                    (at, ')') => break at,
                    (_, '\\') => name.push(chars.next().ok_or_else(open)?.1),
                    (_, other) => name.push(other),
                }
            };
            self.at += end;
            Matcher::parse(property, name.trim_end())
        };
        let matcher = matcher.map_err(|why| self.error_at(begin, why))?;
        if self.take(')') { Ok(Expr::Has(property, matcher)) } else { Err(self.error("`)` was expected")) }
    }

    /// Takes everything up to an unescaped delimiter, and the delimiter.
    fn until(&mut self, delimiter: char) -> Option<&'a str> {
        let rest = self.rest();
        let mut escaped = false;
        for (at, c) in rest.char_indices() {
            if c == delimiter && !escaped {
                self.at += at + c.len_utf8();
                return Some(&rest[..at]);
            }
            escaped = c == '\\' && !escaped;
        }
        None
    }
}
