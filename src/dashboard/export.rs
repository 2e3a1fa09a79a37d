//! The report and the script of a session, as files to download.

use super::Dashboard;
use crate::{
    error::Result,
    export::{SessionScript, report_chapter, report_heading},
    offload,
    store::Picture,
};

/// Size in bytes after which a report ends.
const MAX_REPORT: usize = 32 << 20;
/// Maximum size of the images of a report in bytes, as base64.
const MAX_PICTURES: usize = 16 << 20;

/// The images of a report, up to a size. Omits those that exceed it.
struct ReportPictures {
    /// The size that is left in bytes.
    left: usize,
    omitted: usize,
}

impl ReportPictures {
    fn new(left: usize) -> Self {
        Self { left, omitted: 0 }
    }

    /// Returns `data:` URLs of the images that fit.
    fn urls(&mut self, pictures: &[Picture]) -> Vec<String> {
        let mut urls = Vec::new();
        for picture in pictures {
            let size = picture.data.len().div_ceil(3) * 4;
            match self.left.checked_sub(size) {
                Some(left) => {
                    self.left = left;
                    urls.push(format!("data:{};base64,{}", picture.mime_type, picture.encoded()));
                }
                None => self.omitted += 1,
            }
        }
        urls
    }

    /// Returns the sentence about the omitted images. Empty if all fit.
    fn note(&self, command: &str) -> String {
        let what = match self.omitted {
            0 => return String::new(),
            1 => "1 image is".to_owned(),
            omitted => format!("{omitted} images are"),
        };
        let limit = MAX_PICTURES >> 20;
        format!("\n{what} omitted: a report has at most {limit} MB of images. {command}\n")
    }
}

impl Dashboard {
    /// Returns the report of the session `id` in Markdown, with its images. `None` if the record
    /// does not have the session. Notes at its end describe what exceeds the limits.
    pub async fn report(&self, id: &str) -> Result<Option<String>> {
        let Some(session) = self.store().find_session(id).await? else { return Ok(None) };
        let calls = self.store().history(id).await?;
        let mut report = report_heading(&session, calls.len());
        let mut shown = ReportPictures::new(MAX_PICTURES);
        let command = format!("`troupe sessions export {id}` writes all calls and images.");
        for (number, ref_id) in (1..).zip(&calls) {
            if report.len() > MAX_REPORT {
                report.push_str(&format!("\nThis report is too large: it ends here. {command}\n"));
                break;
            }
            // The retention limits may have deleted the call meanwhile.
            let Some(call) = self.store().record(ref_id).await? else { continue };
            let pictures = self.store().all_pictures(ref_id).await?;
            let logged = self.store().console_of_record(ref_id, None, MAX_REPORT).await?.messages;
            let size = pictures.iter().map(|picture| picture.data.len()).sum::<usize>();
            let chapter = offload::in_place(size + call.params.len() + call.bytes(), || {
                report_chapter(number, &call, &shown.urls(&pictures), &logged)
            });
            report.push_str(&chapter);
        }
        report.push_str(&shown.note(&command));
        Ok(Some(report))
    }

    /// Returns a shell script that repeats the calls of the session `id` in a new session. `None`
    /// if the record does not have the session.
    pub async fn script(&self, id: &str) -> Result<Option<String>> {
        let Some(session) = self.store().find_session(id).await? else { return Ok(None) };
        let mut script = SessionScript::new(&session);
        for ref_id in self.store().history(id).await? {
            let Some(call) = self.store().record(&ref_id).await? else { continue };
            offload::in_place(call.params.len() + call.bytes(), || script.add(&call));
        }
        Ok(Some(script.text()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_states_how_many_images_exceed_its_limit() {
        let picture = |size| Picture { mime_type: "image/jpeg".to_owned(), data: vec![0; size] };
        let mut shown = ReportPictures::new(12);
        assert_eq!(shown.urls(&[picture(4)]), ["data:image/jpeg;base64,AAAAAA=="]);
        assert_eq!(shown.note(""), "");
        assert_eq!(shown.urls(&[picture(4), picture(3)]), ["data:image/jpeg;base64,AAAA"]);
        assert!(shown.note("").contains("1 image is omitted"), "{}", shown.note(""));
        assert!(shown.urls(&[picture(1)]).is_empty());
        assert!(shown.note("").contains("2 images are omitted"), "{}", shown.note(""));
    }
}
