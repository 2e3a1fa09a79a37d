use std::collections::BTreeSet;

use super::{
    DocumentReport, Frames,
    frame::{BLANK, ERROR_PAGE},
    main_frame::LINK_TIMEOUT,
    report::{ClickedLink, ReadyState},
};
use crate::engine::{FrameId, PageEvent, network::RequestEvent};

fn report(document: &str, url: &str, ready: ReadyState, frames: &[u64]) -> DocumentReport {
    DocumentReport {
        document: document.into(),
        url: url.into(),
        ready,
        frames: frames.to_vec(),
        status: 0,
        closing: false,
        requests: BTreeSet::new(),
        link: None,
        blank: None,
    }
}

fn names(events: &[PageEvent]) -> Vec<&'static str> {
    let name = |event: &PageEvent| match event {
        PageEvent::Committed { .. } => "committed",
        PageEvent::DomContentLoaded { .. } => "dom",
        PageEvent::Loaded { .. } => "loaded",
        PageEvent::NavigatedWithinDocument { .. } => "within",
        PageEvent::FrameDetached { .. } => "detached",
        _ => "other",
    };
    events.iter().map(name).collect()
}

#[test]
fn each_event_is_reported_once() {
    let main: FrameId = "m".into();
    let mut frames = Frames::new(main.clone());
    assert_eq!(
        names(&frames.apply(&main, &report("a", "http://a/", ReadyState::Loading, &[]))),
        ["committed"]
    );
    assert_eq!(
        names(&frames.apply(&main, &report("a", "http://a/", ReadyState::Interactive, &[]))),
        ["dom"]
    );
    assert_eq!(
        names(&frames.apply(&main, &report("a", "http://a/#x", ReadyState::Complete, &[]))),
        ["within", "loaded"]
    );
    assert!(frames.apply(&main, &report("a", "http://a/#x", ReadyState::Complete, &[])).is_empty());
    assert_eq!(
        names(&frames.apply(&main, &report("b", "http://b/", ReadyState::Complete, &[]))),
        ["committed", "loaded"]
    );
}

#[test]
fn a_blank_page_in_place_of_another_is_an_error_page() {
    let main: FrameId = "m".into();
    let mut frames = Frames::new(main.clone());
    frames.apply(&main, &report("a", BLANK, ReadyState::Complete, &[]));
    assert!(matches!(
        frames.apply_browser_url("http://no/"),
        Some(PageEvent::NavigationRequested { .. })
    ));
    assert!(frames.is_busy());
    assert!(
        frames.apply(&main, &report("b", BLANK, ReadyState::Loading, &[])).is_empty(),
        "the error page has no text yet"
    );
    let events = frames.apply(&main, &report("b", BLANK, ReadyState::Complete, &[]));
    assert!(matches!(&events[2], PageEvent::Committed { url, .. } if url == ERROR_PAGE));
    assert_eq!(
        frames.failure().as_deref(),
        Some("net::ERR_BLOCKED_BY_CLIENT"),
        "an empty error page"
    );
    assert!(
        frames.apply_browser_url("http://no/").is_none(),
        "the browser still reports the failed URL"
    );
    assert!(!frames.is_busy());
}

#[test]
fn the_url_of_an_error_page_is_that_of_the_failed_navigation() {
    let main: FrameId = "m".into();
    let blank_page = |document: &str, text: &str| DocumentReport {
        blank: Some(text.into()),
        ..report(document, BLANK, ReadyState::Complete, &[])
    };
    let mut frames = Frames::new(main.clone());
    frames.apply(&main, &report("a", "http://a/", ReadyState::Complete, &[]));
    // No poll while the navigation was pending.
    let events = frames
        .apply_main(&blank_page("b", "Could not connect: Connection refused"), Some("http://no/"));
    assert!(
        matches!(&events[0], PageEvent::Request(RequestEvent::Sent { url, .. }) if url == "http://no/")
    );
    assert_eq!(frames.failure().as_deref(), Some("net::ERR_CONNECTION_REFUSED"));
    frames.apply_main(&blank_page("c", ""), Some("http://slow/"));
    assert_eq!(frames.failure(), None, "an empty page that navigates at once");
    assert!(frames.is_navigating());

    let mut popup = Frames::new(main.clone());
    let events = popup.apply_main(&blank_page("a", "Please wait"), Some("http://slow/"));
    assert!(
        matches!(events[..], [PageEvent::NavigationRequested { .. }]),
        "its opener may have written the text"
    );
    let events = popup.apply_main(&blank_page("b", "Connection refused"), Some("http://slow/"));
    assert!(matches!(&events[2], PageEvent::Committed { url, .. } if url == ERROR_PAGE));
}

#[test]
fn a_navigation_without_a_document_ends() {
    let main: FrameId = "m".into();
    let mut frames = Frames::new(main.clone());
    frames.apply(&main, &report("a", "http://a/", ReadyState::Complete, &[]));
    assert!(frames.apply_browser_url("http://a/download").is_some());
    assert!(matches!(
        frames.apply_browser_url("http://a/"),
        Some(PageEvent::LoadingStopped { .. })
    ));
}

#[tokio::test(start_paused = true)]
async fn a_click_on_a_link_is_a_pending_navigation_until_it_ends_or_times_out() {
    let main: FrameId = "m".into();
    let mut frames = Frames::new(main.clone());
    let idle = report("a", "http://a/", ReadyState::Complete, &[]);
    let clicked = |number, navigates| DocumentReport {
        link: Some(ClickedLink { number, url: "http://a/file".into(), navigates }),
        ..idle.clone()
    };
    frames.apply(&main, &idle);
    assert!(
        frames.apply(&main, &clicked(1, false)).is_empty(),
        "the page prevented the default action"
    );
    for number in [2, 3] {
        let events = frames.apply(&main, &clicked(number, true));
        assert!(matches!(events[..], [PageEvent::NavigationRequested { .. }]), "{events:?}");
        assert!(frames.apply_browser_url("http://a/").is_none());
        assert!(frames.is_navigating(), "the navigation may still begin");
        assert!(matches!(frames.download_arrived(), Some(PageEvent::LoadingStopped { .. })));
        assert!(frames.apply(&main, &clicked(number, true)).is_empty(), "it is the same click");
        assert!(!frames.is_navigating());
    }
    frames.apply(&main, &clicked(4, true));
    tokio::time::advance(LINK_TIMEOUT).await;
    assert!(matches!(
        frames.apply_browser_url("http://a/"),
        Some(PageEvent::LoadingStopped { .. })
    ));
    frames.apply(&main, &clicked(5, true));
    assert!(frames.apply_browser_url("http://a/file").is_none(), "the navigation is already known");
    assert!(frames.download_arrived().is_none(), "no click on a link is pending");
    assert!(matches!(
        frames.apply_browser_url("http://a/"),
        Some(PageEvent::LoadingStopped { .. })
    ));
}

#[test]
fn requests_of_scripts_begin_and_end() {
    let main: FrameId = "m".into();
    let mut frames = Frames::new(main.clone());
    let idle = report("a", "http://a/", ReadyState::Complete, &[]);
    let awaiting_response = DocumentReport { requests: BTreeSet::from([3]), ..idle.clone() };
    frames.apply(&main, &idle);
    assert!(matches!(
        frames.apply(&main, &awaiting_response)[..],
        [PageEvent::RequestStarted { .. }]
    ));
    assert!(frames.is_busy());
    assert!(frames.apply(&main, &awaiting_response).is_empty());
    assert!(matches!(frames.apply(&main, &idle)[..], [PageEvent::RequestEnded { .. }]));
    assert!(!frames.is_busy());
}

#[test]
fn frames_are_removed_with_their_iframe_or_its_document() {
    let main: FrameId = "m".into();
    let mut frames = Frames::new(main.clone());
    let parent = report("a", "http://a/", ReadyState::Complete, &[1, 2]);
    frames.apply(&main, &parent);
    assert!(frames.has_unknown(&main, &parent));
    let (one, _) = frames.attach_child(&main, 1, "node-1").unwrap();
    let (two, _) = frames.attach_child(&main, 2, "node-2").unwrap();
    assert_eq!(frames.path_to(&two), Some(vec!["node-2".into()]));
    assert_eq!(
        names(&frames.apply(&main, &report("a", "http://a/", ReadyState::Complete, &[2]))),
        ["detached"]
    );
    assert_eq!(frames.path_to(&one), None);
    frames.apply(&main, &report("b", "http://b/", ReadyState::Complete, &[]));
    assert_eq!(frames.path_to(&two), None);
}
