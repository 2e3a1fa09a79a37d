//! The report and the script of a session, as files to download.

use base64::{Engine, engine::general_purpose::STANDARD};

use super::Dashboard;
use crate::{
    error::Result,
    export::{SessionScript, report_chapter, report_heading},
    offload,
    store::{SessionFilter, SessionRow},
};

/// Size in bytes after which a report ends.
const MAX_REPORT: usize = 32 << 20;

impl Dashboard {
    /// Returns the report of the session `id` in Markdown, with its images. `None` if the record
    /// does not have the session. A report that exceeds the limit ends with a note.
    pub async fn report(&self, id: &str) -> Result<Option<String>> {
        let Some(session) = self.recorded(id).await? else { return Ok(None) };
        let calls = self.store().history(id).await?;
        let mut report = report_heading(&session, calls.len());
        for (number, ref_id) in (1..).zip(&calls) {
            if report.len() > MAX_REPORT {
                let command = format!("`troupe sessions export {id}` writes all calls.");
                report.push_str(&format!("\nThis report is too large: it ends here. {command}\n"));
                break;
            }
            // The retention limits may have deleted the call meanwhile.
            let Some(call) = self.store().record(ref_id).await? else { continue };
            let pictures = self.store().pictures(ref_id).await?;
            let logged = self.store().console_of_record(ref_id, None, MAX_REPORT).await?.messages;
            let size = pictures.iter().map(|picture| picture.data.len()).sum::<usize>();
            let chapter = offload::in_place(size + call.params.len() + call.bytes(), || {
                let url = pictures.iter().map(|picture| {
                    format!("data:{};base64,{}", picture.mime_type, STANDARD.encode(&picture.data))
                });
                report_chapter(number, &call, &url.collect::<Vec<_>>(), &logged)
            });
            report.push_str(&chapter);
        }
        Ok(Some(report))
    }

    /// Returns a shell script that repeats the calls of the session `id` in a new session. `None`
    /// if the record does not have the session.
    pub async fn script(&self, id: &str) -> Result<Option<String>> {
        let Some(session) = self.recorded(id).await? else { return Ok(None) };
        let mut script = SessionScript::new(&session);
        for ref_id in self.store().history(id).await? {
            let Some(call) = self.store().record(&ref_id).await? else { continue };
            offload::in_place(call.params.len() + call.bytes(), || script.add(&call));
        }
        Ok(Some(script.text()))
    }

    async fn recorded(&self, id: &str) -> Result<Option<SessionRow>> {
        let filter = SessionFilter { id: Some(id.to_owned()), ..SessionFilter::default() };
        Ok(self.store().sessions(filter).await?.pop())
    }
}
