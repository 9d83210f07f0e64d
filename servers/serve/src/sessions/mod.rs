//! What the sessions of one worker share, whether readiness drives them or completions.

mod clock;
mod deadlines;
mod desk;
mod table;

pub use clock::Clock;
pub use deadlines::Deadlines;
pub use desk::Desk;
pub use table::Table;
