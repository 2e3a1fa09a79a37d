//! The difference between two texts by line, in the unified format.

use similar::{Algorithm, TextDiff};

/// Returns the removed (`-`) and added (`+`) lines, in hunks with their positions
/// (`@@ -from,count +from,count @@`). Returns an empty text if nothing changed.
pub fn delta(before: &str, after: &str) -> String {
    if before == after {
        return String::new();
    }
    let diff = TextDiff::configure().algorithm(Algorithm::Patience).diff_lines(before, after);
    diff.unified_diff().context_radius(0).to_string()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Applies `delta` to the text `before`, and returns the resulting text.
    fn patch(before: &str, delta: &str) -> String {
        const NO_LINE_END: &str = "\\ No newline at end of file";
        let old: Vec<&str> = before.split_inclusive('\n').collect();
        let (mut new, mut at) = (String::new(), 0);
        let lines: Vec<&str> = delta.lines().collect();
        for (index, line) in lines.iter().enumerate() {
            if let Some(hunk) = line.strip_prefix("@@ -") {
                let range: Vec<usize> = hunk
                    .split(' ')
                    .next()
                    .unwrap()
                    .split(',')
                    .map(|part| part.parse().unwrap())
                    .collect();
                let count = range.get(1).copied().unwrap_or(1);
                let from = if count == 0 { range[0] } else { range[0] - 1 };
                new.extend(old[at..from].iter().copied());
                at = from + count;
            } else if let Some(line) = line.strip_prefix('+') {
                new.push_str(line);
                if lines.get(index + 1) != Some(&NO_LINE_END) {
                    new.push('\n');
                }
            }
        }
        new.extend(old[at..].iter().copied());
        new
    }

    #[test]
    fn a_delta_says_what_changed_and_where() {
        insta::assert_snapshot!(delta("a\nb\nc\nd\n", "a\nB\nc\nd\ne\n"), @r"
        @@ -2 +2 @@
        -b
        +B
        @@ -4,0 +5 @@
        +e
        ");
    }

    proptest! {
        #[test]
        fn a_text_has_no_delta_to_itself(text in "([a-d ]{0,3}\n){0,12}[a-d]{0,3}") {
            prop_assert_eq!(delta(&text, &text), "");
        }

        #[test]
        fn the_delta_applied_to_the_first_text_yields_the_second(
            before in "([a-dä ]{0,3}\n){0,12}[a-d]{0,3}",
            after in "([a-dä ]{0,3}\n){0,12}[a-d]{0,3}",
        ) {
            let delta = delta(&before, &after);
            prop_assert_eq!(delta.is_empty(), before == after);
            prop_assert_eq!(patch(&before, &delta), after, "{}", delta);
        }
    }
}
