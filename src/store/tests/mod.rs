//! Tests of the record alone, without browsers.

mod database;
mod files;
#[cfg(target_os = "linux")]
mod leases;
#[cfg(target_os = "linux")]
mod migration;
#[cfg(target_os = "linux")]
mod outages;
mod postgres;
mod shared;

/// Runs each function of `shared` as a test with an SQLite file and with PostgreSQL.
macro_rules! with_each_database {
    ($($name:ident,)*) => {
        mod with_sqlite {
            $(#[tokio::test]
            async fn $name() {
                super::shared::$name(super::database::TestDatabase::file()).await;
            })*
        }

        #[cfg(target_os = "linux")]
        mod with_postgres {
            $(#[tokio::test]
            async fn $name() {
                super::shared::$name(super::database::TestDatabase::postgres()).await;
            })*
        }
    };
}

with_each_database!(
    only_calls_that_ran_when_their_server_died_get_an_error,
    after_the_end_of_its_server_a_session_is_recoverable_or_closed_if_nothing_was_saved,
    only_origins_with_another_hash_are_written,
    of_several_states_of_a_session_the_newest_is_kept,
    the_oldest_calls_are_deleted_when_the_record_is_too_large,
    calls_that_are_too_old_are_deleted_with_their_session,
    a_purge_of_one_session_deletes_that_session_and_its_calls,
    a_purge_of_everything_keeps_the_sessions_in_use_and_their_calls,
    a_state_that_does_not_fit_into_the_queue_does_not_block_later_states,
    saved_states_of_ended_sessions_are_deleted_before_calls,
    a_released_session_is_recoverable_while_its_server_runs_and_is_deleted_when_it_is_too_old,
    a_thousand_concurrent_writes_become_few_transactions,
    the_state_of_a_session_is_stored_once_its_server_has_ended_and_not_before,
    a_record_is_read_once_and_then_has_nothing_new_until_its_cursor_is_reset,
    the_cursor_of_a_session_advances_from_record_to_record,
    of_servers_that_need_the_last_free_session_at_the_same_time_one_gets_it,
    only_open_sessions_of_running_servers_count_for_the_limit_of_all,
    the_console_of_a_record_is_filtered_by_level_and_does_not_use_the_cursor,
);
