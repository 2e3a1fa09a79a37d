//! Replaces many texts in one pass.

use std::{cmp::Reverse, collections::HashSet};

use aho_corasick::AhoCorasick;

/// Maximum length of a text in the automaton in bytes, because its memory grows with the total
/// length.
const MAX_PATTERN: usize = 1024;

/// A text and its replacement.
#[derive(Debug)]
pub(super) struct Replacement {
    pub find: String,
    pub with: String,
    /// Whether it is replaced only as a whole word.
    pub is_word: bool,
}

/// Replacements in one Aho-Corasick automaton.
#[derive(Debug, Default)]
pub(super) struct Replacer {
    /// `None` without replacements.
    automaton: Option<AhoCorasick>,
    replacements: Vec<Replacement>,
    /// Replacements whose text is too long for the automaton, longest first.
    long: Vec<Replacement>,
}

impl Replacer {
    /// Compiles `replacements`. Of those with the same text, the first counts; empty texts are left
    /// out.
    pub fn new(replacements: impl IntoIterator<Item = Replacement>) -> Self {
        let mut known = HashSet::new();
        let (mut long, short): (Vec<_>, Vec<_>) = replacements
            .into_iter()
            .filter(|Replacement { find, .. }| !find.is_empty() && known.insert(find.clone()))
            .partition(|Replacement { find, .. }| find.len() > MAX_PATTERN);
        long.sort_by_key(|Replacement { find, .. }| Reverse(find.len()));
        if short.is_empty() {
            return Self { automaton: None, replacements: short, long };
        }
        match AhoCorasick::new(short.iter().map(|Replacement { find, .. }| find)) {
            Ok(automaton) => Self { automaton: Some(automaton), replacements: short, long },
            Err(error) => {
                tracing::error!(%error, "masking is slower: the search for all texts at once could not be built");
                long.extend(short);
                Self { automaton: None, replacements: Vec::new(), long }
            }
        }
    }

    /// Returns `text` with the replacements, or `None` if it contains none of the texts. Of
    /// overlapping texts, the one that begins first is replaced, and of those the longest.
    pub fn replace(&self, text: &str) -> Option<String> {
        let mut replaced: Option<String> = None;
        for Replacement { find, with, .. } in &self.long {
            let now = replaced.as_deref().unwrap_or(text);
            if now.contains(find.as_str()) {
                replaced = Some(now.replace(find.as_str(), with));
            }
        }
        self.replace_short(replaced.as_deref().unwrap_or(text)).or(replaced)
    }

    fn replace_short(&self, text: &str) -> Option<String> {
        let automaton = self.automaton.as_ref().filter(|automaton| automaton.is_match(text))?;
        let mut found: Vec<_> = automaton
            .find_overlapping_iter(text)
            .map(|found| (found.range(), &self.replacements[found.pattern().as_usize()]))
            .filter(|(range, replacement)| !replacement.is_word || stands_alone(text, range))
            .collect();
        found.sort_by_key(|(range, _)| (range.start, Reverse(range.end)));
        let mut replaced = String::with_capacity(text.len());
        let mut rest = 0;
        for (range, Replacement { with, .. }) in &found {
            if range.start >= rest {
                replaced.push_str(&text[rest..range.start]);
                replaced.push_str(with);
                rest = range.end;
            }
        }
        replaced.push_str(&text[rest..]);
        (!found.is_empty()).then_some(replaced)
    }
}

/// Returns whether no letter or digit is next to `range`.
fn stands_alone(text: &str, range: &std::ops::Range<usize>) -> bool {
    let beside = [text[..range.start].chars().next_back(), text[range.end..].chars().next()];
    beside.into_iter().flatten().all(|beside| !beside.is_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replacer(replacements: &[(&str, &str, bool)]) -> Replacer {
        Replacer::new(replacements.iter().map(|&(find, with, is_word)| Replacement {
            find: find.to_owned(),
            with: with.to_owned(),
            is_word,
        }))
    }

    #[test]
    fn replaces_the_first_and_longest_of_overlapping_texts() {
        let replacer =
            replacer(&[("tiger", "1", false), ("paper tiger", "2", false), ("tiger", "3", false)]);
        assert_eq!(replacer.replace("a paper tiger, a tigertiger").unwrap(), "a 2, a 11");
        assert_eq!(replacer.replace("a lion"), None);
    }

    #[test]
    fn replaces_a_text_that_overlaps_a_rejected_word() {
        let replacer =
            replacer(&[("abc", "1", true), ("cdefgh", "2", false), ("abc-d", "3", true)]);
        assert_eq!(replacer.replace("abcdefgh").unwrap(), "ab2");
        assert_eq!(replacer.replace("abc-de").unwrap(), "1-de");
        assert_eq!(replacer.replace("abcd"), None);
    }

    #[test]
    fn replaces_texts_that_are_too_long_for_the_automaton() {
        let long = "x y".repeat(MAX_PATTERN);
        let replacer = replacer(&[("x", "1", false), (&long, "2", false)]);
        assert_eq!(replacer.replace(&format!("a {long} x")).unwrap(), "a 2 1");
    }

    #[test]
    fn replaces_nothing_without_replacements() {
        assert_eq!(Replacer::default().replace("text"), None);
        assert_eq!(replacer(&[("", "1", false)]).replace("text"), None);
    }
}
