//! Real namespaces, devices, sockets and processes. Where the machine allows no network namespaces, each test prints why it was skipped.
//!
//! As root, everything is tried twice: as root, and as a user without rights, which goes through a user namespace.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::UdpSocket;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::mount::{MountFlags, mount};
use rustix::process::{Pid, Signal, getuid, kill_process};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use serde_json::{Value, json};
use tempfile::TempDir;

const NOBODY: u32 = 65534;
/// Time limit for a condition, on a machine that has much else to do.
const PATIENCE: Duration = Duration::from_secs(120);

/// The place of programs and topologies that any user may read, and the user who runs them.
struct Place {
    folder: TempDir,
    user: Option<u32>,
}

impl Place {
    fn new(user: Option<u32>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        for program in [env!("CARGO_BIN_EXE_slotmark-wan"), env!("CARGO_BIN_EXE_slotmark-wan-probe")] {
            let copy = folder.path().join(Path::new(program).file_name().unwrap());
            // By a process of its own: one of ours that holds the copy open for writing, in another test's child, would make it busy.
            assert!(Command::new("cp").arg(program).arg(&copy).status().unwrap().success());
            fs::set_permissions(&copy, fs::Permissions::from_mode(0o755)).unwrap();
        }
        Self { folder, user }
    }

    fn program(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        command
    }

    fn topology(&self, topology: &Value) -> PathBuf {
        let path = self.folder.path().join("topology.json");
        fs::write(&path, topology.to_string()).unwrap();
        path
    }
}

/// A running network.
struct Wan<'a> {
    place: &'a Place,
    router: Child,
    input: Option<ChildStdin>,
    lines: BufReader<ChildStdout>,
}

impl<'a> Wan<'a> {
    /// None, with the reason printed, where this machine has no namespaces or TUN devices for this user.
    fn start(place: &'a Place, topology: &Value) -> Option<Self> {
        let mut command = place.command(place.program("slotmark-wan"));
        command.arg("run").arg(place.topology(topology)).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut router = command.spawn().unwrap();
        let mut lines = BufReader::new(router.stdout.take().unwrap());
        let mut ready = String::new();
        lines.read_line(&mut ready).unwrap();
        if ready.is_empty() {
            let error = String::from_utf8(router.wait_with_output().unwrap().stderr).unwrap();
            assert!(error.contains("no network namespace can be made") || error.contains("/dev/net/tun"), "{error}");
            println!("SKIPPED: {error}");
            return None;
        }
        let ready: Value = serde_json::from_str(&ready).unwrap();
        assert_eq!(ready["ready"]["pid"], router.id());
        let input = router.stdin.take();
        Some(Self { place, router, input, lines })
    }

    fn host(&self, name: &str, program: &str, arguments: &[&str]) -> Command {
        let mut command = self.place.command(self.place.program("slotmark-wan"));
        command.args(["exec", "--wan", &self.router.id().to_string(), "--host", name, "--"]);
        command.arg(self.place.program(program)).args(arguments);
        command
    }

    /// Returns the output of a probe that runs to its end.
    fn probe(&self, host: &str, arguments: &[&str]) -> String {
        let Output { status, stdout, stderr } = self.host(host, "slotmark-wan-probe", arguments).output().unwrap();
        assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
        String::from_utf8(stdout).unwrap()
    }

    /// A probe that goes on, after it has printed that it is ready.
    fn probe_ready(&self, host: &str, arguments: &[&str]) -> (Child, BufReader<ChildStdout>) {
        let mut probe = self.host(host, "slotmark-wan-probe", arguments).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(probe.stdout.take().unwrap());
        let mut ready = String::new();
        lines.read_line(&mut ready).unwrap();
        assert_eq!(ready, "ready\n");
        (probe, lines)
    }

    /// The statistics, after the end of its input.
    fn end(mut self) -> Value {
        drop(self.input.take());
        self.statistics()
    }

    fn statistics(&mut self) -> Value {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        assert!(self.router.wait().unwrap().success());
        serde_json::from_str::<Value>(&line).unwrap()["statistics"].clone()
    }
}

impl Drop for Wan<'_> {
    fn drop(&mut self) {
        let _ = self.router.kill();
        let _ = self.router.wait();
    }
}

/// Does something as each user that this machine lets us be.
fn as_each_user(test: impl Fn(&Place)) {
    test(&Place::new(None));
    if getuid().is_root() {
        test(&Place::new(Some(NOBODY)));
    }
}

fn topology(seed: u64, default: &Value, links: &Value) -> Value {
    json!({
        "seed": seed, "default": default, "links": links,
        "hosts": [{"name": "a", "address": "198.18.0.1"}, {"name": "b", "address": "198.18.0.2"}, {"name": "c", "address": "198.19.255.254"}]
    })
}

fn until(what: &str, condition: impl Fn() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < PATIENCE, "waited in vain until {what}");
        sleep(Duration::from_millis(10));
    }
}

fn numbers(text: &str) -> Vec<u64> {
    text.lines().map(|line| line.parse().unwrap()).collect()
}

/// Returns whether a process is there and has not ended; one that was not waited for yet has.
fn runs(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !matches!(stat.rsplit(") ").next().unwrap().as_bytes()[0], b'Z' | b'X'))
}

fn pid(process: u32) -> Pid {
    Pid::from_raw(process as i32).unwrap()
}

const SERVE: [&str; 2] = ["serve", "198.18.0.2:3000"];

#[test]
fn a_connection_takes_the_delay_of_its_links_both_ways() {
    as_each_user(|place| {
        let links = json!([{"from": "a", "to": "b", "link": {"delay_us": 20_000}}, {"from": "b", "to": "a", "link": {"delay_us": 35_000}}]);
        let Some(wan) = Wan::start(place, &topology(0, &json!({"delay_us": 2_000, "jitter_us": 500}), &links)) else { return };
        let (mut server, _) = wan.probe_ready("b", &SERVE);
        for (host, least_us) in [("a", 55_000), ("c", 4_000)] {
            let took = numbers(&wan.probe(host, &["connect", "198.18.0.2:3000", "--times", "5"]));
            assert_eq!(took.len(), 5);
            assert!(took.iter().all(|us| *us >= least_us), "{host}: {took:?} us where at least {least_us} were asked for");
            println!("{host}: asked for {least_us} us, beyond that {:?} us", took.iter().map(|us| us - least_us).collect::<Vec<_>>());
        }
        let statistics = wan.end();
        assert!(server.wait().unwrap().signal() == Some(9), "a program ends with its network");
        assert!(statistics["packets"].as_u64().unwrap() >= 10 * 3, "{statistics}");
        assert_eq!(statistics["own_drops"], json!({"device_queue": 0, "refused": 0, "memory": 0, "socket_queue": 0}));
        assert!(statistics["lateness_us"]["max"].as_f64() >= statistics["lateness_us"]["median"].as_f64());
    });
}

#[test]
fn bytes_arrive_intact_over_a_way_that_loses_and_jitters_and_no_faster_than_its_bandwidth() {
    as_each_user(|place| {
        let narrow =
            json!({"delay_us": 1_000, "jitter_us": 3_000, "loss_ppm": 10_000, "bandwidth_bits_per_s": 20_000_000, "queue_us": 200_000});
        let Some(wan) = Wan::start(place, &topology(3, &narrow, &json!([]))) else { return };
        let (_server, _) = wan.probe_ready("b", &SERVE);
        let took = numbers(&wan.probe("a", &["fetch", "198.18.0.2:3000", "--bytes", "1500000", "--times", "2"]));
        let fastest_us = 1_500_000 * 8 / 20;
        assert!(took.iter().all(|us| *us >= fastest_us), "{took:?} us for what takes {fastest_us} us at least");
        let statistics = wan.end();
        assert!(statistics["lost_as_planned"].as_u64() > Some(0), "{statistics}");
        assert_eq!(statistics["own_drops"], json!({"device_queue": 0, "refused": 0, "memory": 0, "socket_queue": 0}));
    });
}

#[test]
fn hosts_of_two_routers_are_one_network() {
    as_each_user(|place| {
        let [one, other, stranger] = [(); 3].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
        let [at_one, at_other] = [one, other].map(|socket| socket.local_addr().unwrap().to_string()); // free again behind this line
        let (a, b, c) = ("198.18.0.1", "198.18.0.2", "198.18.0.3");
        let Some(first) = Wan::start(
            place,
            &json!({
                "mtu": 1400, "default": {"delay_us": 1_000}, "at": at_one, "hosts": [{"name": "a", "address": a}, {"name": "c", "address": c}],
                "elsewhere": [{"name": "b", "address": b, "at": at_other}],
                "links": [{"from": "a", "to": "b", "link": {"delay_us": 20_000}}, {"from": "a", "to": "c", "link": {"delay_us": 5_000}}]
            }),
        ) else {
            return;
        };
        let second = Wan::start(
            place,
            &json!({
                "mtu": 1400, "default": {"delay_us": 35_000}, "at": at_other, "hosts": [{"name": "b", "address": b}],
                "elsewhere": [{"name": "a", "address": a, "at": at_one}, {"name": "c", "address": c, "at": at_one}]
            }),
        )
        .unwrap();
        let (_server, _) = second.probe_ready("b", &SERVE);
        let (_near, _) = first.probe_ready("c", &["serve", "198.18.0.3:3000"]);
        for (host, server, least_us) in
            [("a", "198.18.0.2:3000", 55_000), ("c", "198.18.0.2:3000", 36_000), ("a", "198.18.0.3:3000", 6_000)]
        {
            let took = numbers(&first.probe(host, &["connect", server, "--times", "3"]));
            assert!(took.iter().all(|us| *us >= least_us), "{host}: {took:?} us where at least {least_us} were asked for");
        }
        assert_eq!(numbers(&first.probe("a", &["fetch", "198.18.0.2:3000", "--bytes", "300000"])).len(), 1);
        // A packet to a host, from who is no router of the network.
        let mut forged = [0_u8; 28];
        forged[0] = 0x45;
        forged[16..20].copy_from_slice(&[198, 18, 0, 2]);
        stranger.send_to(&forged, &at_other).unwrap();
        sleep(Duration::from_millis(200));
        let (of_first, of_second) = (first.end(), second.end());
        for (statistics, sent) in [(&of_second, &of_first), (&of_first, &of_second)] {
            let came = statistics["from_elsewhere"].as_u64().unwrap();
            assert!(came > 20 && came <= sent["packets"].as_u64().unwrap(), "{statistics}");
            assert_eq!(statistics["own_drops"], json!({"device_queue": 0, "refused": 0, "memory": 0, "socket_queue": 0}));
        }
        assert!(of_second["not_for_a_host"].as_u64() > Some(0), "the stranger's: {of_second}");
    });
}

#[test]
fn the_seed_decides_which_packets_are_lost() {
    as_each_user(|place| {
        let arrived = |seed| {
            let lossy = json!([{"from": "a", "to": "b", "link": {"delay_us": 5_000, "loss_ppm": 200_000}}]);
            let wan = Wan::start(place, &topology(seed, &json!({"delay_us": 5_000}), &lossy))?;
            let (_receiver, mut lines) = wan.probe_ready("b", &["receive", "198.18.0.2:4000"]);
            wan.probe("a", &["send", "198.18.0.2:4000", "--count", "150"]);
            let mut list = String::new();
            lines.read_line(&mut list).unwrap();
            let statistics = wan.end();
            let arrived: Vec<u32> = serde_json::from_str(&list).unwrap();
            assert!(statistics["lost_as_planned"].as_u64() >= Some(150 - arrived.len() as u64));
            Some(arrived)
        };
        let Some(first) = arrived(1) else { return };
        assert!((90..150).contains(&first.len()), "{} of 150 arrived where a fifth is lost", first.len());
        assert!(first.is_sorted(), "packets of a pair keep their order");
        assert_eq!(arrived(1).unwrap(), first);
        assert_ne!(arrived(2).unwrap(), first);
    });
}

#[test]
fn it_ends_with_its_statistics_when_it_is_asked_to() {
    as_each_user(|place| {
        for signal in [Signal::INT, Signal::TERM] {
            let Some(mut wan) = Wan::start(place, &topology(0, &json!({"delay_us": 0}), &json!([]))) else { return };
            kill_process(pid(wan.router.id()), signal).unwrap();
            assert_eq!(wan.statistics()["packets"], 0);
        }
    });
}

#[test]
fn nothing_is_left_of_a_router_that_is_killed() {
    as_each_user(|place| {
        let Some(mut wan) = Wan::start(place, &topology(0, &json!({"delay_us": 0}), &json!([]))) else { return };
        let (mut server, _) = wan.probe_ready("b", &SERVE);
        wan.router.kill().unwrap();
        assert_eq!(server.wait().unwrap().signal(), Some(9));
    });
}

#[test]
fn nothing_is_left_when_a_parent_is_killed() {
    as_each_user(|place| {
        let Some(wan) = Wan::start(place, &topology(0, &json!({"delay_us": 0}), &json!([]))) else { return };
        let parent_of = |command: &mut Command, line: &str| {
            let mut shell = place.command("/bin/sh");
            shell.args(["-c", &format!("\"$@\" {line} echo $!; wait"), "sh"]).arg(command.get_program()).args(command.get_args());
            let mut shell = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
            let mut lines = BufReader::new(shell.stdout.take().unwrap()).lines().map(Result::unwrap);
            let child: u32 = lines.find_map(|line| line.parse().ok()).unwrap();
            (shell, child, lines)
        };
        // The parent of a program in the network; the shell prints the program's own line, then its id.
        let (mut shell, server, _lines) = parent_of(&mut wan.host("b", "slotmark-wan-probe", &SERVE), "&");
        until("the program is in the network", || {
            fs::read_link(format!("/proc/{server}/exe")).is_ok_and(|exe| exe.ends_with("slotmark-wan-probe"))
        });
        shell.kill().unwrap();
        until("the program has ended", || !runs(server));
        shell.wait().unwrap();
        assert!(runs(wan.router.id()));
        // The parent of a router whose standard input has no end.
        let mut run = Command::new(place.program("slotmark-wan"));
        let (mut shell, router, _more_lines) =
            parent_of(run.arg("run").arg(place.topology(&topology(0, &json!({"delay_us": 0}), &json!([])))), "</dev/null >/dev/null &");
        until("the router has its hosts", || {
            place
                .command(place.program("slotmark-wan"))
                .args(["exec", "--wan", &router.to_string(), "--host", "a", "--", "true"])
                .stderr(Stdio::null())
                .status()
                .unwrap()
                .success()
        });
        shell.kill().unwrap();
        until("the router has ended", || !runs(router));
        shell.wait().unwrap();
    });
}

#[test]
fn a_host_sees_only_its_own_devices_and_the_network() {
    as_each_user(|place| {
        let Some(wan) = Wan::start(place, &topology(0, &json!({"delay_us": 0}), &json!([]))) else { return };
        let devices = wan.host("a", "slotmark-wan", &[]).get_args().map(Into::into).collect::<Vec<std::ffi::OsString>>();
        let Output { stdout, .. } = place
            .command(place.program("slotmark-wan"))
            .args(&devices[..6])
            .args(["cat", "/proc/net/dev", "/proc/self/oom_score_adj"])
            .output()
            .unwrap();
        let text = String::from_utf8(stdout).unwrap();
        let mut devices: Vec<_> = text.lines().filter_map(|line| Some(line.split_once(':')?.0.trim())).collect();
        devices.sort_unstable();
        assert_eq!(devices, ["lo", "wan0"]);
        assert_eq!(text.lines().last(), Some("500"), "short memory ends hosts first");
    });
}

fn error_of(command: &mut Command) -> String {
    let Output { status, stderr, .. } = command.stdin(Stdio::null()).output().unwrap();
    let error = String::from_utf8(stderr).unwrap();
    assert_eq!(status.code(), Some(2), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
    error
}

#[test]
fn errors_are_one_line_with_a_remedy() {
    let place = Place::new(None);
    let wan = || place.command(place.program("slotmark-wan"));
    let own = std::process::id().to_string();
    let error = error_of(wan().args(["exec", "--wan", &own, "--host", "a", "--", "true"]));
    assert!(error.contains("not a running slotmark-wan (it has no network)"), "{error}");
    let error = error_of(wan().arg("run").arg(place.program("none.json")));
    assert!(error.contains("none.json: can't be read"), "{error}");
    let error = error_of(wan().arg("run").arg(place.topology(&json!({"hosts": []}))));
    assert!(error.contains("topology.json: not a topology (missing field `default`"), "{error}");
    let Some(running) = Wan::start(&place, &topology(0, &json!({"delay_us": 0}), &json!([]))) else { return };
    let id = running.router.id().to_string();
    let error = error_of(wan().args(["exec", "--wan", &id, "--host", "d", "--", "true"]));
    assert!(error.contains("host \"d\": not in this network. Its hosts: a, b, c."), "{error}");
    let error = error_of(wan().args(["exec", "--wan", &id, "--host", "a", "--", "/no/such/program"]));
    assert!(error.contains("/no/such/program: can't be run"), "{error}");
    if getuid().is_root() {
        let error = error_of(wan().args(["exec", "--wan", &id, "--host", "a", "--", "true"]).uid(NOBODY).gid(NOBODY));
        assert!(error.contains("can't be looked into"), "{error}");
    }
    let many: Vec<_> = (1..=52).map(|host| json!({"name": format!("node-{host}"), "address": format!("198.18.0.{host}")})).collect();
    let path = place.topology(&json!({"hosts": many, "default": {"delay_us": 0}}));
    let error = error_of(
        place.command("/bin/sh").args(["-c", "ulimit -n 40; exec \"$@\"", "sh"]).arg(place.program("slotmark-wan")).arg("run").arg(path),
    );
    assert!(error.contains("52 hosts needs more open files"), "{error}");
}

#[test]
fn a_machine_without_tun_devices_or_namespaces_is_named() {
    let place = Place::new(None);
    let path = place.topology(&topology(0, &json!({"delay_us": 0}), &json!([])));
    if Wan::start(&place, &topology(0, &json!({"delay_us": 0}), &json!([]))).is_none() {
        return;
    }
    let without = |what: fn() -> std::io::Result<()>| {
        let mut command = place.command(place.program("slotmark-wan"));
        command.arg("run").arg(&path);
        let map = format!("0 {} 1", getuid().as_raw());
        // SAFETY: between fork and exec, only system calls.
        unsafe {
            command.pre_exec(move || {
                unshare_unsafe(UnshareFlags::NEWUSER | UnshareFlags::NEWNS)?;
                fs::write("/proc/self/uid_map", &map)?;
                what()
            });
        }
        error_of(&mut command)
    };
    let error = without(|| Ok(mount("none", "/dev/net", "tmpfs", MountFlags::empty(), None)?));
    assert!(error.contains("/dev/net/tun: can't be opened") && error.contains("--network loopback"), "{error}");
    let error = without(|| fs::File::options().write(true).open("/proc/sys/user/max_net_namespaces")?.write_all(b"0"));
    assert!(error.contains("no network namespace can be made here"), "{error}");
}
