/**
 * Replays recorded requests and responses of Kubernetes (`../shared/transcripts`, skipped if absent)
 * against live servers. Steps that differ must be in known-differences.json with a reason; an entry
 * whose step no longer differs fails, too. UPDATE=1 removes such entries, and adds new recordings and
 * differences, which fail until they are fixed or have a reason.
 */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import type { RunningServer, StartOptions } from "../../../pkg/controlplane/index.ts";
import { root } from "../../tidy/source.ts";
import { readKnownDifferences, writeKnownDifferences } from "./known-differences.ts";
import { RecordedPeers } from "./recorded-peers.ts";
import { type Difference, ReplayPool } from "./replay-pool.ts";

const folder = path.join(root, "../shared/transcripts");
const isUpdate = process.env["UPDATE"] === "1";
const known = readKnownDifferences();

/** Options for recordings named `all-*`: every API version, and the feature gates that they require. */
const everything: Partial<StartOptions> = {
  runtimeConfig: new Map([["api/all", "true"]]),
  featureGates: new Map(
    [
      "DRADeviceTaints",
      "StorageVersionMigrator",
      "CoordinatedLeaderElection",
      "MutatingAdmissionPolicy",
      "PodCertificateRequest",
      "PodTopologyLabelsAdmission",
      "ClusterTrustBundle",
      "StorageVersionAPI",
      "APIServerIdentity",
    ].map((gate) => [gate, "true"]),
  ),
};

/** Options for recordings named `plugins-*`: the admission plugins that are off by default. */
function optionalPlugins(): Partial<StartOptions> {
  const file = path.join(folder, "admission-config.yaml");
  return {
    admissionPlugins: {
      enable: [
        "AlwaysPullImages",
        "LimitPodHardAntiAffinityTopology",
        "NamespaceExists",
        "ExtendedResourceToleration",
        "PodNodeSelector",
        "PodTolerationRestriction",
        "EventRateLimit",
        "OwnerReferencesPermissionEnforcement",
        "DenyServiceExternalIPs",
        "NodeRestriction",
      ],
    },
    admissionConfiguration: { text: readFileSync(file, "utf8"), folder },
  };
}

/**
 * Gives the lease of the leader-election controller to another holder, since no controller acted on the
 * LeaseCandidates of the recordings.
 */
async function withoutElections(first: RunningServer): Promise<RunningServer> {
  const namespace = "kube-system";
  const name = "leader-election-controller";
  const renewTime = new Date().toISOString().replace("Z", "000Z");
  const spec = { holderIdentity: "elsewhere", renewTime, leaseDurationSeconds: 3600 };
  const address = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/${name}`;
  const response = await first.fetch(`${address}?fieldManager=test&force=true`, {
    method: "PATCH",
    headers: { "content-type": "application/apply-patch+yaml" },
    body: JSON.stringify({
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { namespace, name },
      spec,
    }),
  });
  assert(response.ok, `${response.status}`);
  const server = await first.fork();
  await first.close();
  return server;
}

/** Number of servers: recordings sleep for much of their time, so that several can share a core. */
const serverCount = 5;

describe("recorded responses", function () {
  this.timeout(300_000);
  const files = isUpdate && existsSync(folder) ? recordedStories() : Object.keys(known.stories);
  const found = new Map<string, readonly string[]>();
  let peers: RecordedPeers | undefined;
  let pools: readonly ReplayPool[] = [];

  before(async function () {
    if (!existsSync(folder)) this.skip();
    peers = await RecordedPeers.start(folder, files);
    pools = poolsOf(files, peers.stories);
    for (const pool of pools) pool.start();
  });
  after(async () => {
    await Promise.all(pools.map((pool) => pool.close()));
    peers?.close();
    if (found.size > 0) writeKnownDifferences(known, found);
  });

  for (const file of files) {
    it(file, async () => {
      const pool = pools.find((each) => each.files.includes(file))!;
      const first = await pool.outcome(file);
      // Some steps depend on timing: only a step that differs twice counts.
      const last = faultsOf(file, first).length === 0 ? first : await pool.again(file);
      if (isUpdate) found.set(file, [...new Set(last.map(({ step }) => step))]);
      else assert.deepEqual(faultsOf(file, last), []);
    });
  }
});

/** Stories for `replay.mjs`; those named `apf-*` are for a player of their own. */
function recordedStories(): readonly string[] {
  return readdirSync(folder).filter((file) => file.endsWith(".json") && !file.startsWith("apf-"));
}

function poolsOf(files: readonly string[], stories: string): readonly ReplayPool[] {
  const named = (prefix: string) => files.filter((file) => file.startsWith(prefix));
  const others = files.filter((file) => !/^(?:all|plugins)-/.test(file));
  const recordings = { folder, stories };
  return [
    new ReplayPool(recordings, others, { servers: serverCount, settings: {} }),
    new ReplayPool(recordings, named("all-"), {
      servers: 1,
      settings: everything,
      prepare: withoutElections,
    }),
    new ReplayPool(recordings, named("plugins-"), { servers: 1, settings: optionalPlugins() }),
  ];
}

function faultsOf(file: string, found: readonly Difference[]): readonly object[] {
  const rows = known.stories[file] ?? {};
  const differing = new Set(found.map(({ step }) => step));
  const isExplained = (step: string) => rows[step] !== undefined && rows[step] in known.reasons;
  return [
    ...found.filter(({ step }) => !isExplained(step)).map(({ step, diffs }) => ({ step, diffs })),
    ...Object.keys(rows)
      .filter((step) => !differing.has(step))
      .map((step) => ({ step, diffs: ["no longer differs: remove its row (UPDATE=1)"] })),
  ];
}
