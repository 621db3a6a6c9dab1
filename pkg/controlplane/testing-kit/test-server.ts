import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { type Clock, systemClock, VirtualClock, type VirtualClockOptions } from "#base";
import type { RequestInterceptor } from "#server";
import type { ClientWrapper, RunningServer, ServerSnapshot, StartOptions } from "../options.ts";
import { startServer } from "../start/start-server.ts";
import { type Faults, faultStage, type FaultStage } from "./faults.ts";
import type { Fixture, KubernetesObject } from "./fixtures.ts";
import { InterceptedClient } from "./intercepted-client.ts";
import { ObjectClient, type ObjectReference, type WaitOptions } from "./objects.ts";
import { type RecordingLog, requestLog, type RequestLog } from "./request-log.ts";
import type { WaitCondition } from "./wait-condition.ts";

/** Options of `startServer`, with a store in memory. */
export interface TestServerOptions extends Omit<
  StartOptions,
  "storage" | "interceptor" | "wrapClient" | "clock"
> {
  /** The cluster's time is virtual: tests advance it by `clock.advance()`; default false. */
  readonly virtualTime?: boolean | VirtualClockOptions;
  /**
   * Also record requests of controllers, scheduler and simulated nodes in the server, and inject
   * faults into them; default false. Their `userAgent`: `kube-controller-manager`,
   * `kube-scheduler`, `kubelet`.
   */
  readonly interceptControllers?: boolean;
}

/** State of a test server at one moment. */
export interface TestSnapshot {
  /** Time by the cluster's clock in ms since 1970. */
  readonly now: number;
  readonly content: ServerSnapshot;
}

/** An API server for tests, which injects faults and records requests. */
export interface TestServer extends Pick<
  RunningServer,
  "url" | "kubeconfig" | "token" | "fetch" | "close"
> {
  /**
   * The cluster's virtual clock, which `reset` and `restore` replace.
   * @throws Error if the server uses real time
   */
  readonly clock: VirtualClock;
  readonly requests: RequestLog;
  readonly faults: Faults;
  /** Applies objects by server-side apply, in order; waits until definitions are established. */
  apply(...fixtures: readonly Fixture[]): Promise<readonly KubernetesObject[]>;
  /**
   * Watches the object, which need not exist yet, until the condition holds. Resolves with the
   * object, or undefined if it does not exist.
   * @throws Error that shows the object after `timeoutMs`
   */
  waitFor(
    object: ObjectReference,
    condition: WaitCondition,
    options?: WaitOptions,
  ): Promise<KubernetesObject | undefined>;
  /** Starts an isolated server with a copy of the state: store, credentials, time. */
  fork(): Promise<TestServer>;
  snapshot(): TestSnapshot;
  /**
   * Replaces the state, and clears faults and recorded requests. URL and credentials do not change;
   * open connections and watches are closed.
   */
  restore(snapshot: TestSnapshot): Promise<void>;
  /** Restores the state that the server started with. */
  reset(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Header of the kit's own requests, which are not recorded and do not fail. */
const kitHeader = "keelson-testing";

/** Starts a server for tests; see `TestServerOptions`. */
export async function testServer(options: TestServerOptions = {}): Promise<TestServer> {
  const { virtualTime = false, interceptControllers = false, ...rest } = options;
  const isVirtual = virtualTime !== false;
  const clock = isVirtual ? new VirtualClock(virtualTime === true ? {} : virtualTime) : systemClock;
  const credentials = await SharedDirectory.for(rest);
  const given = { ...rest, ...credentials.options };
  return KitServer.start({ credentials, isVirtual, interceptControllers }, clock, (kit) =>
    startServer({ ...given, ...kit }),
  );
}

/** State that a server and its forks share. */
interface Family {
  readonly credentials: SharedDirectory;
  readonly isVirtual: boolean;
  readonly interceptControllers: boolean;
}

type KitOptions = Pick<StartOptions, "clock" | "interceptor" | "wrapClient">;

class KitServer implements TestServer {
  readonly requests: RecordingLog = requestLog(() => this.time);
  readonly faults: FaultStage = faultStage(() => this.time);
  private readonly secret = randomUUID();
  private readonly life = new AbortController();
  private objects = this.newObjectClient();
  private running!: RunningServer;
  private initial!: TestSnapshot;
  private isClosed = false;
  /** Resolves when no restore is in progress. */
  private restoring: Promise<void> = Promise.resolve();

  private constructor(
    private readonly family: Family,
    private time: Clock,
  ) {}

  static async start(
    family: Family,
    clock: Clock,
    start: (kit: KitOptions) => Promise<RunningServer>,
  ): Promise<KitServer> {
    const kit = new KitServer(family, clock);
    family.credentials.acquire();
    try {
      kit.running = await start(kit.options);
    } catch (error) {
      await family.credentials.release();
      throw error;
    }
    kit.initial = kit.snapshot();
    return kit;
  }

  get url(): string {
    return this.running.url;
  }

  get kubeconfig(): string {
    return this.running.kubeconfig;
  }

  get token(): string {
    return this.running.token;
  }

  get clock(): VirtualClock {
    if (this.time instanceof VirtualClock) return this.time;
    throw new Error("the server uses real time; start it with { virtualTime: true }");
  }

  fetch = (path: string, init?: RequestInit): Promise<Response> => this.running.fetch(path, init);

  apply(...fixtures: readonly Fixture[]): Promise<readonly KubernetesObject[]> {
    return this.objects.apply(fixtures);
  }

  waitFor(
    object: ObjectReference,
    condition: WaitCondition,
    options?: WaitOptions,
  ): Promise<KubernetesObject | undefined> {
    return this.objects.waitFor(object, condition, options);
  }

  fork(): Promise<TestServer> {
    const { now, content } = this.snapshot();
    const port = this.url === "" ? {} : { port: 0 };
    return KitServer.start(this.family, this.clockAt(now), (kit) =>
      content.start({ ...port, ...kit }),
    );
  }

  snapshot(): TestSnapshot {
    return { now: this.time.now(), content: this.running.snapshot() };
  }

  restore(snapshot: TestSnapshot): Promise<void> {
    // Sequential, because the servers listen on the same port.
    const restoring = this.restoring.then(() => this.restoreNow(snapshot));
    this.restoring = restoring.catch(() => undefined);
    return restoring;
  }

  reset(): Promise<void> {
    return this.restore(this.initial);
  }

  async close(options?: Parameters<RunningServer["close"]>[0]): Promise<void> {
    if (this.isClosed) return;
    this.isClosed = true;
    this.life.abort();
    await this.restoring;
    await this.running.close(options);
    await this.family.credentials.release();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Options that connect a server to this kit; a snapshot has those of the kit that created it. */
  private get options(): KitOptions {
    const { interceptor, time: clock } = this;
    if (!this.family.interceptControllers) return { clock, interceptor };
    const wrapClient: ClientWrapper = (client, identity) =>
      new InterceptedClient(client, identity, interceptor);
    return { clock, interceptor, wrapClient };
  }

  private async restoreNow({ now, content }: TestSnapshot): Promise<void> {
    if (this.isClosed) throw new Error("the server is closed");
    const port = this.url === "" ? {} : { port: Number(new URL(this.url).port) };
    await this.running.close({ graceMs: 0 });
    this.requests.clear();
    this.faults.clear();
    this.time = this.clockAt(now);
    this.objects = this.newObjectClient();
    this.running = await content.start({ ...port, ...this.options });
  }

  private clockAt(start: number): Clock {
    return this.family.isVirtual ? new VirtualClock({ start }) : systemClock;
  }

  private newObjectClient(): ObjectClient {
    const { signal } = this.life;
    const fetch = (path: string, init: RequestInit = {}) => {
      const headers = new Headers(init.headers);
      headers.set(kitHeader, this.secret);
      return this.running.fetch(path, { ...init, headers });
    };
    return new ObjectClient({ fetch, signal });
  }

  private readonly interceptor: RequestInterceptor = {
    intercept: async (request, proceed) => {
      if (request.header(kitHeader) === this.secret) return proceed();
      const entry = this.requests.record(request);
      const { isResource, verb } = request.info;
      const fault = isResource ? this.faults.take(entry.described) : undefined;
      try {
        if (fault !== undefined) {
          entry.faulted(String(fault.fail));
          await this.faults.apply(fault, request);
        }
        const isWatch = isResource && verb === "watch";
        await proceed(isWatch ? this.faults.watch(entry.described, request.signal) : undefined);
        entry.answered(request.status());
      } catch (error) {
        entry.answered(statusOf(error) ?? request.status());
        throw error;
      }
    },
  };
}

function statusOf(error: unknown): number | undefined {
  const { code } = error as { readonly code?: unknown };
  return typeof code === "number" ? code : undefined;
}

/**
 * Certificate directory that a server and its forks share; removed when the last of them closes.
 */
class SharedDirectory {
  private users = 0;

  private constructor(
    /** Undefined = the user's directory, or no certificates. */
    private readonly directory: string | undefined,
  ) {}

  static async for({ port, certificateDirectory }: StartOptions): Promise<SharedDirectory> {
    if (port === undefined || certificateDirectory !== undefined) {
      return new SharedDirectory(undefined);
    }
    return new SharedDirectory(await mkdtemp(path.join(tmpdir(), "keelson-testing-")));
  }

  get options(): Pick<StartOptions, "certificateDirectory"> {
    return this.directory === undefined ? {} : { certificateDirectory: this.directory };
  }

  acquire(): void {
    this.users++;
  }

  async release(): Promise<void> {
    this.users--;
    if (this.users > 0 || this.directory === undefined) return;
    await rm(this.directory, { recursive: true, force: true });
  }
}
