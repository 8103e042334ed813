//! The needs of certificates: signatures, deposits and refunds.

use pallas_codec::minicbor::{self, Decoder};
use pallas_primitives::{StakeCredential, alonzo, conway};
use slotmark_chain::block::{Credential, Era};

use crate::bytes::{Result, items};

/// One certificate's demands.
#[derive(Default)]
pub(crate) struct Demands {
    /// Credentials whose witness it needs; a script among them runs for the certificate.
    pub(crate) credentials: Vec<Credential>,
    /// Deposits less refunds that the certificate names, in lovelace.
    pub(crate) deposit: i128,
    /// Deposits for stake credentials less refunds, each as the parameters have it.
    pub(crate) key_deposits: i128,
    /// True where the signers depend on more than the transaction: on the genesis keys' delegates.
    pub(crate) unknown_signers: bool,
}

/// The demands of a transaction's certificates, in order.
pub(crate) fn demands(era: Era, encoded: &[u8]) -> Result<Vec<Demands>> {
    let read = |item: &&[u8]| {
        let mut decoder = Decoder::new(item);
        decoder.array()?;
        let kind = decoder.u8()?;
        // Genesis delegations and instantaneous rewards ended with Babbage.
        if era < Era::Conway && matches!(kind, 5 | 6) { early(minicbor::decode(item)?) } else { any(minicbor::decode(item)?) }
    };
    items(encoded)?.iter().map(read).collect()
}

fn early(certificate: alonzo::Certificate) -> Result<Demands> {
    Ok(match certificate {
        alonzo::Certificate::GenesisKeyDelegation(key, ..) => {
            let hash = key.as_slice().try_into().map_err(|_| minicbor::decode::Error::message("a genesis key's hash of another length"))?;
            Demands { credentials: vec![Credential { script: false, hash }], ..Demands::default() }
        }
        _ => Demands { unknown_signers: true, ..Demands::default() },
    })
}

fn any(certificate: conway::Certificate) -> Result<Demands> {
    use conway::Certificate as C;
    let key = |hash: &[u8]| Credential { script: false, hash: hash.try_into().expect("28 bytes") };
    let one = |credential: &StakeCredential, deposit: i128| Demands { credentials: vec![of(credential)], deposit, ..Demands::default() };
    Ok(match &certificate {
        C::StakeRegistration(_) => Demands { key_deposits: 1, ..Demands::default() },
        C::StakeDeregistration(credential) => Demands { key_deposits: -1, ..one(credential, 0) },
        C::StakeDelegation(credential, _) | C::VoteDeleg(credential, _) | C::StakeVoteDeleg(credential, _, _) => one(credential, 0),
        C::PoolRegistration { operator, pool_owners, .. } => {
            let owners = pool_owners.iter().map(|owner| key(owner.as_ref()));
            Demands { credentials: std::iter::once(key(operator.as_ref())).chain(owners).collect(), ..Demands::default() }
        }
        C::PoolRetirement(pool, _) => Demands { credentials: vec![key(pool.as_ref())], ..Demands::default() },
        C::Reg(credential, deposit)
        | C::StakeRegDeleg(credential, _, deposit)
        | C::VoteRegDeleg(credential, _, deposit)
        | C::StakeVoteRegDeleg(credential, _, _, deposit)
        | C::RegDRepCert(credential, deposit, _) => one(credential, i128::from(*deposit)),
        C::UnReg(credential, refund) | C::UnRegDRepCert(credential, refund) => one(credential, -i128::from(*refund)),
        C::AuthCommitteeHot(credential, _) | C::ResignCommitteeCold(credential, _) | C::UpdateDRepCert(credential, _) => one(credential, 0),
    })
}

fn of(credential: &StakeCredential) -> Credential {
    match credential {
        StakeCredential::AddrKeyhash(hash) => Credential { script: false, hash: **hash },
        StakeCredential::ScriptHash(hash) => Credential { script: true, hash: **hash },
    }
}
