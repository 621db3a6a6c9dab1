import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { type RunningServer, type StartOptions, startServer } from "../../../cmd/keelson/index.ts";

/** A step that a server does not answer as recorded. */
export interface Difference {
  readonly file: string;
  readonly step: string;
  readonly diffs: readonly string[];
}

/** Files for one client, where they do not sleep. */
const BATCH = 6;

interface ReplayServers {
  readonly servers: number;
  readonly settings: Pick<StartOptions, "runtimeConfig" | "featureGates">;
  /** Gives the server that is asked, from one that has just started. */
  readonly prepare?: (server: RunningServer) => Promise<RunningServer>;
}

/** Servers with equal settings and nothing in common, and the files that they are asked. */
export class ReplayPool {
  private readonly outcomes = new Map<string, PromiseWithResolvers>();
  private servers: readonly Promise<RunningServer>[] = [];
  private lanes: readonly Promise<void>[] = [];

  constructor(
    private readonly folder: string,
    readonly files: readonly string[],
    private readonly of: ReplayServers,
  ) {
    for (const file of files) this.outcomes.set(file, withResolvers());
  }

  start(): void {
    const tokens = readFileSync(path.join(this.folder, "tokens.csv"), "utf8");
    const common = { port: 0, controllers: false, bootstrapTokens: true, tokens } as const;
    const authorization = ["Node", "RBAC"] as const;
    const jobs = this.jobs();
    const { settings, prepare = (server) => Promise.resolve(server) } = this.of;
    const start = async () => prepare(await startServer({ ...common, authorization, ...settings }));
    this.servers = Array.from({ length: this.of.servers }, start);
    this.lanes = this.servers.map((server) => this.lane(server, jobs));
  }

  outcome(file: string): Promise<readonly Difference[]> {
    return this.outcomes.get(file)!.promise;
  }

  async again(file: string): Promise<readonly Difference[]> {
    const [server] = this.servers;
    return this.replay((await server!).url, [file]);
  }

  async close(): Promise<void> {
    await Promise.all(this.lanes);
    await Promise.all(this.servers.map(async (server) => (await server).close()));
  }

  /** Takes one job after the other. */
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

  /** Those that sleep first, the longest before all, each on its own; the others in batches. */
  private jobs(): string[][] {
    const { files } = this;
    const sleeps = new Map(files.map((file) => [file, this.sleepOf(file)]));
    const sleep = (file: string) => sleeps.get(file) ?? 0;
    const sleepers = files.filter((file) => sleep(file) > 0);
    const others = files.filter((file) => sleep(file) === 0);
    const jobs = sleepers.sort((a, b) => sleep(b) - sleep(a)).map((file) => [file]);
    for (let at = 0; at < others.length; at += BATCH) jobs.push(others.slice(at, at + BATCH));
    return jobs;
  }

  /** Milliseconds. */
  private sleepOf(file: string): number {
    const { steps } = JSON.parse(readFileSync(path.join(this.folder, file), "utf8"));
    return steps.reduce((sum: number, { sleepMs = 0 }) => sum + sleepMs, 0);
  }

  private replay(url: string, files: readonly string[]): Promise<readonly Difference[]> {
    const paths = files.map((file) => path.join(this.folder, file));
    const words = [path.join(this.folder, "replay.mjs"), "check", url, ...paths, "--json"];
    const options = { maxBuffer: 1 << 28, timeout: 110_000 };
    return new Promise((resolve, reject) => {
      execFile(process.execPath, words, options, (error, stdout, stderr) => {
        if (stdout.trim() === "") return reject(error ?? new Error(stderr));
        const { report }: { readonly report: readonly Difference[] } = JSON.parse(stdout);
        resolve(report.map((each) => ({ ...each, file: path.basename(each.file) })));
      });
    });
  }
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
