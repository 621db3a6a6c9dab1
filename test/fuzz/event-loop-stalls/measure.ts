/** Sends bodies to an idle server of its own, and measures how long others had to wait meanwhile. */
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { Agent, request } from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import { type BodyClass, wideVersion } from "./build-body.ts";

export interface Stall {
  readonly status: number;
  /** The beginning of the response. */
  readonly text: string;
  /** Longest stall of the server's event loop, ms. */
  readonly stallMs: number;
  /** CPU time of the longest turn of the loop, ms; 0 on other systems than Linux. */
  readonly turnMs: number;
  /** Wall time of garbage collection within that turn, ms. */
  readonly gcMs: number;
  /** Longest response time of `/readyz` while the body was at work, ms. */
  readonly readyMs: number;
  /** CPU time of the server's process, all its threads, ms. */
  readonly cpuMs: number;
  readonly rssMb: number;
}

interface Address {
  readonly url: string;
  readonly token: string;
  /** What `wideVersion` stands for. */
  readonly version?: string;
  /** CPU time of the longest turn of the start, ms. */
  readonly startTurnMs: number;
}

interface Call {
  readonly method?: string | undefined;
  readonly type?: string;
  readonly body?: Buffer;
  readonly accept?: string | undefined;
  readonly user?: string | undefined;
}

/** `KEELSON_NODE_FLAGS`: more flags of Node for the server, such as `--cpu-prof`. */
function serverFlags(): readonly string[] {
  return process.env.KEELSON_NODE_FLAGS?.split(" ") ?? [];
}

/** A server in a process of its own, so that the client's work does not count. */
export class MeasuredServer {
  private readonly probes = new Agent({ keepAlive: true, maxSockets: 1 });
  private readonly agent = new Agent({ keepAlive: true });

  private constructor(
    private readonly child: ChildProcess,
    private readonly address: Address,
  ) {}

  /** Starts the sources, or the package that was built from them. */
  static async start(
    keelson = "../../../cmd/keelson/index.ts",
    scene = "bodies",
  ): Promise<MeasuredServer> {
    const execArgv = ["--conditions=source", "--import=tsx", ...serverFlags()];
    const child = fork(new URL("server.ts", import.meta.url), [keelson, scene], { execArgv });
    const ended = once(child, "exit").then(() => Promise.reject(new Error("the server ended")));
    const [address] = (await Promise.race([once(child, "message"), ended])) as [Address];
    ended.catch(() => undefined);
    return new MeasuredServer(child, address);
  }

  async close(): Promise<void> {
    this.probes.destroy();
    this.agent.destroy();
    this.child.disconnect();
    if (this.child.exitCode === null) await once(this.child, "exit");
  }

  get startTurnMs(): number {
    return this.address.startTurnMs;
  }

  /** Sends a request; `round` numbers the requests of a class. */
  async send(
    { method = "POST", path, type, body: template, accept, user, before }: BodyClass,
    round = 0,
  ): Promise<Stall> {
    if (before !== undefined) {
      const call = { method: "POST", type: "application/json", body: before.body(round) };
      await this.call(before.path, call, this.agent);
      await sleep(500);
    }
    const { version = "" } = this.address;
    const bytes = template.toString("latin1").replace(wideVersion, version);
    const body = Buffer.from(bytes, "latin1");
    await this.call("/readyz", {}, this.probes);
    await this.ask("begin");
    // The first delay is counted from the loop's second look at its timer.
    await sleep(20);
    const done = new AbortController();
    let readyMs = 0;
    const probing = (async () => {
      while (!done.signal.aborted) {
        const began = performance.now();
        await this.call("/readyz", {}, this.probes);
        readyMs = Math.max(readyMs, performance.now() - began);
        await sleep(5);
      }
    })();
    const { status, text } = await this.call(
      path,
      { method, type, body, accept, user },
      this.agent,
    );
    done.abort();
    await probing;
    const measured = (await this.ask("end")) as Stall;
    return { ...measured, status, text: text.slice(0, 300), readyMs };
  }

  private async ask(what: "begin" | "end"): Promise<unknown> {
    const answer = once(this.child, "message");
    this.child.send(what);
    return (await answer)[0];
  }

  private call(
    path: string,
    { method = "GET", type, body, accept, user }: Call,
    agent: Agent,
  ): Promise<{ readonly status: number; readonly text: string }> {
    const { url, token } = this.address;
    const headers = {
      authorization: `Bearer ${token}`,
      ...(accept === undefined ? {} : { accept }),
      ...(user === undefined ? {} : { "impersonate-user": user }),
      ...(type === undefined ? {} : { "content-type": type }),
      ...(body === undefined ? {} : { "content-length": body.length }),
    };
    return new Promise((resolve, reject) => {
      const options = { method, headers, agent, rejectUnauthorized: false };
      const sent = request(url + path, options, (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (chunk: string) => {
          if (text.length < 1000) text += chunk;
        });
        response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
        response.on("error", reject);
      });
      sent.on("error", reject);
      sent.end(body);
    });
  }
}
