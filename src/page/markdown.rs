//! The main content of a document as Markdown: Readability extracts it, htmd converts it.

use dom_smoothie::{Config, Readability};
use htmd::{
    HtmlToMarkdown,
    options::{BrStyle, BulletListMarker, LinkStyle, Options},
};

use super::reading::Html;

/// A shorter article is probably not the main content.
const LEAST_ARTICLE: usize = 250;
/// More elements than this take longer to judge than anyone waits.
const MOST_ELEMENTS: usize = 50_000;

/// How authors mark the content, the surest way first.
const MARKS: [&str; 2] = ["main, [role=main]", "article"];

/// The main content of a document, with its title and URL, or the whole document if it has none. Takes long, so do
/// not call it on a task that others wait for.
pub fn markdown(page: &Html) -> String {
    let whole = write(&page.html);
    let written =
        |html: Option<String>| html.map(|html| write(&html)).filter(|body| !body.is_empty());
    let body = written(main_content(page, whole.len())).or_else(|| written(marked_content(page)));
    let body = body.unwrap_or(whole);
    let title = if page.title.is_empty() { "Untitled" } else { &page.title };
    let body = if body.is_empty() { "(the page shows no text)" } else { &body };
    format!("# {title}\n{}\n\n{body}", page.url)
}

/// The main content: an article that is a large part of the page. An app's screen or a list of links has none.
fn main_content(page: &Html, whole: usize) -> Option<String> {
    let config = Config { max_elements_to_parse: MOST_ELEMENTS, ..Config::default() };
    let url = Some(page.url.as_str()).filter(|url| url.starts_with("http"));
    let mut readability = Readability::new(page.html.as_str(), url, Some(config)).ok()?;
    let readable = readability.is_probably_readable();
    let article = readability.parse().ok()?;
    let stands_out = article.length >= LEAST_ARTICLE && (readable || article.length * 2 >= whole);
    stands_out.then(|| article.content.to_string())
}

/// What its author has marked as the content, where that is one part of the page.
fn marked_content(page: &Html) -> Option<String> {
    let document = Readability::from(page.html.as_str()).doc;
    MARKS.iter().find_map(|mark| {
        let marked = document.select(mark);
        (marked.length() == 1).then(|| marked.html().to_string())
    })
}

fn write(html: &str) -> String {
    let options = Options {
        br_style: BrStyle::Backslash,
        bullet_list_marker: BulletListMarker::Dash,
        ul_bullet_spacing: 1,
        ol_number_spacing: 1,
        link_style: LinkStyle::InlinedPreferAutolinks,
        ..Options::default()
    };
    let converter = HtmlToMarkdown::builder()
        .skip_tags(vec!["script", "style", "head", "template", "noscript"])
        .options(options)
        .build();
    // It reads from memory: there is nothing that could fail.
    converter.convert(html).map(|markdown| markdown.trim().to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &str) -> String {
        let html =
            format!("<!DOCTYPE html><html><head><title>T</title></head><body>{body}</body></html>");
        markdown(&Html { html, title: "T".into(), url: "http://a/".into() })
    }

    #[test]
    fn an_article_is_read_without_what_surrounds_it() {
        let paragraph =
            "<p>Sentences of an article have commas, words, and a length that tells them from a menu. "
                .to_owned()
                + "More of it follows, and more. ".repeat(8).as_str()
                + "</p>";
        let body = format!(
            "<nav><ul><li><a href='/1'>Menu one</a></li><li><a href='/2'>Menu two</a></li></ul></nav>\
             <article><h1>Heading</h1>{paragraph}<h2>Part</h2>{paragraph}<ul><li>one<li>two</ul></article>\
             <footer>Imprint</footer>"
        );
        let text = read(&body);
        assert!(text.starts_with("# T\nhttp://a/\n\n"), "{text}");
        assert!(text.contains("## Part") && text.contains("- one"), "{text}");
        assert!(!text.contains("Menu") && !text.contains("Imprint"), "{text}");
    }

    #[test]
    fn a_page_without_an_article_is_read_whole() {
        let text = read("<h1>Board</h1><p><a href='http://a/new'>New</a></p><p>3 open</p>");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn of_a_short_page_what_its_author_marks_is_read() {
        let menu = "<nav><a href='/'>Home</a></nav>";
        let text = read(&format!(
            "{menu}<main><article><p>Short.</article></main><footer>Imprint</footer>"
        ));
        assert_eq!(text, "# T\nhttp://a/\n\nShort.");
        let two = read(&format!("{menu}<article>One</article><article>Two</article>"));
        assert!(two.contains("Home") && two.contains("Two"), "{two}");
    }

    #[test]
    fn tables_become_tables() {
        let text = read("<table><tr><th>A<th>B</tr><tr><td>1<td>2</tr></table>");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn an_empty_page_says_so() {
        assert_eq!(read(""), "# T\nhttp://a/\n\n(the page shows no text)");
    }

    #[test]
    fn deep_nesting_is_read() {
        let text = read(&format!("{}deep{}", "<div>".repeat(200), "</div>".repeat(200)));
        assert!(text.ends_with("deep"));
    }
}
