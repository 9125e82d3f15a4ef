//! Splits Rust source code into tokens, as far as is necessary to find names and paths, also inside
//! macros.
//!
//! Comments are left out, and so is the content of string and character literals, so that only code
//! remains. `::` is one token; every other symbol is a token of one character.

/// The tokens of some source code.
pub fn tokens(source: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        rest = if rest.starts_with("//") {
            rest.find('\n').map_or("", |end| &rest[end..])
        } else if rest.starts_with("/*") {
            after_block_comment(rest)
        } else if first == '"' {
            after_string(&rest[1..])
        } else if first == '\'' {
            after_quote(&rest[1..])
        } else if is_name_character(first) {
            let (name, rest) = split_name(rest);
            match after_raw_string(name, rest) {
                Some(rest) => rest,
                None => {
                    tokens.push(name.to_owned());
                    rest
                }
            }
        } else if let Some(after) = rest.strip_prefix("::") {
            tokens.push("::".to_owned());
            after
        } else {
            if !first.is_whitespace() {
                tokens.push(first.to_string());
            }
            &rest[first.len_utf8()..]
        };
    }
    tokens
}

/// Whether a token is an identifier or a keyword.
pub fn is_name(token: &str) -> bool {
    token.starts_with(|first: char| first.is_alphabetic() || first == '_')
}

fn is_name_character(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

fn split_name(text: &str) -> (&str, &str) {
    text.split_at(text.find(|next| !is_name_character(next)).unwrap_or(text.len()))
}

fn after_block_comment(text: &str) -> &str {
    let (mut depth, mut rest) = (0, text);
    loop {
        if let Some(inside) = rest.strip_prefix("/*") {
            (depth, rest) = (depth + 1, inside);
        } else if let Some(outside) = rest.strip_prefix("*/") {
            (depth, rest) = (depth - 1, outside);
        } else {
            rest = &rest[rest.chars().next().unwrap().len_utf8()..];
        }
        if depth == 0 {
            return rest;
        }
    }
}

/// The text after a string literal, given the text after its opening quote.
fn after_string(text: &str) -> &str {
    let mut is_escaped = false;
    for (at, character) in text.char_indices() {
        match character {
            '"' if !is_escaped => return &text[at + 1..],
            '\\' => is_escaped = !is_escaped,
            _ => is_escaped = false,
        }
    }
    panic!("a string without an end: {text}");
}

/// The text after a raw string literal, if `name` is its prefix and `text` begins with its hashes
/// or quote.
fn after_raw_string<'a>(name: &str, text: &'a str) -> Option<&'a str> {
    if !["r", "br", "cr"].contains(&name) {
        return None;
    }
    let hashes = text.len() - text.trim_start_matches('#').len();
    let content = text[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    Some(&content[content.find(&end).unwrap() + end.len()..])
}

/// The text after a character literal or a lifetime, given the text after its quote.
fn after_quote(text: &str) -> &str {
    if let Some(escape) = text.strip_prefix('\\') {
        let escaped = escape.chars().next().unwrap().len_utf8();
        return &escape[escaped + escape[escaped..].find('\'').unwrap() + 1..];
    }
    let first = text.chars().next().unwrap();
    match text[first.len_utf8()..].strip_prefix('\'') {
        Some(rest) => rest,
        None => split_name(text).1,
    }
}

#[test]
fn comments_strings_and_lifetimes_are_not_tokens() {
    let source = r####"
        use a::b; // crate::x
        /* crate::x /* nested */ crate::x */
        fn f<'a>(text: &'a str) -> char { "crate::x\"" ; r#"crate::"x"# ; b"\\" ; '\'' ; '"' ; 'é' }
    "####;
    let expected = "use a :: b ; fn f < > ( text : & str ) - > char { ; ; b ; ; ; }";
    assert_eq!(tokens(source).join(" "), expected);
}
