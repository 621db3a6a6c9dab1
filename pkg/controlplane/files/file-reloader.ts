import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import type { Clock } from "#base";
import type { ReloadedConfiguration, ReloadMetrics } from "./reload-metrics.ts";

/** A text, or a file that is reloaded when it changes. */
export type TextSource = string | { readonly file: string };

/** A file that cannot be read or used; the message names it. */
export class FileError extends Error {
  override readonly name = "FileError";
}

/**
 * Runs `use`, which reads the value of a flag.
 * @throws FileError that names the flag
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
  /** Reports files that can no longer be read or applied. */
  readonly report: (what: string, error: unknown) => void;
  readonly metrics: ReloadMetrics;
}

interface ReloadedSources {
  readonly sources: readonly TextSource[];
  readonly apply: (...texts: readonly string[]) => void | Promise<void>;
  texts: readonly string[];
  /** Configuration whose reloads are counted; undefined = another file. */
  readonly configuration: ReloadedConfiguration | undefined;
}

/**
 * Polling interval in ms. inotify would miss mounted files, which are replaced by renaming a
 * symlink.
 */
const betweenLooksMs = 2_000;

/** Reloads configuration files when they change. */
export class FileReloader {
  private readonly followed: ReloadedSources[] = [];

  constructor(private readonly options: FileReloaderOptions) {}

  /**
   * Applies the texts now, and all of them again when one changes. A later failure is reported and
   * keeps the previous configuration, because the files of a pair change one after the other.
   * `configuration` names a file whose reloads have metrics.
   * Returns what `apply` does.
   * @throws FileError, or what `apply` throws if there are no files
   */
  use<T extends void | Promise<void>>(
    sources: readonly TextSource[],
    apply: (...texts: readonly string[]) => T,
    configuration?: ReloadedConfiguration,
  ): T {
    const names = filesOf(sources);
    const read = (source: TextSource) =>
      typeof source === "string" ? source : readFileSync(source.file, "utf8");
    try {
      const texts = sources.map(read);
      const applied = apply(...texts);
      if (names.length > 0) {
        this.followed.push({ sources, apply, texts, configuration });
        if (configuration !== undefined) this.options.metrics.applied(configuration, texts.join());
      }
      return applied;
    } catch (error) {
      if (names.length === 0) throw error;
      throw new FileError(`${names.join(", ")}: ${(error as Error).message}`, { cause: error });
    }
  }

  /** Polls for changes until the signal aborts. */
  async follow(signal: AbortSignal): Promise<void> {
    const { clock } = this.options;
    while (this.followed.length > 0 && !signal.aborted) {
      await clock.sleep(betweenLooksMs, signal, { background: true }).catch(() => undefined);
      if (!signal.aborted) await this.look();
    }
  }

  private count({ configuration, texts }: ReloadedSources, status: "success" | "failure"): void {
    const { metrics, clock } = this.options;
    if (configuration === undefined) return;
    metrics.reloaded(configuration, status, clock.now());
    if (status === "success") metrics.applied(configuration, texts.join());
  }

  private async look(): Promise<void> {
    for (const followed of this.followed) {
      try {
        const texts = await Promise.all(followed.sources.map(textOf));
        if (texts.every((text, index) => text === followed.texts[index])) continue;
        followed.texts = texts;
        await followed.apply(...texts);
        this.count(followed, "success");
      } catch (error) {
        this.count(followed, "failure");
        this.options.report(`Failed to reload ${filesOf(followed.sources).join(", ")}`, error);
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
