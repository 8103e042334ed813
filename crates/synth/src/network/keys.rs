//! Keys in text envelopes, laid out as by cardano-cli.

use slotmark_praos::envelope::{
    ColdSigningKey, ColdVerificationKey, DRepSigningKey, DRepVerificationKey, IssueCounter, KesSigningKey, KesVerificationKey,
    OperationalCertificate, PaymentSigningKey, PaymentVerificationKey, StakeSigningKey, StakeVerificationKey, VrfSigningKey,
    VrfVerificationKey,
};
use slotmark_praos::kes;

use super::folder::Folder;
use crate::error::SynthError;
use crate::keys::public;
use crate::pools::{HotKey, Pool};
use crate::random::secret;

/// The seed of a DRep's key.
pub(crate) fn drep_secret(seed: u64, number: u64) -> [u8; 32] {
    secret(seed, "drep", number)
}

/// Writes the keys of all pools, each with its hot key and certificate.
pub(crate) fn write_pools(genesis: &Folder, pools: &[Pool], hot_keys: &[HotKey]) -> Result<(), SynthError> {
    for ((number, pool), hot) in (1..).zip(pools).zip(hot_keys) {
        let place = genesis.below(format!("pools-keys/pool{number}"));
        place.pair("cold", &ColdSigningKey(pool.cold.to_bytes()), &ColdVerificationKey(pool.cold_key()))?;
        place.pair("vrf", &VrfSigningKey(pool.vrf.to_bytes()), &VrfVerificationKey(pool.vrf.verification_key()))?;
        let key = kes::SigningKey::from_seed(&hot.seed);
        place.pair("kes", &KesSigningKey(key.to_bytes()), &KesVerificationKey(key.verification_key()))?;
        let certificate = OperationalCertificate { certificate: hot.certificate.clone(), cold_key: pool.cold_key() };
        place.envelope("opcert.cert", &certificate)?;
        place.envelope("opcert.counter", &IssueCounter { next: hot.certificate.sequence + 1, cold_key: pool.cold_key() })?;
    }
    Ok(())
}

/// Writes the keys of those who delegate, from the seeds of their payment and stake keys.
pub(crate) fn write_delegators(genesis: &Folder, secrets: impl Iterator<Item = ([u8; 32], [u8; 32])>) -> Result<(), SynthError> {
    for (number, (payment, stake)) in (1..).zip(secrets) {
        let place = genesis.below(format!("stake-delegators/delegator{number}"));
        place.pair("payment", &PaymentSigningKey(payment), &PaymentVerificationKey(public(&payment)))?;
        place.pair("staking", &StakeSigningKey(stake), &StakeVerificationKey(public(&stake)))?;
    }
    Ok(())
}

/// Writes the keys of the first DReps.
pub(crate) fn write_dreps(genesis: &Folder, seed: u64, count: u64) -> Result<(), SynthError> {
    for number in 0..count {
        let drep = drep_secret(seed, number);
        let place = genesis.below(format!("drep-keys/drep{}", number + 1));
        place.pair("drep", &DRepSigningKey(drep), &DRepVerificationKey(public(&drep)))?;
    }
    Ok(())
}
