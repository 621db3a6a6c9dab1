import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseFlags, UsageError } from "../flags/parse.ts";
import { auditFlags, auditOptions } from "./audit-flags.ts";

describe("audit flags", () => {
  let folder: string;
  const file = (name: string) => path.join(folder, name);

  before(() => {
    folder = mkdtempSync(path.join(tmpdir(), "keelson-audit-flags-"));
    writeFileSync(file("policy"), "the policy");
    const cluster = { server: "https://hook.example.org/x", "certificate-authority-data": "YQ==" };
    writeFileSync(file("hook"), JSON.stringify({ clusters: [{ name: "c", cluster }] }));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  const parsed = (...words: string[]) => auditOptions(parseFlags(auditFlags, words));

  it("configure no backend by default", () => {
    assert.equal(parsed(), undefined);
    assert.equal(parsed(`--audit-policy-file=${file("policy")}`), undefined);
  });

  it("have the defaults of kube-apiserver for each backend", () => {
    const options = parsed(
      `--audit-policy-file=${file("policy")}`,
      "--audit-log-path=audit.log",
      "--audit-log-maxsize=5",
      "--audit-log-truncate-enabled",
      `--audit-webhook-config-file=${file("hook")}`,
    );
    assert.equal(options?.policy, "the policy");
    const { log, webhook } = options;
    const rotation = { maxBytes: 5 * 2 ** 20, maxAgeDays: 0, maxBackups: 0, compress: false };
    assert.deepEqual(log, {
      to: "audit.log",
      format: "json",
      rotation,
      mode: "blocking",
      batch: { bufferSize: 10_000, maxSize: 1, maxWaitMs: 0, throttle: undefined },
      truncate: { maxEventSize: 102_400, maxBatchSize: 10_485_760 },
    });
    const { endpoint, ...rest } = webhook!;
    assert.equal(endpoint.url.href, "https://hook.example.org/x");
    assert.deepEqual(rest, {
      mode: "batch",
      batch: {
        bufferSize: 10_000,
        maxSize: 400,
        maxWaitMs: 30_000,
        throttle: { perSecond: 10, burst: 15 },
      },
      truncate: undefined,
      initialBackoffMs: 10_000,
    });
  });

  it("are rejected in one sentence if they conflict", () => {
    const policy = () => `--audit-policy-file=${file("policy")}`;
    for (const [words, message] of [
      [["--audit-log-path=x"], /--audit-policy-file is required/],
      [[`--audit-policy-file=${file("no")}`, "--audit-log-path=x"], /cannot be read \(ENOENT\)/],
      [["--audit-log-mode=async"], /must be one of batch, blocking/],
      [[policy(), `--audit-webhook-config-file=${file("policy")}`], /must be a map/],
      [
        [policy(), "--audit-log-path=x", "--audit-log-version=audit.k8s.io/v1beta1"],
        /must be one of audit/,
      ],
    ] as const) {
      assert.throws(
        () => parsed(...words),
        (error: unknown) => error instanceof UsageError && message.test(error.message),
      );
    }
  });
});
