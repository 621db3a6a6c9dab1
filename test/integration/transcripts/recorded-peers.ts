/**
 * The webhook and the aggregated API server that some recordings call. Recordings contain fixed ports;
 * here both listen on free ports, which copies of the recordings contain, so that several runs of the
 * tests can share a machine.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";

const recordedPorts = { webhook: 18443, closed: 18444, aggregated: 18445 } as const;
const startTimeoutMs = 20_000;

export class RecordedPeers {
  private constructor(
    /** Folder of the rewritten recordings. */
    readonly stories: string,
    private readonly child: ChildProcess,
  ) {}

  static async start(folder: string, files: readonly string[]): Promise<RecordedPeers> {
    const first = await threeFreePorts();
    const child = spawn(process.execPath, [path.join(folder, "webhook-server.mjs"), `${first}`], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const stories = mkdtempSync(path.join(tmpdir(), "keelson-stories-"));
    const peers = new RecordedPeers(stories, child);
    try {
      await listening(child);
    } catch (error) {
      peers.close();
      throw error;
    }
    for (const file of files) {
      const text = readFileSync(path.join(folder, file), "utf8");
      writeFileSync(path.join(stories, file), withPorts(withoutDescriptions(text), first));
    }
    return peers;
  }

  close(): void {
    this.child.kill();
    rmSync(this.stories, { recursive: true, force: true });
  }
}

interface RecordedStep {
  readonly request: { readonly path?: string };
  readonly response?: { readonly body?: unknown };
  readonly ignore?: readonly string[];
}

/**
 * Makes the player ignore descriptions in OpenAPI documents, which differ between projects; everything
 * else is compared.
 */
function withoutDescriptions(story: string): string {
  if (!story.includes("/openapi/")) return story;
  const { steps, ...rest } = JSON.parse(story) as { readonly steps: readonly RecordedStep[] };
  const written = steps.map((step) => {
    const found = isOpenApi(step) ? descriptionsIn(step.response?.body) : [];
    return found.length === 0 ? step : { ...step, ignore: [...(step.ignore ?? []), ...found] };
  });
  return JSON.stringify({ ...rest, steps: written });
}

/** Addresses of documents come from the index, in variables called `{{coreurl}}` and the like. */
function isOpenApi({ request }: RecordedStep): boolean {
  return /^(?:\/openapi\/|\{\{\w+url\}\})/.test(request.path ?? "");
}

/** JSON pointers of the members below a value that are, or may be, descriptions. */
function descriptionsIn(value: unknown, at = ""): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  // A property called `description` is a schema.
  const own = at.endsWith("/properties") || Array.isArray(value) ? [] : [`${at}/description`];
  const below = Object.entries(value).flatMap(([key, member]) =>
    descriptionsIn(member, `${at}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`),
  );
  return [...own, ...below];
}

function withPorts(story: string, first: number): string {
  const { webhook, closed, aggregated } = recordedPorts;
  return [webhook, closed, aggregated].reduce(
    (text, port) => text.replaceAll(`${port}`, `${first + port - webhook}`),
    story,
  );
}

/** Resolves when both servers have printed that they listen. */
function listening(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let said = "";
    const fail = (why: string) => reject(new Error(`webhook-server.mjs ${why}: ${said}`));
    const late = setTimeout(() => fail("does not listen"), startTimeoutMs);
    child.once("exit", (code) => fail(`ended with ${code}`));
    child.stdout!.on("data", (chunk) => {
      said += chunk;
      if (said.split("https://").length < 3) return;
      clearTimeout(late);
      resolve();
    });
  });
}

/** The first of three neighbouring ports of 127.0.0.1 on which nothing listens. */
async function threeFreePorts(): Promise<number> {
  const from = 20_000 + Math.floor(Math.random() * 10_000);
  for (let first = from; first < from + 300; first += 3) {
    const free = await Promise.all([first, first + 1, first + 2].map(isFree));
    if (free.every(Boolean)) return first;
  }
  throw new Error("no three free ports");
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", () => resolve(false));
    probe.listen(port, "127.0.0.1", () => probe.close(() => resolve(true)));
  });
}
