//! The needs of certificates: signatures, deposits and refunds.

use slotmark_chain::block::{Certificate, Credential};

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

impl Demands {
    pub(crate) fn of(certificate: &Certificate) -> Self {
        use Certificate as C;
        let key = |hash| Credential { script: false, hash };
        let one = |credential: Credential, deposit: i128| Self { credentials: vec![credential], deposit, ..Self::default() };
        match *certificate {
            C::Registration { deposit: None, .. } => Self { key_deposits: 1, ..Self::default() },
            C::Registration { credential, deposit: Some(deposit), .. } => one(credential, i128::from(deposit)),
            C::Deregistration { credential, refund: None } => Self { key_deposits: -1, ..one(credential, 0) },
            C::Deregistration { credential, refund: Some(refund) } => one(credential, -i128::from(refund)),
            C::Delegation { credential, .. } | C::VoteDelegation { credential, .. } => one(credential, 0),
            C::PoolRegistration { pool, ref terms, .. } => {
                let owners = terms.owners.iter().copied();
                Self { credentials: std::iter::once(pool).chain(owners).map(key).collect(), ..Self::default() }
            }
            C::PoolRetirement { pool, .. } => one(key(pool), 0),
            C::GenesisDelegation { genesis_key, .. } => one(key(genesis_key), 0),
            C::InstantaneousRewards => Self { unknown_signers: true, ..Self::default() },
            C::DRepRegistration { drep, deposit } => one(drep, i128::from(deposit)),
            C::DRepDeregistration { drep, refund } => one(drep, -i128::from(refund)),
            C::DRepUpdate { drep } => one(drep, 0),
            C::CommitteeHotKey { cold, .. } | C::CommitteeResignation { cold } => one(cold, 0),
        }
    }
}
