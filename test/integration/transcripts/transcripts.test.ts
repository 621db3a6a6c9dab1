/**
 * Replays the recorded answers of Kubernetes, where they are (`../shared/transcripts`), against
 * live servers. Steps that are known to differ stand in known-differences.json with their reasons;
 * any other difference fails, and so does a row there that is no longer true.
 */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { root } from "../../tidy/source.ts";
import type { RunningServer } from "../../../cmd/keelson/index.ts";
import { type Difference, ReplayPool } from "./replay-pool.ts";

const folder = path.join(root, "../shared/transcripts");
const here = path.join(root, "test/integration/transcripts");

interface Known {
  /** File name -> step id -> why it differs. */
  readonly [file: string]: Readonly<Record<string, string>>;
}

const known: Known = JSON.parse(readFileSync(path.join(here, "known-differences.json"), "utf8"));

/** What the recordings with everything switched on say that they need. */
const everything = {
  runtimeConfig: new Map([["api/all", "true"]]),
  featureGates: new Map(
    [
      "DRADeviceTaints",
      "StorageVersionMigrator",
      "CoordinatedLeaderElection",
      "MutatingAdmissionPolicy",
      "PodCertificateRequest",
      "ClusterTrustBundle",
      "StorageVersionAPI",
      "APIServerIdentity",
    ].map((gate) => [gate, "true"]),
  ),
};

/**
 * Somebody else holds the lease of whoever coordinates elections: the recordings have candidates
 * that nobody asks.
 */
async function withoutElections(first: RunningServer): Promise<RunningServer> {
  const namespace = "kube-system";
  const name = "leader-election-controller";
  const renewTime = new Date().toISOString().replace("Z", "000Z");
  const spec = { holderIdentity: "elsewhere", renewTime, leaseDurationSeconds: 3600 };
  const path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/${name}`;
  const answer = await first.fetch(`${path}?fieldManager=test&force=true`, {
    method: "PATCH",
    headers: { "content-type": "application/apply-patch+yaml" },
    body: JSON.stringify({
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { namespace, name },
      spec,
    }),
  });
  assert(answer.ok, `${answer.status}`);
  const server = await first.fork();
  await first.close();
  return server;
}

/** Recordings sleep for much of their time: several servers are asked at once. */
const SERVERS = 5;

describe("recorded answers", function () {
  this.timeout(240_000);
  const files = Object.keys(known);
  const isOfAll = (file: string) => file.startsWith("all-");
  const pools: readonly ReplayPool[] = [
    new ReplayPool(
      folder,
      files.filter((file) => !isOfAll(file)),
      { servers: SERVERS, settings: {} },
    ),
    new ReplayPool(folder, files.filter(isOfAll), {
      servers: 1,
      settings: everything,
      prepare: withoutElections,
    }),
  ];

  before(function () {
    if (!existsSync(folder)) this.skip();
    for (const pool of pools) pool.start();
  });
  after(() => Promise.all(pools.map((pool) => pool.close())));

  for (const file of files) {
    it(file, async () => {
      const pool = pools.find((each) => each.files.includes(file));
      const first = faultsOf(file, await pool!.outcome(file));
      // Some steps wait for the clock; what differs twice differs.
      const twice = first.length === 0 ? [] : faultsOf(file, await pool!.again(file));
      assert.deepEqual(twice, []);
    });
  }
});

function faultsOf(file: string, found: readonly Difference[]): readonly object[] {
  const reasons = known[file] ?? {};
  const different = new Set(found.map(({ step }) => step));
  return [
    ...found.filter(({ step }) => !(step in reasons)).map(({ step, diffs }) => ({ step, diffs })),
    ...Object.keys(reasons)
      .filter((step) => !different.has(step))
      .map((step) => ({ step, diffs: ["it differs no longer: take its row away"] })),
  ];
}
