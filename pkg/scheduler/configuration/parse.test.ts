/** The texts are those of kube-scheduler 1.34 for the same files. */
import assert from "node:assert/strict";
import { ConfigurationFault, kubernetes } from "#meta";
import { parseSchedulerConfiguration } from "./parse.ts";

const head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";
const parse = (text: string) => parseSchedulerConfiguration(head + text, kubernetes);
const profiles = (text: string) => `profiles: [${text}]`;
const score = (text: string) => profiles(`{plugins: {score: {enabled: [${text}]}}}`);
const args = (name: string, text: string) =>
  profiles(`{pluginConfig: [{name: ${name}, args: ${text}}]}`);

function refusal(text: string): string {
  try {
    parse(text);
  } catch (error) {
    assert.ok(error instanceof ConfigurationFault, String(error));
    return error.message;
  }
  return "accepted";
}

const creating = "initializing profiles: creating profile for scheduler name default-scheduler:";
const config = "profiles[0].pluginConfig[0]";

const refused: readonly (readonly [text: string, message: string])[] = [
  ["profiless: []", 'strict decoding error: unknown field "profiless"'],
  [score("{name: Nope}"), `${creating} ScorePlugin "Nope" does not exist`],
  [score("{name: NodeName}"), `${creating} plugin "NodeName" does not extend ScorePlugin plugin`],
  [
    score("{name: NodeAffinity},{name: NodeAffinity}"),
    `${creating} plugin "NodeAffinity" already registered as "ScorePlugin"`,
  ],
  [
    profiles('{plugins: {multiPoint: {disabled: [{name: "*"}]}}}'),
    `${creating} only one queue sort plugin required for profile with scheduler name ` +
      '"default-scheduler", but got 0',
  ],
  [
    profiles("{plugins: {multiPoint: {enabled: [{name: Nope}]}}}"),
    `${creating} PreFilterPlugin "Nope" does not exist`,
  ],
  [
    profiles('{plugins: {bind: {disabled: [{name: "*"}]}}}'),
    `${creating} at least one bind plugin is needed for profile with scheduler name ` +
      '"default-scheduler"',
  ],
  [
    profiles("{schedulerName: a},{schedulerName: a}"),
    "profiles[1].schedulerName: Duplicate value: {}",
  ],
  [
    profiles("{},{}"),
    "[profiles[0].schedulerName: Required value, profiles[1].schedulerName: Required value, " +
      "profiles[1].schedulerName: Duplicate value: {}]",
  ],
  [
    "percentageOfNodesToScore: 101\nparallelism: 0\npodInitialBackoffSeconds: 0\n" +
      "podMaxBackoffSeconds: -1\nextenders: [{urlPrefix: a, prioritizeVerb: p, bindVerb: b}," +
      "{urlPrefix: x, bindVerb: b, managedResources: [{name: a/b},{name: a/b},{name: cpu}]}]",
    "[parallelism: Invalid value: 0: should be an integer value greater than zero, " +
      "percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100], " +
      "podInitialBackoffSeconds: Invalid value: 0: must be greater than 0, " +
      "podMaxBackoffSeconds: Invalid value: -1: must be greater than or equal to " +
      "PodInitialBackoffSeconds, " +
      "extenders[0].weight: Invalid value: 0: must have a positive weight applied to it, " +
      'extenders[1].managedResources[1].name: Invalid value: "a/b": duplicate extender managed ' +
      'resource name, extenders[1].managedResources[2].name: Invalid value: "cpu": is an invalid ' +
      'extended resource name, extenders: Invalid value: "found 2 extenders implementing bind": ' +
      "only one extender can implement bind]",
  ],
  [
    args("NodeAffinity", "{foo: 1}"),
    "strict decoding error: decoding .profiles[0].pluginConfig[0]: strict decoding error: " +
      'decoding args for plugin NodeAffinity: strict decoding error: unknown field "foo"',
  ],
  [
    profiles(
      "{pluginConfig: [{name: DefaultPreemption, args: {minCandidateNodesPercentage: -1, " +
        "minCandidateNodesAbsolute: 0}},{name: DefaultPreemption}]}",
    ),
    `[${config}.args.minCandidateNodesPercentage: Invalid value: -1: not in valid range ` +
      '[0, 100], profiles[0].pluginConfig[1]: Duplicate value: "DefaultPreemption"]',
  ],
  [
    args("NodeResourcesFit", "{scoringStrategy: {type: X, resources: [{name: cpu, weight: 101}]}}"),
    `${creating} initializing plugin "NodeResourcesFit": [scoringStrategy.type: Unsupported ` +
      'value: "X": supported values: "LeastAllocated", "MostAllocated", ' +
      '"RequestedToCapacityRatio", scoringStrategy.resources[0].weight: Invalid value: 101: ' +
      "resource weight of cpu not in valid range (0, 100]]",
  ],
  [
    "leaderElection: {leaseDuration: 1s, renewDeadline: 2s, resourceLock: endpoints}",
    '[leaderElection.leaseDuration: Invalid value: "2s": must be greater than `RenewDeadline`, ' +
      'leaderElection.resourceLock: Invalid value: "endpoints": resourceLock value must be ' +
      '"leases"]',
  ],
  [
    args("PodTopologySpread", "{defaultConstraints: [{maxSkew: 0}], defaultingType: X}"),
    `[${config}.args.defaultingType: Unsupported value: "X": supported values: "System", ` +
      `"List", ${config}.args.defaultConstraints[0].maxSkew: Invalid value: 0: not in valid ` +
      `range (0, inf), ${config}.args.defaultConstraints[0].topologyKey: Required value: can ` +
      `not be empty, ${config}.args.defaultConstraints[0].whenUnsatisfiable: Required value: ` +
      "can not be empty]",
  ],
  [
    args("VolumeBinding", "{bindTimeoutSeconds: -1, shape: [{utilization: 0, score: 3}]}"),
    `[${config}.args.bindTimeoutSeconds: Invalid value: -1: invalid BindTimeoutSeconds, should ` +
      `not be a negative value, ${config}.args.shape: Invalid value: ` +
      '[{"Utilization":0,"Score":3}]: unexpected field `shape`, remove it or turn on the ' +
      "feature gate StorageCapacityScoring]",
  ],
  [
    profiles(
      "{plugins: {filter: {enabled: [{name: EBSLimits}]}}, pluginConfig: [{name: NodeAffinity, " +
        "args: {addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: " +
        "{nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Foo}]}]}}}}]}",
    ),
    '[profiles[0].plugins.filter.enabled[0]: Invalid value: "EBSLimits": was invalid in version ' +
      '"v1" (KubeSchedulerConfiguration is version "kubescheduler.config.k8s.io/v1"), ' +
      `${config}.args.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.` +
      "nodeSelectorTerms[0].matchExpressions[0].operator: Unsupported value: " +
      '"Foo": supported values: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"',
  ],
  [
    profiles(
      "{schedulerName: a, percentageOfNodesToScore: 200}," +
        "{schedulerName: b, plugins: {queueSort: {enabled: [{name: PrioritySort}]}}}",
    ),
    "[profiles[0].percentageOfNodesToScore: Invalid value: 200: not in valid range [0-100], " +
      'profiles[1].plugins.queueSort: Invalid value: {"Enabled":[{"Name":"PrioritySort",' +
      '"Weight":0}],"Disabled":null}: must be the same for all profiles]',
  ],
  [
    'parallelism: "x"',
    "json: cannot unmarshal string into Go struct field " +
      "KubeSchedulerConfiguration.parallelism of type int32",
  ],
];

describe("parseSchedulerConfiguration", () => {
  for (const [text, message] of refused) {
    it(`rejects ${text.replaceAll("\n", " ").slice(0, 90)}`, () => {
      const expected = message.startsWith("[") && !message.endsWith("]") ? `${message}]` : message;
      assert.equal(refusal(text), expected);
    });
  }

  it("orders plugins: re-enabled ones, those of multiPoint, then those of the point only", () => {
    const { settings } = parse(
      profiles(
        "{plugins: {filter: {enabled: [{name: NodePorts},{name: NodeName}], " +
          "disabled: [{name: TaintToleration}]}, multiPoint: {disabled: [{name: NodeName}]}}}",
      ),
    );
    const { filter, preFilter } = settings.profiles[0]!.plugins.points;
    assert.deepEqual(filter.slice(0, 3), ["NodePorts", "NodeUnschedulable", "NodeAffinity"]);
    assert.equal(filter.at(-1), "NodeName");
    assert.ok(!filter.includes("TaintToleration"));
    assert.equal(preFilter[0], "NodeAffinity");
  });

  it("prefers weights of score to those of multiPoint, and treats 0 as 1", () => {
    const { settings } = parse(
      profiles(
        "{plugins: {score: {enabled: [{name: ImageLocality, weight: 7}]}, " +
          "multiPoint: {enabled: [{name: NodeAffinity, weight: 5},{name: TaintToleration}]}}}",
      ),
    );
    const { weights, points } = settings.profiles[0]!.plugins;
    assert.deepEqual(
      ["ImageLocality", "NodeAffinity", "TaintToleration"].map((name) => weights.get(name)),
      [7, 5, 1],
    );
    assert.equal(points.score[0], "ImageLocality");
  });

  it("parses profiles, arguments, leader election and extenders", () => {
    const { settings, leaderElection, burst } = parse(
      profiles(
        "{schedulerName: a}, {schedulerName: b, percentageOfNodesToScore: 5, pluginConfig: " +
          "[{name: VolumeBinding, args: {bindTimeoutSeconds: 3}}]}",
      ) +
        "\nleaderElection: {leaderElect: false, leaseDuration: 20s}\nclientConnection: {burst: 7}" +
        "\nextenders: [{urlPrefix: a, managedResources: [{name: a.b/c, ignoredByScheduler: true}]}]",
    );
    const [a, b] = settings.profiles;
    assert.deepEqual([a!.schedulerName, b!.schedulerName], ["a", "b"]);
    assert.equal(b!.percentageOfNodesToScore, 5);
    assert.equal(b!.args.volumeBinding.bindTimeoutMs, 3_000);
    assert.deepEqual(a!.args.fit.ignoredResources, ["a.b/c"]);
    assert.deepEqual(leaderElection, { leaderElect: false, leaseDurationMs: 20_000 });
    assert.equal(burst, 7);
    assert.equal(settings.extenders.length, 1);
  });

  it("rejects other kinds and versions", () => {
    const text =
      "apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration";
    assert.throws(
      () => parseSchedulerConfiguration(text, kubernetes),
      /^ConfigurationFault: no kind "KubeSchedulerConfiguration" is registered for version "kube/,
    );
  });
});
