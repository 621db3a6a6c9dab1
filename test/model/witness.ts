import { type Backend, prefixEnd } from "#storage";
import type { Change } from "./history.ts";

interface WitnessOptions {
  readonly backend: Backend;
  readonly prefix: string;
  /** Suffixes of the observed keys. */
  readonly names: readonly string[];
}

/** Watches the changes below a prefix directly in the store. */
export class Witness {
  readonly changes: Change[] = [];
  readonly #options: WitnessOptions;
  readonly #stop = new AbortController();
  #reading: Promise<void> = Promise.resolve();
  #position = 0;

  private constructor(options: WitnessOptions) {
    this.#options = options;
  }

  /** Resolves when it has listed the prefix and watches from that revision. */
  static async begin(options: WitnessOptions): Promise<Witness> {
    const { backend, prefix } = options;
    const witness = new Witness(options);
    const { entries, revision } = await backend.range({ from: prefix, to: prefixEnd(prefix) });
    for (const entry of entries) witness.#note(entry.key, entry.modRevision, entry.value);
    witness.changes.sort((a, b) => a.revision - b.revision);
    witness.#position = revision;
    witness.#reading = witness.#read(revision + 1);
    return witness;
  }

  /** All changes up to now. */
  async finish(): Promise<readonly Change[]> {
    const revision = await this.#options.backend.revision();
    while (this.#position < revision) await new Promise((resolve) => setTimeout(resolve, 20));
    await this.end();
    return this.changes;
  }

  /** Stops watching. */
  async end(): Promise<void> {
    this.#stop.abort();
    await this.#reading;
  }

  async #read(fromRevision: number): Promise<void> {
    const { backend, prefix } = this.#options;
    for await (const batch of backend.watch({ fromRevision, signal: this.#stop.signal })) {
      for (const event of batch.events) {
        const key = event.type === "delete" ? event.key : event.entry.key;
        if (!key.startsWith(prefix)) continue;
        if (event.type === "delete") this.#note(key, event.revision, undefined);
        else this.#note(key, event.entry.modRevision, event.entry.value);
      }
      this.#position = Math.max(this.#position, batch.revision);
    }
  }

  #note(path: string, revision: number, bytes: Uint8Array | undefined): void {
    const key = path.slice(this.#options.prefix.length);
    if (!this.#options.names.includes(key)) return;
    this.changes.push({ revision, key, value: bytes && valueOf(bytes) });
  }
}

function valueOf(bytes: Uint8Array): string {
  return JSON.parse(Buffer.from(bytes).toString()).data?.value ?? "";
}
