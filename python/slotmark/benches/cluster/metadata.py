"""Metadata of a run directory: ``meta.json``, the Shelley genesis, the profile's filters."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from slotmark.benches.cluster.files import content_of
from slotmark.cleaning import cleaned
from slotmark.errors import LogError
from slotmark.numbers import plain
from slotmark.run import SourceFile
from slotmark.run.storage import digest_of
from slotmark.temporary import temporary_folder
from slotmark.versions import PACKAGES

GENESIS_PLACES = (
    "genesis/genesis.shelley.json",
    "genesis-shelley.json",
    "genesis/genesis-shelley.json",
    "shelley-genesis.json",
    "genesis/shelley-genesis.json",
    "genesis.json",
)
SIMULATED_PROFILE = "profile.toml"
"""The complete profile, beside the logs of a simulated cluster."""
UNKNOWN = "unknown"
"""The text in files where a version or commit isn't known."""

_MOST_SLOTS = 2**31 - 1
"""Ingest takes no later slot: times of slots stay far within 64 bits, with slots of 3 s at the most."""
_FIRST_START_NS = int(datetime(2000, 1, 1, tzinfo=UTC).timestamp()) * 10**9
_LAST_START_NS = int(datetime(2200, 1, 1, tzinfo=UTC).timestamp()) * 10**9
_SCRIPTS = {
    "Loop": "Plutus countdown loop",
    "EcdsaSecp256k1Loop": "Plutus SECP loop",
    "SchnorrSecp256k1Loop": "Plutus SECP loop",
    "HashOntoG2AndAdd": "Plutus BLST loop",
    "Ripemd160": "Plutus RIPEMD-160 loop",
    "ExpModIntegerLoop": "Plutus expModInteger loop",
    "MultiScalarMulG1Loop": "Plutus multi-scalar multiplication loop",
}


class _ProtocolParams(msgspec.Struct):
    maxBlockBodySize: int | None = None  # noqa: N815 - the file's own name


class Genesis(msgspec.Struct, rename="camel"):
    """The fields of a Shelley genesis that are used. Slots are counted from its system start."""

    system_start: str
    epoch_length: int
    security_param: int
    active_slots_coeff: float
    slot_length: float = 1.0
    protocol_params: _ProtocolParams = msgspec.field(default_factory=_ProtocolParams)

    @property
    def system_start_ns(self) -> int:
        """Returns the start of slot 0, ns since 1970."""
        moment = datetime.fromisoformat(self.system_start)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        seconds = int(moment.replace(microsecond=0).timestamp())
        return seconds * 10**9 + moment.microsecond * 1000


class Package(msgspec.Struct):
    """A component that the node was built from."""

    version: str = UNKNOWN
    commit: str = UNKNOWN

    @property
    def known(self) -> str:
        """Version and abbreviated commit, without what isn't known."""
        return " ".join(
            part
            for part in (self.version, self.commit[:7] if self.commit != UNKNOWN else "")
            if part not in ("", UNKNOWN)
        )


class Metadata(msgspec.Struct, frozen=True):
    """Facts of a cluster run besides its logs.

    Attributes:
        tag: The run directory's tag.
        batch: The batch that it belongs to.
        profile: The profile's name.
        era: The ledger era.
        ident: What reports call it.
        ghc_version: Version of the node's compiler.
        packages: Versions by package name.
        workload: What the generator did and the size of the ledger, one entry a fact.
        filters: The profile's own filter names, then its filter expressions in words, as ``EpochGEq 2``.
        rts_flags: What the profile gives the node's GHC runtime beyond its own flags; None where it has no list of them.
        simulator: What wrote the logs of a simulated cluster, with its version; empty where that isn't known, None for the logs of nodes.
        simulation: What a cluster was simulated from, as one file: its profile, with its seed as a last line; None for the logs of nodes.
    """

    tag: str = ""
    batch: str = ""
    profile: str = ""
    era: str = ""
    ident: str = ""
    ghc_version: str = UNKNOWN
    packages: dict[str, Package] = {}
    workload: dict[str, str] = {}
    filters: list[str] = []
    rts_flags: str | None = None
    simulator: str | None = None
    simulation: SourceFile | None = None


def read_genesis(folder: Path, given: Path | None) -> Genesis:
    """The Shelley genesis of a run directory, or the file given.

    Raises:
        LogError: There is none, or it lacks a field.
    """
    places = [given] if given else [folder / place for place in GENESIS_PLACES]
    for path in places:
        if path.is_file():
            try:
                genesis = msgspec.json.decode(content_of(path), type=Genesis)
                _ = genesis.system_start_ns
            except (msgspec.DecodeError, ValueError, OverflowError, RecursionError) as error:
                raise LogError(
                    f"{path}: not a Shelley genesis ({error}). Give the cluster's own with --genesis."
                ) from error
            _refuse_implausible(genesis, path)
            return genesis
    if given:
        raise LogError(f"{given}: no such file. Give the cluster's Shelley genesis.")
    raise LogError(
        f"{folder}: no {GENESIS_PLACES[0]} in it, and without the system start no slot has a time. Give the cluster's Shelley genesis with --genesis FILE."
    )


def _refuse_implausible(genesis: Genesis, path: Path) -> None:
    body = genesis.protocol_params.maxBlockBodySize
    for field, value, least, most in (
        ("epochLength", genesis.epoch_length, 1, _MOST_SLOTS),
        ("securityParam", genesis.security_param, 1, _MOST_SLOTS),
        ("slotLength", genesis.slot_length, 0.001, 3),
        ("activeSlotsCoeff", genesis.active_slots_coeff, 1e-6, 1),
        ("maxBlockBodySize", 0 if body is None else body, 0, _MOST_SLOTS),
    ):
        if not least <= value <= most:
            raise LogError(
                f"{path}: {field} is {plain(value)}: expected {plain(least)} to {plain(most)}. Check the file, or give another with --genesis."
            )
    if not _FIRST_START_NS <= genesis.system_start_ns < _LAST_START_NS:
        raise LogError(
            f"{path}: systemStart is {genesis.system_start}: expected a time from 2000 to 2200. "
            "Check the file, or give another with --genesis."
        )


def read_metadata(folder: Path, given: Path | None) -> Metadata:
    """Returns the content of ``meta.json`` and ``profile.json`` of a run directory; all fields at their defaults where they aren't there.

    Raises:
        LogError: A file is damaged.
    """
    path = given or folder / "meta.json"
    if given and not given.is_file():
        raise LogError(f"{given}: no such file. Give the run's meta.json, or leave --meta out.")
    if not path.is_file():
        return Metadata()
    meta = _object(path).get("meta")
    if not isinstance(meta, dict):
        raise LogError(f"{path}: no object 'meta' in it. Expected the meta.json of a run directory.")
    content = _within(meta, "profile_content")
    profile_file = folder / "profile.json" if (folder / "profile.json").is_file() else path
    profile = content if profile_file == path else _object(profile_file)
    analysis = _within(profile, "analysis")
    packages = {name: _package(entry) for name, entry in _within(meta, "manifest").items()}
    node = packages.get("cardano-node", Package())
    return Metadata(
        tag=str(meta.get("tag", "")),
        batch=str(meta.get("batch", "")),
        profile=str(meta.get("profile", "")),
        era=str(meta.get("era") or content.get("era") or _within(content, "generator").get("era") or ""),
        ident=str(meta.get("ident") or ("" if node.version == UNKNOWN else node.version)),
        ghc_version=str(meta.get("node_ghc_version", UNKNOWN)),
        packages={name: packages.get(name, Package()) for name in PACKAGES},
        workload=_workload(content),
        filters=[
            *map(str, _list(analysis, "filters", profile_file)),
            *(_condition(entry, path) for entry in _list(analysis, "filter_exprs", profile_file)),
        ],
        rts_flags=_rts_flags(_within(profile, "node"), profile_file),
        simulator=str(_within(meta, "simulated").get("by", "")) if "simulated" in meta else None,
        simulation=_simulation(meta, folder / SIMULATED_PROFILE),
    )


def source_of_simulation(name: str, profile_toml: str, seed: object) -> SourceFile:
    """The one source of a simulated run, the same whether its logs were written or not.

    Args:
        name: The profile's name.
        profile_toml: The complete profile.
        seed: Decides everything that is random.
    """
    with temporary_folder() as folder:
        text = Path(folder) / "source"
        text.write_text(f"{profile_toml}\n# seed {seed}\n", encoding="utf-8")
        return SourceFile(f"simulated: {name}, seed {seed}", text.stat().st_size, digest=digest_of(text))


def _simulation(meta: dict[str, Any], profile: Path) -> SourceFile | None:
    seed = _within(meta, "simulated").get("seed")
    if seed is None or not profile.is_file():
        return None
    return source_of_simulation(str(meta.get("profile", "")), content_of(profile).decode(errors="replace"), seed)


def regions_of_topology(folder: Path) -> dict[str, str]:
    """The hosts that the ``topology.json`` of a run directory has, each with its region, empty where it has none; no host where the file isn't there.

    Raises:
        LogError: The file is damaged.
    """
    path = folder / "topology.json"
    topology = _object(path) if path.is_file() else {}
    nodes = _list(topology, "coreNodes", path)
    if not all(isinstance(node, dict) for node in nodes):
        raise LogError(
            f'{path}: coreNodes has something other than objects. Expected {{"name": "node-0", …}} for each.'
        )
    return {str(node["name"]): str(node.get("region") or "") for node in nodes if "name" in node}


def _rts_flags(node: dict[str, Any], path: Path) -> str | None:
    """The flags of ``rts_flags_override`` in a line: ``no override`` for an empty list, None where there is no list.

    Raises:
        LogError: It is something else than a list of words.
    """
    flags = node.get("rts_flags_override")
    if flags is None:
        return None
    if not isinstance(flags, list) or not all(isinstance(flag, str) for flag in flags):
        raise LogError(
            f'{path}: rts_flags_override is {flags!r:.40}: expected a list of words, as ["-A16m", "-c"]. '
            "Copy the file again from where the run was made."
        )
    return " ".join(flags) or "no override"


def _condition(entry: object, path: Path) -> str:
    """A filter expression, as ``{"tag": "CSlot", "contents": {"tag": "EpochGEq", "contents": 2}}``, in words: ``EpochGEq 2``."""
    inner = entry.get("contents") if isinstance(entry, dict) and entry.get("tag") in ("CBlock", "CSlot") else entry
    if not isinstance(inner, dict) or "tag" not in inner:
        raise LogError(
            f'{path.parent}: the profile\'s filter {entry!r} has no tag. Expected {{"tag": …, "contents": …}}.'
        )
    argument = inner.get("contents")
    return f"{inner['tag']} {plain(argument)}" if isinstance(argument, int | float) else str(inner["tag"])


def _object(path: Path) -> dict[str, Any]:
    """Returns the content of a file, with all names in it cleaned."""
    try:
        return cleaned(msgspec.json.decode(content_of(path), type=dict[str, Any]))
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise LogError(f"{path}: not a JSON object ({error}). Copy it again from where the run was made.") from error


def _list(outer: dict[str, Any], name: str, path: Path) -> list[Any]:
    inner = outer.get(name)
    if inner is None:
        return []
    if not isinstance(inner, list):
        raise LogError(
            f"{path}: {name} is {inner!r:.40}: expected a list. Copy the file again from where the run was made."
        )
    return inner


def _within(outer: dict[str, Any], name: str) -> dict[str, Any]:
    inner = outer.get(name)
    return inner if isinstance(inner, dict) else {}


def _package(entry: object) -> Package:
    """An entry of the manifest: an object, or in old files the commit alone."""
    if isinstance(entry, dict):
        return Package(str(entry.get("version", UNKNOWN)), str(entry.get("commit", UNKNOWN)))
    return Package(commit=str(entry))


def _shares(shares: dict[str, Any]) -> str | None:
    """Names and their shares; None where there are none."""
    return (
        ", ".join(f"{region} {plain(share)}" for region, share in shares.items() if isinstance(share, int | float))
        or None
    )


def _workload(content: dict[str, Any]) -> dict[str, str]:
    """The facts of the workload, in the order of the published manifests."""
    genesis, generator = _within(content, "genesis"), _within(content, "generator")
    if not generator:
        return {}
    plutus = _within(generator, "plutus")
    script = str(plutus.get("script") or "") if plutus.get("type") else ""
    if generator.get("plutusMode") and generator.get("plutusAutoMode"):
        script = "Loop"
    # A file of the user's own may have any name.
    is_known = not script.endswith(".plutus")
    kind = next((name for start, name in _SCRIPTS.items() if is_known and script.startswith(start)), "Plutus (other)")
    actions = _within(generator, "actions")
    facts = {
        "workload": kind if script else "mixed" if actions else "value-only",
        "delegation map size": genesis.get("delegators"),
        "stuffed UTxO size": genesis.get("utxo"),
        "DRep count": genesis.get("dreps", 0),
        "protocol version": genesis.get("protocol_version"),
        "extra tx payload, B": generator.get("add_tx_size"),
        "tx inputs": generator.get("inputs_per_tx"),
        "tx outputs": generator.get("outputs_per_tx"),
        "TPS": generator.get("tps"),
        "actions": _shares(actions),
        "shares of transactions": _shares(_within(generator, "shares")),
        "transactions": generator.get("tx_count"),
        "Plutus script": script or "-",
        "Plutus script hash": plutus.get("hash") if script else None,
        "script memory": _within(plutus, "units").get("memory") if script else None,
        "script steps": _within(plutus, "units").get("steps") if script else None,
        "script cost, lovelace": plutus.get("lovelace") if script else None,
        **{
            f"{whose} {kind} budget": _within(_within(genesis, "budgets"), whose).get(kind)
            for whose in ("transaction", "block")
            for kind in ("memory", "steps")
        },
    }
    return {name: str(value) for name, value in facts.items() if value is not None}
