/** The program as users run it: flags, invalid flags, signals. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { get } from "node:https";
import { tmpdir } from "node:os";
import path from "node:path";
import { root } from "../../test/tidy/source.ts";

const program = path.join(root, "dist", "keelson.js");

interface Run {
  readonly child: ChildProcess;
  readonly ended: Promise<number | null>;
  text(): string;
}

describe("keelson", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), "keelson-main-"));
  });
  const children: ChildProcess[] = [];
  afterEach(() => {
    for (const child of children.splice(0)) child.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  });

  function run(...words: readonly string[]): Run {
    const child = spawn(process.execPath, [program, ...words], { cwd: folder });
    children.push(child);
    let text = "";
    child.stdout.on("data", (chunk) => (text += chunk));
    child.stderr.on("data", (chunk) => (text += chunk));
    const ended = new Promise<number | null>((resolve) => child.on("close", resolve));
    return { child, ended, text: () => text };
  }

  async function until(running: Run, pattern: RegExp): Promise<string> {
    for (let tries = 0; tries < 2_400; tries++) {
      const match = pattern.exec(running.text());
      if (match) return match[1] ?? match[0];
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return assert.fail(`never saw ${pattern}: ${running.text()}`);
  }

  const mistakes: readonly (readonly [string, RegExp])[] = [
    [
      "start --secure-prt=1",
      /^keelson: unknown flag: --secure-prt \(did you mean --secure-port\?\)\n$/,
    ],
    ["apiserver", /^keelson: --etcd-servers must be set, for example/],
    ["serve", /^keelson: unknown command "serve"; see keelson --help\n$/],
    [
      "start --token-auth-file=missing.csv",
      /--token-auth-file: missing\.csv cannot be read \(ENOENT\)\n$/,
    ],
    ["start --runtime-config=nonsense/v1=true", /unknown group version "nonsense\/v1"\n$/],
    [
      "start --enable-admission-plugins=NodeRestrictions",
      /^keelson: enable-admission-plugins plugin "NodeRestrictions" is unknown\n$/,
    ],
    ["start --authorization-mode=Webhook", /config file not passed\n$/],
    ["start --authorization-mode=RBAC,RBAC", /\["RBAC" "RBAC"\] has mode specified more than/],
    [
      "start --authorization-config=x --authorization-mode=Node",
      /--authorization-config can not be specified when --authorization-mode or /,
    ],
    ["start --service-account-lookup=false", /--service-account-lookup=false is not supported/],
    ["start --emulated-version=1.33", /--emulated-version=1.33 is not supported\n$/],
    [
      "start --default-not-ready-toleration-seconds=5",
      /--default-not-ready-toleration-seconds=5 is not supported\n$/,
    ],
    ["start --watch-cache=often", /invalid argument "often" for "--watch-cache" flag/],
    [
      "start --storage-backend=memory --runtime-config=v1=false",
      /--runtime-config: v1\/namespaces cannot be turned off: the server itself needs it\n$/,
    ],
    ["start --version=v1.2.3", /invalid argument "v1.2.3" for "--version" flag: must be true/],
    ["start --authorization-mode=Rbac", /--authorization-mode: "Rbac" is not one of/],
    ["start --workers=2", /^keelson: unknown flag: --workers\n$/],
    [
      "apiserver --workers=2 --storage-backend=memory",
      /--workers: several processes can share only/,
    ],
    ["start --bind-address=here", /invalid argument "here" for "--bind-address" flag: must/],
    ["start --etcd-servers=http://[::1]:2379", /--etcd-servers requires --storage-backend=etcd3/],
    [
      "apiserver --etcd-servers=ftp://etcd",
      /--etcd-servers: "ftp:\/\/etcd" must be a URL such as http:/,
    ],
    ["start --authorization-config=missing", /^keelson: --authorization-config: missing cannot/],
    [
      "certificates --server=localhost",
      /^keelson: --server: "localhost" must be a URL such as https:/,
    ],
    ["start --feature-gates=DryRun=false", /unrecognized feature gate: DryRun\n$/],
    [
      "start --feature-gates=ServiceTrafficDistribution=false",
      /cannot set feature gate ServiceTrafficDistribution to false, feature is locked to true\n$/,
    ],
  ];
  for (const [words, sentence] of mistakes) {
    it(`rejects in one sentence: ${words}`, async () => {
      const running = run(...words.split(" "));
      assert.equal(await running.ended, 1);
      assert.match(running.text(), sentence);
      assert.equal(running.text().trim().split("\n").length, 1);
    });
  }

  it("names the flag of a malformed file", async () => {
    writeFileSync(path.join(folder, "odd"), "secret,admin\n");
    for (const [flag, sentence] of [
      ["token-auth-file", /line 1 of the token file needs a token, a user name and a uid\n$/],
      ["service-account-signing-key-file", /unsupported\n$/],
      ["service-account-key-file", /no PEM block with a key\n$/],
      ["encryption-provider-config", /expected apiVersion apiserver.config.k8s.io\/v1/],
    ] as const) {
      const running = run("start", "--storage-backend=memory", `--${flag}=odd`);
      assert.equal(await running.ended, 1);
      assert.match(running.text(), sentence);
      assert.ok(running.text().startsWith(`keelson: --${flag}: `), running.text());
    }
  });

  it("names a store that it cannot use", async () => {
    mkdirSync(path.join(folder, "odd", "store"), { recursive: true });
    writeFileSync(path.join(folder, "odd", "store", "data.mdb"), Buffer.alloc(4096, 1));
    const running = run("start", "--secure-port=0", "--data-dir=odd");
    assert.equal(await running.ended, 1);
    const sentence = /^keelson: odd\/store cannot be trusted: .*not an LMDB file\n$/;
    assert.match(running.text(), sentence);
  });

  it("reports a file that is not a certificate", async () => {
    writeFileSync(path.join(folder, "odd"), "no certificate\n");
    const words = ["--tls-cert-file=odd", "--tls-private-key-file=odd", "--storage-backend=memory"];
    const running = run("start", "--secure-port=0", ...words);
    assert.equal(await running.ended, 1);
    assert.equal(running.text(), "keelson: odd, odd: no PEM block with a certificate\n");
  });

  it("names the flag that changes an address in use", async () => {
    const words = ["--bind-address=192.0.2.1", "--secure-port=0", "--storage-backend=memory"];
    const running = run("start", ...words);
    assert.equal(await running.ended, 1);
    assert.match(running.text(), /192\.0\.2\.1; choose another with --bind-address\n$/);
  });

  it("shows usage and grouped flags, only those of the command", async () => {
    const shown = async (...words: readonly string[]) => {
      const running = run(...words);
      assert.equal(await running.ended, 0, running.text());
      return running.text();
    };
    const apiserver = await shown("apiserver", "--help");
    assert.match(apiserver, /^Usage:\n {2}keelson apiserver \[flags\]$/m);
    assert.match(apiserver, /^Authentication flags:\n\n {6}--anonymous-auth +accept/m);
    assert.match(apiserver, /^ {6}--etcd-servers strings +etcd endpoints/m);
    assert.match(apiserver, /--workers int/);
    const start = await shown("start", "--help");
    assert.match(start, /--storage-backend string +.*\n.*\(default "embedded"\)/);
    assert.doesNotMatch(start, /--workers/);
    assert.equal(await shown("help", "start"), start);
    assert.equal(await shown("start", "-h"), start);
    assert.match(await shown("--version"), /^keelson v1\.34\.\d+/);
    assert.match(await shown("start", "--version"), /^keelson v1\.34\.\d+/);
    assert.match(await shown("--help"), /^ {2}controller-manager {2}run the controllers/m);
  });

  it("start keeps serving for --shutdown-delay-duration while it is not ready", async () => {
    const flags = ["--anonymous-auth", "--shutdown-delay-duration=5s"];
    const running = run("start", "--secure-port=0", "--storage-backend=memory", ...flags);
    const url = await until(running, /(https:\/\/127\.0\.0\.1:\d+) is ready/);
    assert.equal(await statusOf(`${url}/readyz`), 200);
    const told = Date.now();
    running.child.kill("SIGTERM");
    // Until the delay is over, when connections are refused.
    while ((await statusOf(`${url}/readyz`)) !== 500);
    assert.equal(await statusOf(`${url}/livez`), 200);
    assert.equal(await running.ended, 0);
    assert.ok(Date.now() - told >= 4_900, "ended before the delay was over");
  });

  it("accepts the flags of Kubernetes' integration scripts", async () => {
    const flags = ["--service-account-lookup=true", "--version=", "--storage-media-type="];
    const running = run("start", "--secure-port=0", "--storage-backend=memory", ...flags);
    await until(running, /is ready/);
    running.child.kill("SIGTERM");
    assert.equal(await running.ended, 0);
  });

  it("accepts flags that only tune kube-apiserver, with a warning that they have no effect", async () => {
    const tuning = ["--delete-collection-workers=3", "--watch-cache", "--vmodule", "a=1"];
    const flags = [...tuning, "--emulated-version=1.34", "--feature-gates=ContextualLogging=false"];
    const store = ["--storage-backend=memory", "--etcd-servers=http://127.0.0.1:1"];
    const running = run("apiserver", "--secure-port=0", ...store, ...flags);
    await until(running, /API server ready on/);
    const names = "--delete-collection-workers, --emulated-version, --vmodule, --watch-cache";
    assert.ok(running.text().includes(`keelson: flags without effect in Keelson: ${names}\n`));
    assert.match(running.text(), /--etcd-servers is ignored with --storage-backend=memory\n/);
    assert.match(running.text(), /Feature gates without effect in Keelson: ContextualLogging/);
    running.child.kill("SIGTERM");
    assert.equal(await running.ended, 0);
  });

  it("apiserver prints only the audit log to standard output", async () => {
    writeFileSync(path.join(folder, "policy"), policyOfAll);
    const audit = ["--audit-log-path=-", "--audit-policy-file=policy"];
    const running = run("apiserver", "--secure-port=0", "--storage-backend=memory", ...audit);
    let output = "";
    running.child.stdout?.on("data", (chunk) => (output += chunk));
    const url = await until(running, /API server ready on (\S+)/);
    assert.equal(await statusOf(`${url}/readyz`), 200);
    running.child.kill("SIGTERM");
    assert.equal(await running.ended, 0);
    const lines = output.trim().split("\n");
    assert.ok(lines.length > 0);
    for (const line of lines) assert.equal(JSON.parse(line).kind, "Event");
  });

  it("start closes watches over --shutdown-watch-termination-grace-period", async () => {
    const flags = ["--shutdown-watch-termination-grace-period=5s", "--token-auth-file=tokens"];
    writeFileSync(path.join(folder, "tokens"), 'secret,a,a,"system:masters"\n');
    const running = run("start", "--secure-port=0", "--storage-backend=memory", ...flags);
    const url = await until(running, /(https:\/\/127\.0\.0\.1:\d+) is ready/);
    const ends = await Promise.all(Array.from({ length: 8 }, () => watchUntilEnd(url)));
    const told = Date.now();
    running.child.kill("SIGTERM");
    const times = (await Promise.all(ends.map(({ ended }) => ended))).map((end) => end - told);
    assert.equal(await running.ended, 0);
    const [first, last] = [Math.min(...times), Math.max(...times)];
    // Watches of the controllers in this process take a share of the period.
    assert.ok(last - first >= 400, `${times.join(" ")}: not spread`);
  });

  it("start writes a kubeconfig, prints how to use it, locks its store, and exits on a signal", async () => {
    const running = run("start", "--secure-port=0");
    const url = await until(
      running,
      /keelson: (https:\/\/127\.0\.0\.1:\d+) is ready; try: kubectl/,
    );
    const kubeconfig = readFileSync(path.join(folder, ".keelson", "kubeconfig"), "utf8");
    assert.match(kubeconfig, new RegExp(`server: ${url}`));
    const second = run("start", "--secure-port=0");
    assert.equal(await second.ended, 1);
    const sentence = `.keelson/store is in use by process ${running.child.pid}`;
    assert.equal(second.text(), `keelson: ${sentence}; choose another folder with --data-dir\n`);
    running.child.kill("SIGTERM");
    assert.equal(await running.ended, 0);
  });

  it("start with --storage-backend=memory writes no files", async () => {
    const running = run("start", "--secure-port=0", "--storage-backend=memory");
    await until(running, /is ready/);
    running.child.kill("SIGINT");
    assert.equal(await running.ended, 0);
    assert.equal(existsSync(path.join(folder, ".keelson")), false);
  });

  it("names the port that is in use", async () => {
    const first = run("start", "--secure-port=0", "--storage-backend=memory");
    const url = await until(first, /(https:\/\/127\.0\.0\.1:\d+) is ready/);
    const second = run("start", `--secure-port=${new URL(url).port}`, "--data-dir=second");
    assert.equal(await second.ended, 1);
    assert.match(second.text(), /address already in use .*; choose another with --secure-port\n$/);
    first.child.kill("SIGTERM");
    await first.ended;
  });
});

const policyOfAll = `{"apiVersion":"audit.k8s.io/v1","kind":"Policy","rules":[{"level":"Metadata"}]}`;

/** Opens a watch; `ended` resolves with the time when the server ends it. */
function watchUntilEnd(url: string): Promise<{ readonly ended: Promise<number> }> {
  const headers = { authorization: "Bearer secret" };
  const options = { rejectUnauthorized: false, agent: false, headers };
  return new Promise((resolve, reject) => {
    get(`${url}/api/v1/configmaps?watch=1`, options, (response) => {
      response.resume();
      const ended = new Promise<number>((end) => response.on("close", () => end(Date.now())));
      resolve({ ended });
    }).on("error", reject);
  });
}

/** Resolves with the status of a GET, without verifying the server's certificate. */
function statusOf(url: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    get(url, { rejectUnauthorized: false, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode);
    }).on("error", reject);
  });
}
