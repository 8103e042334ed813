// @harmoniclabs/ouroboros-miniprotocols-ts as a target of slotmark: see docs/targets.md for the contract.
import { createHash, Hash } from "node:crypto";
import { connect, Socket } from "node:net";
import { createInterface } from "node:readline";
import { crc32 } from "node:zlib";
import { blake2b } from "@noble/hashes/blake2b";
import { Cbor, CborArray, CborBytes, CborObj, CborTag, CborUInt } from "@harmoniclabs/cbor";
import {
  BlockFetchBlock, BlockFetchClient, BlockFetchNoBlocks, ChainPoint, ChainSyncClient, ChainSyncIntersectNotFound, ChainSyncRollForward,
  HandshakeAcceptVersion, HandshakeClient, Multiplexer,
} from "@harmoniclabs/ouroboros-miniprotocols-ts";

const VERSION = "0.0.4";
const MODES = { raw: 1, headers: 1, fetch: 1000 };

interface Job {
  socket?: string; address?: string; mode: keyof typeof MODES; magic: number; start: ChainPoint; blocks: number; depth: number; every: number;
  /** `follow`, not `run`: without blocks, depth and every. */
  tip: boolean;
}

/** The system's CLOCK_MONOTONIC: libuv reads it for `hrtime` on Linux. */
const nowNs = (): number => Number(process.hrtime.bigint());
const say = (record: object): void => { process.stdout.write(JSON.stringify(record) + "\n"); };

function usage(why: string): never {
  process.stderr.write(`slotmark-target-harmoniclabs: ${why}\nusage: describe | run (--socket PATH | --address HOST:PORT) --magic N --start POINT --blocks N --mode MODE --depth N --progress-every N | follow (--socket PATH | --address HOST:PORT) --magic N --start POINT --mode MODE\n`);
  process.exit(2);
}

function parse(words: string[], tip: boolean): Job {
  const given = new Map<string, string>();
  for (let at = 0; at < words.length; at += 2) {
    const [name, value] = [words[at]!, words[at + 1]];
    if (!name.startsWith("--") || value === undefined) usage(`'${name}' is not an option with a value`);
    given.set(name.slice(2), value);
  }
  const number = (name: string): number => {
    const value = Number(given.get(name));
    if (!Number.isSafeInteger(value) || value < (name === "magic" ? 0 : 1)) usage(`--${name}: expected a whole number`);
    return value;
  };
  const mode = given.get("mode") as keyof typeof MODES;
  if (!(mode in MODES)) usage(`--mode ${mode}: expected one of ${Object.keys(MODES).join(", ")}`);
  const [socket, address] = [given.get("socket"), given.get("address")];
  if (mode === "raw" ? !socket : !address) usage("raw goes with --socket, headers and fetch with --address");
  return { socket, address, mode, magic: number("magic"), start: point(given.get("start") ?? ""), blocks: tip ? 1 : number("blocks"), depth: tip ? 1 : number("depth"), every: tip ? Number.MAX_SAFE_INTEGER : number("progress-every"), tip };
}

function point(text: string): ChainPoint {
  if (text === "origin") return ChainPoint.origin;
  const [, slot, hash] = /^(\d+)\.([0-9a-f]{64})$/.exec(text) ?? usage(`--start ${text}: expected SLOT.HASH or origin`);
  return new ChainPoint({ blockHeader: { slotNumber: BigInt(slot!), hash: Buffer.from(hash!, "hex") } });
}

class Records {
  private readonly digest: Hash = createHash("sha256");
  private readonly held: object[] = [];
  private readonly record = Buffer.alloc(40);
  blocks = 0;
  bytes = 0;
  slot: number | null = null;
  hash: string | null = null;

  constructor(private readonly every: number) {}

  started(): void { this.held.push({ event: "started", at_ns: nowNs() }); }

  raw(block: Uint8Array): void {
    this.record.writeUInt32BE(block.length, 0);
    this.record.writeUInt32BE(crc32(block), 4);
    this.digest.update(this.record.subarray(0, 8));
    this.block(block.length);
  }

  header(slot: bigint, hash: Uint8Array, bytes: number): void {
    this.record.writeBigUInt64BE(slot, 0);
    this.record.set(hash, 8);
    this.digest.update(this.record);
    this.block(bytes);
  }

  last(slot: bigint, hash: Uint8Array): void { this.slot = Number(slot); this.hash = Buffer.from(hash).toString("hex"); }

  private block(bytes: number): void {
    if (this.blocks === 0) this.held.push({ event: "first", at_ns: nowNs() });
    this.blocks += 1;
    this.bytes += bytes;
    if (this.blocks % this.every === 0) {
      this.held.push({ event: "progress", blocks: this.blocks, bytes: this.bytes, at_ns: nowNs(), digest: this.digest.copy().digest("hex") });
    }
  }

  /** Prints a `block` record of the last block, with the time at which it was done with. */
  atTip(): void {
    const at_ns = nowNs();
    say({ event: "block", at_ns, slot: this.slot, hash: this.hash, digest: this.digest.copy().digest("hex") });
  }

  finish(): void {
    const at_ns = nowNs();
    this.held.push({ event: "done", blocks: this.blocks, bytes: this.bytes, at_ns, slot: this.slot, hash: this.hash, digest: this.digest.digest("hex") });
    for (const record of this.held) say(record);
  }
}

/**
 * Holds back a segment's header (8 bytes) until it is whole: the library's multiplexer drops what follows the last whole header of a
 * read where that is less than one, and then takes the bytes of a payload for headers.
 */
function withWholeHeaders(socket: Socket): Socket {
  let held: Uint8Array = new Uint8Array(0);
  let payloadLeft = 0;
  const whole = (chunk: Uint8Array): Uint8Array => {
    const bytes = held.length ? Buffer.concat([held, chunk]) : chunk;
    let at = Math.min(payloadLeft, bytes.length);
    payloadLeft -= at;
    while (payloadLeft === 0 && at + 8 <= bytes.length) {
      const length = bytes[at + 6]! << 8 | bytes[at + 7]!;
      const taken = Math.min(length, bytes.length - at - 8);
      payloadLeft = length - taken;
      at += 8 + taken;
    }
    held = bytes.slice(at);
    return bytes.subarray(0, at);
  };
  const on = socket.on.bind(socket) as (event: string, listener: (...given: unknown[]) => void) => Socket;
  socket.on = ((event: string, listener: (...given: unknown[]) => void) => {
    if (event !== "data") return on(event, listener);
    return on(event, (chunk) => {
      const bytes = whole(chunk as Uint8Array);
      if (bytes.length) listener(bytes);
    });
  }) as Socket["on"];
  return socket;
}

/** What tag 24 wraps. */
function wrapped(item: CborObj | undefined): Uint8Array {
  if (item instanceof CborTag && item.data instanceof CborBytes) return item.data.buffer;
  throw new Error("expected a byte string under tag 24");
}

/** Slot and hash of a header as node-to-node chain-sync gives it. */
function pointOf(bytes: Uint8Array): [bigint, Uint8Array] {
  const header = Cbor.parse(bytes);
  const body = header instanceof CborArray ? header.array[0] : undefined;
  const slot = body instanceof CborArray ? body.array[1] : undefined;
  if (!(slot instanceof CborUInt)) throw new Error("a header without a slot, or of Byron, which this target doesn't decode");
  return [slot.num, blake2b(bytes, { dkLen: 32 })];
}

async function next(client: ChainSyncClient, begun: boolean): Promise<CborObj> {
  for (;;) {
    const reply = await client.requestNext();
    if (reply instanceof ChainSyncRollForward) return reply.data;
    if (begun) throw new Error("a roll-backward in the middle of the chain");
  }
}

async function follow(job: Job, mplexer: Multiplexer, chainSync: ChainSyncClient, records: Records): Promise<void> {
  if (job.mode === "raw") {
    while (records.blocks < job.blocks) records.raw(wrapped(await next(chainSync, records.blocks > 0)));
    return;
  }
  const blockFetch = new BlockFetchClient(mplexer);
  let received = 0;
  let range: ChainPoint[] = [];
  while (received < job.blocks) {
    const data = await next(chainSync, received > 0);
    const bytes = wrapped(data instanceof CborArray ? data.array[1] : undefined);
    const [slot, hash] = pointOf(bytes);
    received += 1;
    records.last(slot, hash);
    if (job.mode === "headers") { records.header(slot, hash, bytes.length); continue; }
    range.push(new ChainPoint({ blockHeader: { slotNumber: slot, hash } }));
    if (range.length < job.depth && received < job.blocks) continue;
    const blocks = await blockFetch.requestRange(range[0]!, range[range.length - 1]!);
    if (blocks instanceof BlockFetchNoBlocks) throw new Error("the server has no blocks for its own headers");
    for (const block of blocks as BlockFetchBlock[]) records.raw(block.getBlockBytes());
    range = [];
  }
}

/** Follows a node at its tip for ever: a roll-backward is no block, and what follows it is. */
async function followTip(job: Job, mplexer: Multiplexer, chainSync: ChainSyncClient, records: Records): Promise<never> {
  const blockFetch = job.mode === "fetch" ? new BlockFetchClient(mplexer) : undefined;
  for (;;) {
    const reply = await chainSync.requestNext();
    if (!(reply instanceof ChainSyncRollForward)) continue;
    if (job.mode === "raw") {
      records.raw(wrapped(reply.data));
    } else {
      const bytes = wrapped(reply.data instanceof CborArray ? reply.data.array[1] : undefined);
      const [slot, hash] = pointOf(bytes);
      records.last(slot, hash);
      if (blockFetch === undefined) {
        records.header(slot, hash, bytes.length);
      } else {
        const point = new ChainPoint({ blockHeader: { slotNumber: slot, hash } });
        const blocks = await blockFetch.requestRange(point, point);
        if (blocks instanceof BlockFetchNoBlocks) throw new Error("the server has no block for its own header");
        for (const block of blocks as BlockFetchBlock[]) records.raw(block.getBlockBytes());
      }
    }
    records.atTip();
  }
}

async function run(job: Job): Promise<void> {
  const began = nowNs();
  const socket: Socket = job.socket !== undefined && job.mode === "raw"
    ? connect(job.socket)
    : connect(Number(job.address!.slice(job.address!.lastIndexOf(":") + 1)), job.address!.slice(0, job.address!.lastIndexOf(":")));
  await new Promise<void>((resolve, reject) => { socket.once("connect", resolve); socket.once("error", (error) => reject(new Error(`can't connect (${error.message})`))); });
  let over = false;
  const lost = new Promise<never>((_, reject) => {
    socket.on("error", (error) => reject(error));
    socket.on("close", () => { if (!over) reject(new Error("the server closed the connection")); });
  });
  lost.catch(() => undefined);
  const mplexer = new Multiplexer({ connect: () => withWholeHeaders(socket) as unknown as ReturnType<ConstructorParameters<typeof Multiplexer>[0]["connect"]>, protocolType: job.mode === "raw" ? "node-to-client" : "node-to-node" });
  mplexer.on("error", (error: Error) => socket.destroy(error));
  // Node-to-client version data is [magic, query]; the library puts its initiator-only flag where query belongs.
  const answer = await Promise.race([new HandshakeClient(mplexer).propose({ networkMagic: job.magic, initiatorOnlyDiffusionMode: job.mode !== "raw", peerSharing: false, query: false }), lost]);
  if (!(answer instanceof HandshakeAcceptVersion)) throw new Error("the server refused the handshake");
  const at_ns = nowNs();
  const number = Number(answer.versionNumber);
  say({ event: "ready", at_ns, connect_ns: at_ns - began, version: job.mode === "raw" ? number | 0x8000 : number });
  const lines = createInterface({ input: process.stdin });
  await new Promise<void>((resolve) => { lines.once("line", () => resolve()); });
  if (job.tip) lines.once("close", () => process.exit(0));

  const chainSync = new ChainSyncClient(mplexer);
  const found = await Promise.race([chainSync.findIntersect([job.start]), lost]);
  if (found instanceof ChainSyncIntersectNotFound) throw new Error("the intersection was not found");
  const records = new Records(job.every);
  if (job.tip) await Promise.race([followTip(job, mplexer, chainSync, records), lost]);
  records.started();
  await Promise.race([follow(job, mplexer, chainSync, records), lost]);
  over = true;
  records.finish();
  process.stdin.on("end", () => process.exit(0));
  process.stdin.resume();
  if (process.stdin.readableEnded) process.exit(0);
}

const [call, ...words] = process.argv.slice(2);
if (call === "describe") {
  say({ contract: 1, name: "harmoniclabs", version: VERSION, language: "TypeScript", toolchain: `Node ${process.version}`, modes: MODES, follow: Object.keys(MODES) });
} else if (call === "run" || call === "follow") {
  run(parse(words, call === "follow")).catch((error: Error) => {
    say({ event: "error", message: error.message.split(/\s+/).join(" ") });
    process.exit(1);
  });
} else {
  usage("expected describe, run or follow");
}
