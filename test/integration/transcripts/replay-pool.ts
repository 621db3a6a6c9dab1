import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import {
  type RunningServer,
  type StartOptions,
  startServer,
} from "../../../pkg/controlplane/index.ts";

/** A step whose response differs from the recorded one. */
export interface Difference {
  readonly file: string;
  readonly step: string;
  readonly diffs: readonly string[];
}

/** Stories that one process of the player replays, if they do not sleep. */
const batchSize = 6;

export interface PoolOptions {
  readonly servers: number;
  readonly settings: Partial<StartOptions>;
  /** Returns the server to use, from one that has just started. */
  readonly prepare?: (server: RunningServer) => Promise<RunningServer>;
}

/** Folders of the recordings and their player; `stories` may have rewritten copies of files of `folder`. */
export interface Recordings {
  readonly folder: string;
  readonly stories: string;
}

/** Servers with equal options and separate stores, which replay recordings. */
export class ReplayPool {
  private readonly outcomes = new Map<string, PromiseWithResolvers>();
  private servers: readonly Promise<RunningServer>[] = [];
  private lanes: readonly Promise<void>[] = [];

  constructor(
    private readonly recordings: Recordings,
    readonly files: readonly string[],
    private readonly options: PoolOptions,
  ) {
    for (const file of files) this.outcomes.set(file, withResolvers());
  }

  start(): void {
    const jobs = this.jobs();
    const servers = Math.min(this.options.servers, jobs.length);
    this.servers = Array.from({ length: servers }, () => this.startServer());
    this.lanes = this.servers.map((server) => this.lane(server, jobs));
  }

  outcome(file: string): Promise<readonly Difference[]> {
    return this.outcomes.get(file)!.promise;
  }

  /** Replays one recording on a new server. */
  async again(file: string): Promise<readonly Difference[]> {
    const server = await this.startServer();
    try {
      return await this.replay(server.url, [file]);
    } finally {
      await server.close();
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.lanes);
    await Promise.all(this.servers.map(async (server) => (await server).close()));
  }

  private async startServer(): Promise<RunningServer> {
    const tokens = readFileSync(path.join(this.recordings.folder, "tokens.csv"), "utf8");
    const server = await startServer({
      port: 0,
      controllers: false,
      bootstrapTokens: true,
      tokens,
      authorization: ["Node", "RBAC"],
      ...this.options.settings,
    });
    return this.options.prepare?.(server) ?? server;
  }

  /** Runs jobs on one server until none are left. */
  private async lane(server: Promise<RunningServer>, jobs: string[][]): Promise<void> {
    for (let job = jobs.shift(); job !== undefined; job = jobs.shift()) {
      const outcomes = job.map((file) => this.outcomes.get(file)!);
      try {
        const differences = await this.replay((await server).url, job);
        for (const [index, file] of job.entries()) {
          outcomes[index]!.resolve(differences.filter((each) => each.file === file));
        }
      } catch (error) {
        for (const outcome of outcomes) outcome.reject(error);
      }
    }
  }

  /** Stories that sleep come first, longest sleep first, one per job; the others in batches. */
  private jobs(): string[][] {
    const { files } = this;
    const sleeps = new Map(files.map((file) => [file, this.sleepOf(file)]));
    const sleep = (file: string) => sleeps.get(file) ?? 0;
    const sleepers = files.filter((file) => sleep(file) > 0);
    const others = files.filter((file) => sleep(file) === 0);
    const jobs = sleepers.sort((a, b) => sleep(b) - sleep(a)).map((file) => [file]);
    for (let at = 0; at < others.length; at += batchSize)
      jobs.push(others.slice(at, at + batchSize));
    return jobs;
  }

  /** Milliseconds. */
  private sleepOf(file: string): number {
    const { steps } = JSON.parse(readFileSync(path.join(this.recordings.stories, file), "utf8"));
    return steps.reduce((sum: number, { sleepMs = 0 }) => sum + sleepMs, 0);
  }

  private replay(url: string, files: readonly string[]): Promise<readonly Difference[]> {
    const { folder, stories } = this.recordings;
    const paths = files.map((file) => path.join(stories, file));
    const words = [path.join(folder, "replay.mjs"), "check", url, ...paths, "--json"];
    const options = { maxBuffer: 1 << 28, timeout: 170_000 };
    return new Promise((resolve, reject) => {
      execFile(process.execPath, words, options, (error, stdout, stderr) => {
        if (stdout.trim() === "") return reject(error ?? new Error(stderr));
        const { report }: { readonly report: readonly Difference[] } = JSON.parse(stdout);
        resolve(report.map(withoutIgnored).filter(({ diffs }) => diffs.length > 0));
      });
    });
  }
}

/** Ages in table cells depend on how long the replay takes. */
const isAge = (diff: string): boolean => /: want "\d+s", got "\d+s"$/.test(diff);

/** The player reports an ignored member that the recording does not have. */
function withoutIgnored({ file, step, diffs }: Difference): Difference {
  const reported = diffs.filter((diff) => !diff.endsWith(': extra "<ignored>"') && !isAge(diff));
  return { file: path.basename(file), step, diffs: reported };
}

interface PromiseWithResolvers {
  readonly promise: Promise<readonly Difference[]>;
  readonly resolve: (found: readonly Difference[]) => void;
  readonly reject: (error: unknown) => void;
}

function withResolvers(): PromiseWithResolvers {
  let resolve: PromiseWithResolvers["resolve"] = () => undefined;
  let reject: PromiseWithResolvers["reject"] = () => undefined;
  const promise = new Promise<readonly Difference[]>((...both) => ([resolve, reject] = both));
  promise.catch(() => undefined);
  return { promise, resolve, reject };
}
