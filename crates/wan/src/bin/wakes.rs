//! Measures how late a process on this machine continues after a timer: every step of a node waits as long. A JSON line per second, until it is ended.

use std::io::{self, Write};
use std::process::ExitCode;
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::json;

const EVERY: Duration = Duration::from_millis(50);
const LINE: Duration = Duration::from_secs(1);

fn main() -> ExitCode {
    let Err(error) = measure(&mut io::stdout());
    eprintln!("slotmark-wakes: {error}");
    ExitCode::from(2)
}

/// Sleeps until 50 ms are over, again and again, and writes once per second by how much longer it took.
fn measure(out: &mut impl Write) -> io::Result<std::convert::Infallible> {
    let mut due = Instant::now();
    let mut begun = due;
    let (mut wakes, mut late, mut worst) = (0_u32, Duration::ZERO, Duration::ZERO);
    loop {
        due += EVERY;
        sleep(due.saturating_duration_since(Instant::now()));
        let now = Instant::now();
        let by = now.saturating_duration_since(due);
        (wakes, late, worst) = (wakes + 1, late + by, worst.max(by));
        due = due.max(now - EVERY); // a delay isn't counted again for the wakes that it held up
        if now - begun >= LINE {
            let ts_ns = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, nanoseconds);
            let row = json!({"ts_ns": ts_ns, "wakes": wakes, "late_ns": nanoseconds(late), "worst_ns": nanoseconds(worst)});
            out.write_all(format!("{row}\n").as_bytes())?;
            out.flush()?;
            (wakes, late, worst, begun) = (0, Duration::ZERO, Duration::ZERO, now);
        }
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
