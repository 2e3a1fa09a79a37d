//! The main content of a document as Markdown: Readability extracts it, htmd converts it.

use dom_smoothie::{Config, Readability};
use htmd::{
    HtmlToMarkdown,
    options::{BrStyle, BulletListMarker, LinkStyle, Options},
};

use crate::page::read::HtmlDocument;

/// Minimum characters of an article. A shorter one is probably not the main content.
const MIN_ARTICLE_LENGTH: usize = 250;
/// Maximum number of elements. The analysis of more takes too long.
const MAX_ELEMENTS: usize = 50_000;

/// Selectors of elements that authors mark as content, the most reliable first.
const MARKS: [&str; 2] = ["main, [role=main]", "article"];

/// Returns the main content of a document, with its title and URL, or the whole document if it has
/// none. Call it on a blocking thread, because it may take long.
pub fn markdown(page: &HtmlDocument) -> String {
    let whole = write(&page.html);
    let written =
        |html: Option<String>| html.map(|html| write(&html)).filter(|body| !body.is_empty());
    let body = written(main_content(page, whole.len())).or_else(|| written(marked_content(page)));
    let body = body.unwrap_or(whole);
    let title = if page.title.is_empty() { "Untitled" } else { &page.title };
    let body = if body.is_empty() { "(the page shows no text)" } else { &body };
    format!("# {title}\n{}\n\n{body}", page.url)
}

/// Returns the main content: an article that is a large part of the page. Apps and lists of links
/// have none.
fn main_content(page: &HtmlDocument, whole: usize) -> Option<String> {
    let config = Config { max_elements_to_parse: MAX_ELEMENTS, ..Config::default() };
    let url = Some(page.url.as_str()).filter(|url| url.starts_with("http"));
    let mut readability = Readability::new(page.html.as_str(), url, Some(config)).ok()?;
    let readable = readability.is_probably_readable();
    let article = readability.parse().ok()?;
    let stands_out =
        article.length >= MIN_ARTICLE_LENGTH && (readable || article.length * 2 >= whole);
    stands_out.then(|| article.content.to_string())
}

/// Returns the element that the author has marked as the content, if there is exactly one.
fn marked_content(page: &HtmlDocument) -> Option<String> {
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
    // Fails only on I/O errors, which memory does not have.
    converter.convert(html).map(|markdown| markdown.trim().to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &str) -> String {
        let html =
            format!("<!DOCTYPE html><html><head><title>T</title></head><body>{body}</body></html>");
        markdown(&HtmlDocument { html, title: "T".into(), url: "http://a/".into() })
    }

    #[test]
    fn an_article_is_read_without_the_menu_and_the_footer() {
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
    fn the_marked_content_of_a_short_page_is_read() {
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
