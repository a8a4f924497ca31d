/**
 * What a disk holds after a power cut: a folder's files, followed call by call, with what was not synced left out.
 *
 * Owns: the model of a file system, making the folder that a cut leaves. Does not own: reading calls (calls.ts).
 *
 * The model is that of a journaling file system with delayed allocation (ext4, XFS), at its worst:
 * - a file's bytes are there as they were when its last sync that has returned was entered, or as `O_SYNC` wrote them;
 * - names (created, renamed, removed) are there as they were at the last sync of whatever file or folder; a file that has a name and
 *   was never synced is empty;
 * - everything later is gone.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Call } from "./calls.ts";
import { dataOf } from "./calls.ts";

interface Inode {
  live: Buffer;
  synced: Buffer;
}

interface OpenFile {
  readonly path: string;
  /** Null: a folder. */
  readonly inode: Inode | null;
  readonly isSync: boolean;
  readonly isAppend: boolean;
  offset: number;
}

/** Of one folder, from when it was empty on. */
export class FollowedDisk {
  readonly #root: string;
  readonly #files = new Map<number, OpenFile>();
  readonly #folders = new Set<string>();
  readonly #names = new Map<string, Inode>();
  #syncedFolders: ReadonlySet<string> = new Set();
  #syncedNames: ReadonlyMap<string, Inode> = new Map();

  private constructor(root: string) {
    this.#root = root;
  }

  /** As the calls left it that had returned before that line of the trace. */
  static at(calls: readonly Call[], root: string, line: number): FollowedDisk {
    const disk = new FollowedDisk(root);
    const steps = calls.flatMap((call) => {
      if (call.result < 0 || call.returned === null || call.returned >= line) return [];
      // A sync promises what was written before it was entered; every other call is done when it has returned.
      const isSync = call.name === "fsync" || call.name === "fdatasync";
      return [{ at: isSync ? call.entered : call.returned, call }];
    });
    for (const { call } of steps.sort((one, other) => one.at - other.at)) disk.#step(call);
    return disk;
  }

  /** All bytes of files that a cut leaves. */
  synced(): Buffer {
    return Buffer.concat([...this.#syncedNames.values()].map(({ synced }) => synced));
  }

  /** All bytes that the programs see. */
  live(): Buffer {
    return Buffer.concat([...this.#names.values()].map(({ live }) => live));
  }

  /** Writes what a cut leaves into another folder. */
  restore(folder: string): void {
    const placed = (path: string) => join(folder, path.slice(this.#root.length));
    mkdirSync(folder, { recursive: true });
    for (const path of this.#syncedFolders) mkdirSync(placed(path), { recursive: true });
    for (const [path, { synced }] of this.#syncedNames) {
      mkdirSync(dirname(placed(path)), { recursive: true });
      writeFileSync(placed(path), synced);
    }
  }

  #step(call: Call): void {
    switch (call.name) {
      case "openat":
        return this.#open(call);
      case "close":
        this.#files.delete(numberIn(call));
        return;
      case "write":
      case "writev":
        return this.#write(call, null);
      case "pwrite64":
        return this.#write(call, lastNumberIn(call));
      case "ftruncate":
        return this.#resize(call);
      case "fsync":
      case "fdatasync":
        return this.#sync(call);
      case "mkdirat":
        this.#folders.add(this.#pathIn(call, 0));
        return;
      case "renameat":
        return this.#rename(this.#pathIn(call, 0), this.#pathIn(call, 1));
      case "unlinkat": {
        const path = this.#pathIn(call, 0);
        this.#names.delete(path);
        this.#folders.delete(path);
        return;
      }
      default:
        // A call that this model does not know must not pass for one that changes nothing.
        throw new Error(`${call.name} at line ${call.entered} of the trace is not followed`);
    }
  }

  #open(call: Call): void {
    const path = this.#pathIn(call, 0);
    if (!path.startsWith(`${this.#root}/`) && path !== this.#root) return;
    const has = (flag: string) => call.text.includes(flag);
    let inode = this.#names.get(path) ?? null;
    if (inode === null && has("O_CREAT")) {
      inode = { live: Buffer.alloc(0), synced: Buffer.alloc(0) };
      this.#names.set(path, inode);
    }
    if (inode !== null && has("O_TRUNC")) inode.live = Buffer.alloc(0);
    const isSync = has("O_SYNC") || has("O_DSYNC");
    this.#files.set(call.result, { path, inode, isSync, isAppend: has("O_APPEND"), offset: 0 });
  }

  #write(call: Call, at: number | null): void {
    const file = this.#files.get(numberIn(call));
    if (file === undefined || file.inode === null) return; // A socket, or a file elsewhere.
    const { inode } = file;
    const data = dataOf(call).subarray(0, call.result);
    const offset = at ?? (file.isAppend ? inode.live.length : file.offset);
    const end = offset + data.length;
    if (at === null) file.offset = end;
    const next = Buffer.alloc(Math.max(inode.live.length, end));
    inode.live.copy(next);
    data.copy(next, offset);
    inode.live = next;
    if (file.isSync) this.#keep(inode);
  }

  #resize(call: Call): void {
    const inode = this.#files.get(numberIn(call))?.inode ?? null;
    if (inode === null) return;
    const next = Buffer.alloc(lastNumberIn(call));
    inode.live.copy(next);
    inode.live = next;
  }

  #sync(call: Call): void {
    const file = this.#files.get(numberIn(call));
    if (file === undefined) return;
    this.#keep(file.inode);
  }

  #keep(inode: Inode | null): void {
    if (inode !== null) inode.synced = inode.live;
    this.#syncedNames = new Map(this.#names);
    this.#syncedFolders = new Set(this.#folders);
  }

  #rename(from: string, to: string): void {
    for (const [path, inode] of [...this.#names]) {
      if (path !== from && !path.startsWith(`${from}/`)) continue;
      this.#names.delete(path);
      this.#names.set(to + path.slice(from.length), inode);
    }
    for (const path of [...this.#folders]) {
      if (path !== from && !path.startsWith(`${from}/`)) continue;
      this.#folders.delete(path);
      this.#folders.add(to + path.slice(from.length));
    }
  }

  /** The path of a call's n-th string: absolute, or below a folder that is open. */
  #pathIn({ text, strings }: Call, index: number): string {
    const path = strings[index]?.toString("utf8") ?? "";
    if (path.startsWith("/")) return path;
    const below = text.split('""')[index]?.match(/(\d+), $/)?.[1];
    return join(this.#files.get(Number(below))?.path ?? "/elsewhere", path);
  }
}

const numberIn = ({ text }: Call): number => Number.parseInt(text, 10);

const lastNumberIn = ({ text }: Call): number => Number(text.slice(text.lastIndexOf(",") + 1));

/** An acknowledgement on its way to a client. */
export interface SentAck {
  /** Line of the trace at which sending began. */
  readonly line: number;
  readonly sequence: number;
}

const ACK = /"stream":"HF_[^"]*_EVT_[^"]*",\s*"seq":(\d+)/g;

/** Every acknowledgement of a partition's stream that was sent, in order. */
export function sentAcks(calls: readonly Call[]): readonly SentAck[] {
  return calls.flatMap((call) => {
    if (call.name !== "write" && call.name !== "writev") return [];
    const text = dataOf(call).toString("latin1");
    return [...text.matchAll(ACK)].map(([, sequence]) => ({
      line: call.entered,
      sequence: Number(sequence),
    }));
  });
}
