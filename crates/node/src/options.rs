//! The command line: cardano-node's, and options of our own.

use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use slotmark_replay::Backend;

/// A small Praos block producer.
#[derive(Parser, Debug)]
#[command(name = "slotmark-node", version, about)]
pub struct Options {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Run a node until SIGINT or SIGTERM.
    Run(Box<Run>),
    /// Make a ledger base of the genesis, which any number of nodes of one machine can share.
    Prepare(Prepare),
}

/// The sources of a ledger base.
#[derive(Args, Debug, Clone)]
pub struct Prepare {
    /// Configuration file, which names the genesis files.
    #[arg(long)]
    pub config: PathBuf,
    /// Path of the base.
    #[arg(long)]
    pub out: PathBuf,
}

/// The options of a node.
#[derive(Args, Debug, Clone)]
pub struct Run {
    /// Configuration file, which names the genesis files.
    #[arg(long)]
    pub config: PathBuf,
    /// Topology file: whom to connect to.
    #[arg(long)]
    pub topology: PathBuf,
    /// Folder of the chain's store; made where it isn't there.
    #[arg(long)]
    pub database_path: PathBuf,
    /// Unix socket for local clients.
    #[arg(long)]
    pub socket_path: Option<PathBuf>,
    /// Ledger base that `prepare` made: the Shelley genesis isn't read, and what it holds is looked up there.
    #[arg(long)]
    pub ledger_base: Option<PathBuf>,
    /// Keep the unspent outputs after the last settled block in this store, in a folder `ledger` of the database; without it the node has only the changes
    /// since the genesis, in memory.
    #[arg(long, value_name = "STORE")]
    pub ledger: Option<Backend>,
    /// Address to listen on, and to connect from.
    #[arg(long, default_value = "0.0.0.0")]
    pub host_addr: IpAddr,
    /// Port to listen on, and to connect from.
    #[arg(long, default_value_t = 3001)]
    pub port: u16,
    /// KES key; with the two below, the node makes blocks.
    #[arg(long, requires = "shelley_vrf_key", requires = "shelley_operational_certificate")]
    pub shelley_kes_key: Option<PathBuf>,
    /// VRF key.
    #[arg(long, requires = "shelley_kes_key")]
    pub shelley_vrf_key: Option<PathBuf>,
    /// Operational certificate.
    #[arg(long, requires = "shelley_kes_key")]
    pub shelley_operational_certificate: Option<PathBuf>,
    /// Announce no header before its block is validated (no diffusion pipelining).
    #[arg(long)]
    pub no_pipelining: bool,
    /// Connections that others may open, beside the peers of the topology; more are closed at once.
    #[arg(long, value_name = "N", default_value_t = 512)]
    pub max_connections: usize,
    /// Connections that others may open from one address, beside the peers of the topology.
    #[arg(long, value_name = "N", default_value_t = 128)]
    pub max_connections_per_address: usize,
    /// Run no Plutus scripts: their results are taken as blocks state them.
    #[arg(long)]
    pub no_scripts: bool,
    /// Planted fault: wait so long in a stage (adopt, fetch or forge), as adopt=20ms; may be given for each stage.
    #[arg(long, value_name = "STAGE=TIME")]
    pub delay: Vec<Delay>,
    /// Planted fault: never give back so much memory a second, as 1MiB/s.
    #[arg(long, value_name = "BYTES/s")]
    pub leak: Option<Leak>,
    /// Planted fault: no limit on connections, nor on the work that a peer makes; neighbours come in turn with all others.
    #[arg(long)]
    pub no_limits: bool,
    /// Planted fault: lose this share of the blocks that peers send, as 1%; each is asked for again.
    #[arg(long, value_name = "SHARE%")]
    pub drop_block: Option<Share>,
}

/// A stage of a block's way through the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Between a block's arrival and its adoption.
    Adopt,
    /// Between a header's arrival and the request for its block.
    Fetch,
    /// Between the leadership check and the block.
    Forge,
}

/// A delay in a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delay {
    /// The stage.
    pub stage: Stage,
    /// The delay.
    pub time: Duration,
}

impl FromStr for Delay {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || "expected STAGE=TIME with a stage of adopt, fetch and forge, as adopt=20ms".to_owned();
        let (stage, time) = text.split_once('=').ok_or_else(expected)?;
        let stage = match stage {
            "adopt" => Stage::Adopt,
            "fetch" => Stage::Fetch,
            "forge" => Stage::Forge,
            _ => return Err(expected()),
        };
        let units = [("us", 1), ("ms", 1_000), ("s", 1_000_000)];
        let micros = units.iter().find_map(|(unit, micros)| time.strip_suffix(unit)?.parse::<u64>().ok()?.checked_mul(*micros));
        let micros = micros.filter(|micros| *micros <= 60_000_000);
        Ok(Self { stage, time: Duration::from_micros(micros.ok_or("expected a whole number of us, ms or s up to 60s, as 20ms")?) })
    }
}

/// Bytes a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leak(pub usize);

impl FromStr for Leak {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let units = [("KiB/s", 1 << 10), ("MiB/s", 1 << 20), ("B/s", 1)];
        let bytes = units.iter().find_map(|(unit, bytes)| text.strip_suffix(unit)?.parse::<usize>().ok()?.checked_mul(*bytes));
        let bytes = bytes.filter(|bytes| *bytes <= 1 << 30);
        bytes.map(Self).ok_or_else(|| "expected a whole number of B/s, KiB/s or MiB/s up to 1024MiB/s, as 1MiB/s".to_owned())
    }
}

/// A share of 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share(pub f64);

impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let percent = text.strip_suffix('%').and_then(|number| number.parse::<f64>().ok()).filter(|share| (0.0..=100.0).contains(share));
        percent.map(|percent| Self(percent / 100.0)).ok_or_else(|| "expected a percentage from 0% to 100%, as 1%".to_owned())
    }
}

impl Run {
    /// The planted delay of a stage.
    pub fn delay(&self, stage: Stage) -> Duration {
        self.delay.iter().filter(|delay| delay.stage == stage).map(|delay| delay.time).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planted_faults_are_read() {
        assert_eq!("adopt=20ms".parse(), Ok(Delay { stage: Stage::Adopt, time: Duration::from_millis(20) }));
        assert_eq!("fetch=1s".parse(), Ok(Delay { stage: Stage::Fetch, time: Duration::from_secs(1) }));
        assert_eq!("forge=5us".parse(), Ok(Delay { stage: Stage::Forge, time: Duration::from_micros(5) }));
        for wrong in ["", "adopt", "adopt=", "adopt=20", "adopt=-1ms", "other=1ms", "adopt=61s", "adopt=18446744073709551615s"] {
            assert!(wrong.parse::<Delay>().is_err(), "{wrong}");
        }
        assert_eq!("1MiB/s".parse(), Ok(Leak(1 << 20)));
        assert!("1MiB".parse::<Leak>().is_err() && "2000MiB/s".parse::<Leak>().is_err());
        assert_eq!("1%".parse(), Ok(Share(0.01)));
        assert!("1".parse::<Share>().is_err() && "101%".parse::<Share>().is_err() && "nan%".parse::<Share>().is_err());
    }
}
