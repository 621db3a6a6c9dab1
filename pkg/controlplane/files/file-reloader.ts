import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import type { Clock } from "#base";

/** A text, or the file that holds it, whose changes are taken over while the server runs. */
export type TextSource = string | { readonly file: string };

/** A file that cannot be used, in one sentence that names it. */
export class FileError extends Error {
  override readonly name = "FileFault";
}

/**
 * What `use` makes of the text that a flag gave.
 * @throws FileFault that names the flag
 */
export function fromFlag<T>(name: string, use: () => T): T {
  try {
    return use();
  } catch (error) {
    throw new FileError(`--${name}: ${(error as Error).message}`, { cause: error });
  }
}

export interface FileReloaderOptions {
  readonly clock: Clock;
  /** Told of files that cannot be read any more, and of texts that cannot be used. */
  readonly report: (what: string, error: unknown) => void;
}

interface ReloadedSources {
  readonly sources: readonly TextSource[];
  readonly apply: (...texts: readonly string[]) => void | Promise<void>;
  texts: readonly string[];
}

/** Files are asked rather than watched: mounted ones are replaced by turning a link elsewhere. */
const betweenLooksMs = 2_000;

/** Configuration that may change while the server runs. */
export class FileReloader {
  private readonly followed: ReloadedSources[] = [];

  constructor(private readonly options: FileReloaderOptions) {}

  /**
   * Uses the texts now, and again whenever one of them has changed. What fails later leaves in
   * force what was; a pair of files may change one after the other. Answers what `apply` does.
   * @throws FileFault, or what `apply` throws if there are no files
   */
  use<T extends void | Promise<void>>(
    sources: readonly TextSource[],
    apply: (...texts: readonly string[]) => T,
  ): T {
    const names = filesOf(sources);
    const read = (source: TextSource) =>
      typeof source === "string" ? source : readFileSync(source.file, "utf8");
    try {
      const texts = sources.map(read);
      const applied = apply(...texts);
      if (names.length > 0) this.followed.push({ sources, apply, texts });
      return applied;
    } catch (error) {
      if (names.length === 0) throw error;
      throw new FileError(`${names.join(", ")}: ${(error as Error).message}`, { cause: error });
    }
  }

  /** Takes changes over until the signal aborts. */
  async follow(signal: AbortSignal): Promise<void> {
    const { clock } = this.options;
    while (this.followed.length > 0 && !signal.aborted) {
      await clock.sleep(betweenLooksMs, signal, { background: true }).catch(() => undefined);
      if (!signal.aborted) await this.look();
    }
  }

  private async look(): Promise<void> {
    for (const followed of this.followed) {
      try {
        const texts = await Promise.all(followed.sources.map(textOf));
        if (texts.every((text, index) => text === followed.texts[index])) continue;
        followed.texts = texts;
        await followed.apply(...texts);
      } catch (error) {
        this.options.report(`reload of ${filesOf(followed.sources).join(", ")}`, error);
      }
    }
  }
}

function filesOf(sources: readonly TextSource[]): readonly string[] {
  return sources.flatMap((source) => (typeof source === "string" ? [] : source.file));
}

async function textOf(source: TextSource): Promise<string> {
  return typeof source === "string" ? source : readFile(source.file, "utf8");
}
