//! Scripts of ours that repeat one thing as often as their redeemer states: what the published benchmarks run, in code of our own.

use slotmark_chain::CborBuffer;
use slotmark_network::shelley::{self, VAN_ROSSEM};

use super::evaluate::probe;
use super::flat::{self, Builtin, ItemType, Term};
use super::{Budget, Language, Script};
use crate::error::SynthError;

/// A loop. Names are those of the scripts of the published benchmarks that do the same, which are other code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Loop {
    /// Counts down.
    Countdown,
    /// Counts down, in Plutus V2.
    CountdownV2,
    /// Checks one ECDSA signature on the curve secp256k1 again and again, in Plutus V2.
    Ecdsa,
    /// The same in Plutus V3.
    EcdsaV3,
    /// Checks one Schnorr signature on the curve secp256k1 again and again, in Plutus V2.
    Schnorr,
    /// The same in Plutus V3.
    SchnorrV3,
    /// Hashes the RIPEMD-160 digest that it had before.
    Ripemd160,
    /// Hashes bytes to a point of BLS12-381's second group, and adds it to the sum of those before.
    HashToG2,
    /// Raises the number that it had before to a power, modulo a prime of 255 bits: that of BLS12-381's scalars, to whose inverse it goes.
    ExpMod,
    /// Multiplies [`POINTS`] points of BLS12-381's first group by a scalar each, and adds all to the sum of those before.
    MultiScalarMul,
}

/// The tag of a number in bytes, the highest first.
const LARGE_NUMBER: u64 = 2;
/// Points that each round of a multi-scalar multiplication has.
const POINTS: u64 = 5;

/// Rounds of a loop that a budget allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calibrated {
    /// The script, with the number of rounds in its redeemer.
    pub script: Script,
    /// Number of rounds.
    pub rounds: u64,
    /// The budget that they use, which doesn't depend on the transaction.
    pub used: Budget,
}

impl Loop {
    /// All loops in their order, each with its name in profiles and manifests, the workload of chains that runs it, and its language: RIPEMD-160 and
    /// BLS12-381 came with Plutus V3.
    const FACTS: [(Self, &'static str, &'static str, Language); 10] = [
        (Self::Countdown, "Loop", "plutus-loop", Language::V3),
        (Self::CountdownV2, "LoopV2", "plutus-loop-v2", Language::V2),
        (Self::Ecdsa, "EcdsaSecp256k1Loop", "ecdsa-loop", Language::V2),
        (Self::EcdsaV3, "EcdsaSecp256k1LoopV3", "ecdsa-loop-v3", Language::V3),
        (Self::Schnorr, "SchnorrSecp256k1Loop", "schnorr-loop", Language::V2),
        (Self::SchnorrV3, "SchnorrSecp256k1LoopV3", "schnorr-loop-v3", Language::V3),
        (Self::Ripemd160, "Ripemd160", "ripemd-loop", Language::V3),
        (Self::HashToG2, "HashOntoG2AndAdd", "bls-loop", Language::V3),
        (Self::ExpMod, "ExpModIntegerLoop", "expmod-loop", Language::V3),
        (Self::MultiScalarMul, "MultiScalarMulG1Loop", "msm-loop", Language::V3),
    ];

    /// All loops.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::FACTS.into_iter().map(|(one, ..)| one)
    }

    /// Returns its name in profiles and manifests.
    pub fn name(self) -> &'static str {
        Self::FACTS[self as usize].1
    }

    /// Returns the name of the workload of chains that runs it.
    pub fn workload(self) -> &'static str {
        Self::FACTS[self as usize].2
    }

    /// Returns its language.
    pub fn language(self) -> Language {
        Self::FACTS[self as usize].3
    }

    /// The first major version of the protocol of forged networks that has all that it is made of.
    pub fn protocol_version(self) -> u64 {
        match self {
            Self::ExpMod | Self::MultiScalarMul => VAN_ROSSEM,
            _ => *shelley::PROTOCOL_MAJORS.start(),
        }
    }

    /// The loop of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|one| one.name() == name)
    }

    /// The loop with this script, whatever its redeemer.
    pub(crate) fn of(script: &Script) -> Option<Self> {
        Self::all().find(|one| one.language() == script.language() && one.program() == script.bytes())
    }

    /// The script, as a witness set holds it: a CBOR byte string with the flat-encoded program in it.
    pub(super) fn program(self) -> Vec<u8> {
        let mut script = Vec::new();
        script.bytes(&match self.language() {
            Language::V3 => flat::program([1, 1, 0], &of_context(|scope, redeemer| self.body(scope, redeemer))),
            Language::V1 | Language::V2 => flat::program([1, 0, 0], &of_three(|scope, redeemer| self.body(scope, redeemer))),
        });
        script
    }

    /// The redeemer with a number of rounds: the number alone, or `Constr 0` of it and of what each round is given.
    pub(super) fn redeemer(self, rounds: u64) -> Vec<u8> {
        let mut redeemer = Vec::new();
        let given = self.given();
        if given.is_empty() {
            redeemer.uint(rounds);
            return redeemer;
        }
        redeemer.tag(121);
        redeemer.push(0x9f);
        redeemer.uint(rounds);
        for (place, text) in given.iter().enumerate() {
            if self == Self::ExpMod || (self == Self::MultiScalarMul && place == 2) {
                redeemer.tag(LARGE_NUMBER);
            }
            redeemer.bytes(&hex::decode(text).expect("hexadecimal digits"));
        }
        redeemer.push(0xff);
        redeemer
    }

    /// The bytes that each round is given, in hexadecimal digits: those of the published workloads (cardano-node, `cardano-profile`).
    fn given(self) -> &'static [&'static str] {
        match self {
            Self::Countdown | Self::CountdownV2 => &[],
            // Key, hash of the message, signature.
            Self::Ecdsa | Self::EcdsaV3 => &[
                "0392d7b94bc6a11c335a043ee1ff326b6eacee6230d3685861cd62bce350a172e0",
                "16e0bf1f85594a11e75030981c0b670370b3ad83a43f49ae58a2fd6f6513cde9",
                "5fb12954b28be6456feb080cfb8467b6f5677f62eb9ad231de7a575f4b6857512754fb5ef7e0e60e270832e7bb0e2f0dc271012fa9c46c02504aa0e798be6295",
            ],
            // Key, message, signature.
            Self::Schnorr | Self::SchnorrV3 => &[
                "599de3e582e2a3779208a210dfeae8f330b9af00a47a7fb22e9bb8ef596f301b",
                "30303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030",
                "5a56da88e6fd8419181dec4d3dd6997bab953d2fc71ab65e23cfc9e7e3d1a310613454a60f6703819a39fdac2a410a094442afd1fc083354443e8d8bb4461a9b",
            ],
            Self::Ripemd160 => &["5a56da88e6fd8419181dec4d3dd6997bab953d2f"],
            // Bytes, and the tag that separates uses of the hash: none.
            Self::HashToG2 => &["714805c6", ""],
            // The same, and the largest scalar.
            Self::MultiScalarMul => &["714805c6", "", "73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000000"],
            // Base, exponent, modulus: the exponent is the modulus less two.
            Self::ExpMod => &[
                "5a56da88e6fd8419181dec4d3dd6997bab953d2fc71ab65e23cfc9e7e3d1a310",
                "73eda753299d7d483339d80809a1d80553bda402fffe5bfefffffffeffffffff",
                "73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001",
            ],
        }
    }

    /// As many rounds as a budget allows under a major version of the protocol; what they use is found by running the script.
    ///
    /// # Errors
    /// The budget allows no round, or the version doesn't have all that it is made of.
    pub fn within(self, limit: Budget, major: u64) -> Result<Calibrated, SynthError> {
        let of = |rounds| Script::of_loop(self, rounds).under(major);
        let used = |rounds| probe(&of(rounds)?, limit);
        let (none, one) = (used(0)?, used(1)?);
        // A round uses the same each time: what it is given has one size, and the count fits a word.
        let fits = |limit: u64, none: u64, one: u64| (limit - none).checked_div(one - none).unwrap_or(u64::MAX);
        let rounds = fits(limit.memory, none.memory, one.memory).min(fits(limit.steps, none.steps, one.steps));
        let script = of(rounds)?;
        let used = probe(&script, limit)?;
        Ok(Calibrated { script, rounds, used })
    }

    fn body(self, scope: Scope, redeemer: &dyn Fn(Scope) -> Term) -> Term {
        match self {
            Self::Countdown | Self::CountdownV2 => scope.bind(scope.repeat(|_, again| again), |scope, repeat| {
                let count = unary(Builtin::UnIData, redeemer(scope));
                scope.of(repeat).apply(scope.of(repeat)).apply(count)
            }),
            Self::Ecdsa | Self::EcdsaV3 => signature(scope, redeemer, Builtin::VerifyEcdsaSecp256k1Signature),
            Self::Schnorr | Self::SchnorrV3 => signature(scope, redeemer, Builtin::VerifySchnorrSecp256k1Signature),
            Self::Ripemd160 => scope.bind(fields(redeemer(scope)), |scope, fields| {
                let digest = |scope: Scope| unary(Builtin::UnBData, item(scope.of(fields), 1));
                accumulate(scope, fields, digest, |scope, digest| unary(Builtin::Ripemd160, scope.of(digest)))
            }),
            Self::HashToG2 => scope.bind(fields(redeemer(scope)), |scope, fields| {
                let bytes = |scope: Scope, place| unary(Builtin::UnBData, item(scope.of(fields), place));
                scope.bind(bytes(scope, 1), |scope, message| {
                    scope.bind(bytes(scope, 2), |scope, tag| {
                        let hashed = move |scope: Scope| binary(Builtin::Bls12_381G2HashToGroup, scope.of(message), scope.of(tag));
                        accumulate(scope, fields, hashed, |scope, sum| binary(Builtin::Bls12_381G2Add, hashed(scope), scope.of(sum)))
                    })
                })
            }),
            Self::ExpMod => scope.bind(fields(redeemer(scope)), |scope, fields| {
                let number = |scope: Scope, place| unary(Builtin::UnIData, item(scope.of(fields), place));
                scope.bind(number(scope, 2), |scope, exponent| {
                    scope.bind(number(scope, 3), |scope, modulus| {
                        let first = |scope: Scope| number(scope, 1);
                        accumulate(scope, fields, first, |scope, base| {
                            binary(Builtin::ExpModInteger, scope.of(base), scope.of(exponent)).apply(scope.of(modulus))
                        })
                    })
                })
            }),
            Self::MultiScalarMul => scope.bind(fields(redeemer(scope)), |scope, fields| {
                let bytes = |scope: Scope, place| unary(Builtin::UnBData, item(scope.of(fields), place));
                let point = binary(Builtin::Bls12_381G1HashToGroup, bytes(scope, 1), bytes(scope, 2));
                scope.bind(point, |scope, point| {
                    scope.bind(multiples(scope, &[point]), |scope, points| {
                        scope.bind(unary(Builtin::UnIData, item(scope.of(fields), 3)), |scope, number| {
                            scope.bind(scalars(scope, number), |scope, scalars| {
                                accumulate(
                                    scope,
                                    fields,
                                    |scope| scope.of(point),
                                    |scope, sum| {
                                        let product = binary(Builtin::Bls12_381G1MultiScalarMul, scope.of(scalars), scope.of(points));
                                        binary(Builtin::Bls12_381G1Add, product, scope.of(sum))
                                    },
                                )
                            })
                        })
                    })
                })
            }),
        }
    }
}

/// A list of a point's multiples, from the highest down to the point itself: [`POINTS`] of them. `names` are those that are bound already.
fn multiples(scope: Scope, names: &[Name]) -> Term {
    let (point, last) = (names[0], names[names.len() - 1]);
    if names.len() as u64 == POINTS {
        return names.iter().fold(Term::Empty(ItemType::Bls12_381G1Element), |list, name| construct(scope.of(*name), list));
    }
    let next = binary(Builtin::Bls12_381G1Add, scope.of(last), scope.of(point));
    scope.bind(next, |scope, next| multiples(scope, &[names, &[next]].concat()))
}

/// A list of a number and those below it, as many as there are points.
fn scalars(scope: Scope, number: Name) -> Term {
    (0..POINTS as i64).fold(Term::Empty(ItemType::Integer), |list, less| {
        construct(binary(Builtin::SubtractInteger, scope.of(number), Term::Integer(less)), list)
    })
}

/// A script of Plutus V3, whose one argument is the context; the redeemer is its second field.
fn of_context(body: impl Fn(Scope, &dyn Fn(Scope) -> Term) -> Term) -> Term {
    Scope(0).lambda(|scope, context| body(scope, &|scope: Scope| item(fields(scope.of(context)), 1)))
}

/// A script of an earlier Plutus, whose arguments are datum, redeemer and context.
fn of_three(body: impl Fn(Scope, &dyn Fn(Scope) -> Term) -> Term) -> Term {
    Scope(0).lambda(|scope, _| scope.lambda(|scope, redeemer| scope.lambda(|scope, _| body(scope, &|scope: Scope| scope.of(redeemer)))))
}

/// Checks a signature again and again; fails where it isn't valid.
fn signature(scope: Scope, redeemer: &dyn Fn(Scope) -> Term, verify: Builtin) -> Term {
    scope.bind(fields(redeemer(scope)), |scope, fields| {
        let bytes = |scope: Scope, place| unary(Builtin::UnBData, item(scope.of(fields), place));
        scope.bind(bytes(scope, 1), |scope, key| {
            scope.bind(bytes(scope, 2), |scope, message| {
                scope.bind(bytes(scope, 3), |scope, signature| {
                    let checked = |scope: Scope, again| {
                        let valid = binary(verify, scope.of(key), scope.of(message)).apply(scope.of(signature));
                        choose(valid, again, Term::Error)
                    };
                    scope.bind(scope.repeat(checked), |scope, repeat| {
                        let count = unary(Builtin::UnIData, item(scope.of(fields), 0));
                        scope.of(repeat).apply(scope.of(repeat)).apply(count)
                    })
                })
            })
        })
    })
}

/// Makes a value of the one before, again and again. `fields` are those of the redeemer.
fn accumulate(scope: Scope, fields: Name, first: impl Fn(Scope) -> Term, next: impl Fn(Scope, Name) -> Term) -> Term {
    let step = scope.lambda(|scope, repeat| {
        scope.lambda(|scope, value| {
            scope.lambda(|scope, count| {
                let again = scope.of(repeat).apply(scope.of(repeat)).apply(next(scope, value)).apply(less(scope.of(count)));
                choose(is_zero(scope.of(count)), Term::Unit, again)
            })
        })
    });
    scope.bind(step, |scope, repeat| {
        let count = unary(Builtin::UnIData, item(scope.of(fields), 0));
        scope.of(repeat).apply(scope.of(repeat)).apply(first(scope)).apply(count)
    })
}

/// Number of binders around a term.
#[derive(Clone, Copy)]
struct Scope(u64);

/// A variable, by the number of binders up to its own.
#[derive(Clone, Copy)]
struct Name(u64);

impl Scope {
    fn lambda(self, body: impl FnOnce(Scope, Name) -> Term) -> Term {
        body(Scope(self.0 + 1), Name(self.0 + 1)).lambda()
    }

    /// A term in which a name stands for a value.
    fn bind(self, value: Term, body: impl FnOnce(Scope, Name) -> Term) -> Term {
        self.lambda(body).apply(value)
    }

    fn of(self, name: Name) -> Term {
        Term::Variable(self.0 - name.0 + 1)
    }

    /// A function of itself and a number, which calls itself with one less until it is 0; `round` is given the term of the call.
    fn repeat(self, round: impl FnOnce(Scope, Term) -> Term) -> Term {
        self.lambda(|scope, repeat| {
            scope.lambda(|scope, count| {
                let again = scope.of(repeat).apply(scope.of(repeat)).apply(less(scope.of(count)));
                choose(is_zero(scope.of(count)), Term::Unit, round(scope, again))
            })
        })
    }
}

fn unary(function: Builtin, argument: Term) -> Term {
    Term::Builtin(function).apply(argument)
}

fn binary(function: Builtin, one: Term, other: Term) -> Term {
    unary(function, one).apply(other)
}

fn is_zero(number: Term) -> Term {
    binary(Builtin::EqualsInteger, number, Term::Integer(0))
}

fn less(number: Term) -> Term {
    binary(Builtin::SubtractInteger, number, Term::Integer(1))
}

/// One of two terms; only that one is evaluated.
fn choose(condition: Term, yes: Term, no: Term) -> Term {
    Term::Builtin(Builtin::IfThenElse).force().apply(condition).apply(yes.delay()).apply(no.delay()).force()
}

/// The fields of a constructor.
fn fields(data: Term) -> Term {
    Term::Builtin(Builtin::SndPair).force().force().apply(unary(Builtin::UnConstrData, data))
}

/// A list with an item before it.
fn construct(item: Term, list: Term) -> Term {
    Term::Builtin(Builtin::MkCons).force().apply(item).apply(list)
}

/// An item of a list, counted from 0.
fn item(list: Term, place: u64) -> Term {
    let rest = (0..place).fold(list, |list, _| Term::Builtin(Builtin::TailList).force().apply(list));
    Term::Builtin(Builtin::HeadList).force().apply(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budgets::Budgets;

    #[test]
    fn each_loop_uses_up_what_it_may_and_a_round_more_is_refused() {
        for limit in [Budgets::PUBLIC.transaction, Budgets::PUBLIC.share(8)] {
            for one in Loop::all() {
                let Calibrated { script, rounds, used } = one.within(limit, one.protocol_version()).expect("a loop");
                assert!(used.memory <= limit.memory && used.steps <= limit.steps, "{}: {used:?}", one.name());
                // No round of any takes more than a tenth of the smaller budget.
                assert!(used.memory * 10 > limit.memory * 9 || used.steps * 10 > limit.steps * 9, "{}: {used:?}", one.name());
                let more = probe(&Script::of_loop(one, rounds + 1), limit).unwrap_err().to_string();
                assert!(more.contains("uses more than a transaction may"), "{more}");
                assert_eq!(Loop::of(&script), Some(one));
                assert_eq!(Loop::named(one.name()), Some(one));
            }
        }
    }

    #[test]
    fn signatures_are_really_checked() {
        for one in [Loop::Ecdsa, Loop::EcdsaV3, Loop::Schnorr, Loop::SchnorrV3] {
            let script = Script::of_loop(one, 2);
            let mut redeemer = script.redeemer().to_vec();
            let place = redeemer.len() - 2; // the signature's last byte
            redeemer[place] ^= 1;
            let wrong = probe(&script.with_redeemer(redeemer), Budgets::PUBLIC.transaction).unwrap_err().to_string();
            assert!(wrong.contains("the script fails"), "{wrong}");
        }
    }

    #[test]
    fn rounds_of_version_11_use_what_its_cost_model_says() {
        // expModInteger: 607,153 + (231,697 + 53,144 x 4) x 4 x 4 steps for numbers of 4 words, and 4 of memory. Beside it, a round of the loop.
        let each = |one: Loop| {
            let used = |rounds| probe(&Script::of_loop(one, rounds), Budgets::PUBLIC.transaction).expect("rounds");
            let (none, some) = (used(1), used(3));
            (some.memory - none.memory, some.steps - none.steps)
        };
        let exp = 607_153 + (231_697 + 53_144 * 4) * 4 * 4;
        let (memory, steps) = each(Loop::ExpMod);
        let machine = |memory: u64| (memory / 100 * 100, memory / 100 * 16_000);
        // equalsInteger, subtractInteger and ifThenElse, as in the countdown.
        let (functions, function_steps) = (1 + 2 + 1, 52_333 + 101_208 + 76_049);
        let of_machine = machine(memory / 2 - functions - 4);
        assert_eq!((memory / 2, steps / 2), (of_machine.0 + functions + 4, of_machine.1 + function_steps + exp));
        // multiScalarMul of five points, and the sum.
        let product = 321_837_444 + 25_087_669 * 5;
        let (memory, steps) = each(Loop::MultiScalarMul);
        let of_machine = machine(memory / 2 - functions - 18 - 18);
        assert_eq!((memory / 2, steps / 2), (of_machine.0 + functions + 36, of_machine.1 + function_steps + product + 962_335));
    }

    #[test]
    fn a_budget_that_allows_no_round_is_refused() {
        let small = Budget { memory: 1_000, steps: 1_000_000 };
        assert!(Loop::HashToG2.within(small, 10).is_err());
    }
}
