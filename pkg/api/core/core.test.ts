import assert from "node:assert/strict";
import { created, type Sketch, updated, type Write } from "../testing.ts";
import type { Kind } from "#meta";
import { configMap } from "./config-map.ts";
import { limitRange } from "./limit-range.ts";
import { namespace } from "./namespace.ts";
import { resourceQuota } from "./resource-quota.ts";
import { secret } from "./secret.ts";
import { serviceAccount } from "./service-account.ts";

/** Each row: what is created, what the server complains of. */
function complains(kind: Kind, rows: readonly (readonly [Sketch, readonly string[]])[]): void {
  for (const [sketch, complaints] of rows) {
    it(JSON.stringify(sketch).slice(0, 90), () => {
      assert.deepEqual(created(kind, sketch).complaints, complaints);
    });
  }
}

/** Each row: an update of `first`, what the server complains of. */
function complainsOver(
  kind: Kind,
  first: Sketch,
  rows: readonly (readonly [Sketch, readonly string[], Write?])[],
): void {
  for (const [sketch, complaints, write] of rows) {
    it(`after it ${JSON.stringify(sketch).slice(0, 90)}`, () => {
      const old = created(kind, first);
      assert.deepEqual(old.complaints, []);
      assert.deepEqual(updated(kind, old, sketch, write).complaints, complaints);
    });
  }
}

const configKey =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name', " +
  " or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
const namePart =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end " +
  "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for " +
  "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const mib = "v".repeat(1024 * 1024);

describe("ConfigMap", () => {
  const sealed = "field is immutable when `immutable` is set";
  complains(configMap, [
    [{ data: { a: "1" }, binaryData: { b: "AP8=" } }, []],
    [{ data: { "A-b_c.d": "", ".x": "z" } }, []],
    [{ data: { "a/b": "x" } }, [`Invalid data[a/b] = "a/b": ${configKey}`]],
    [{ data: { "..a": "x" } }, [`Invalid data[..a] = "..a": must not start with '..'`]],
    [
      { data: { a: "1" }, binaryData: { a: "eA==" } },
      ['Invalid data[a] = "a": duplicate of key present in binaryData'],
    ],
    [{ data: { a: mib } }, []],
    [
      { data: { a: mib }, binaryData: { b: "eA==" } },
      ['TooLong [] = "": may not be more than 1048576 bytes'],
    ],
  ]);
  complainsOver(configMap, { immutable: true, data: { a: "1" }, binaryData: { b: "AA==" } }, [
    [{ immutable: true, data: { a: "1" }, binaryData: { b: "AA==" } }, []],
    [
      { data: { a: "2" } },
      [
        `Forbidden immutable: ${sealed}`,
        `Forbidden data: ${sealed}`,
        `Forbidden binaryData: ${sealed}`,
      ],
    ],
  ]);
  complainsOver(configMap, { data: { a: "1" } }, [[{ immutable: true, data: { a: "2" } }, []]]);

  it("prints the number of keys of both maps", () => {
    const { object } = created(configMap, { data: { a: "" }, binaryData: { b: "" } });
    assert.deepEqual(configMap.row(object, { now: 0 }), ["x", 2, "<unknown>"]);
  });
});

describe("Secret", () => {
  const type = (name: string) => `kubernetes.io/${name}`;
  const secretJson = (text: string) => ({
    type: type("dockerconfigjson"),
    stringData: { ".dockerconfigjson": text },
  });
  const redacted = 'Invalid data[.dockerconfigjson] = "<secret contents redacted>"';
  complains(secret, [
    [{ type: "My Type!", data: { a: "MQ==" } }, []],
    [{ stringData: { "a/b": "x" } }, [`Invalid data[a/b] = "a/b": ${configKey}`]],
    [{ type: type("tls") }, ["Required data[tls.crt]", "Required data[tls.key]"]],
    [{ type: type("tls"), stringData: { "tls.crt": "", "tls.key": "" } }, []],
    [{ type: type("basic-auth") }, ["Required data[username]", "Required data[password]"]],
    [{ type: type("basic-auth"), stringData: { password: "" } }, []],
    [{ type: type("ssh-auth"), data: { "ssh-privatekey": "" } }, ["Required data[ssh-privatekey]"]],
    [{ type: type("dockercfg") }, ["Required data[.dockercfg]"]],
    [secretJson("{}"), []],
    [secretJson("{"), [`${redacted}: unexpected end of JSON input`]],
    [secretJson("x"), [`${redacted}: invalid character 'x' looking for beginning of value`]],
    [
      secretJson("[]"),
      [`${redacted}: json: cannot unmarshal array into Go value of type map[string]interface {}`],
    ],
    [
      { type: type("service-account-token") },
      ["Required metadata.annotations[kubernetes.io/service-account.name]"],
    ],
    [
      {
        type: type("service-account-token"),
        metadata: { annotations: { [type("service-account.name")]: "a" } },
      },
      [],
    ],
    [{ data: { a: Buffer.from(mib).toString("base64") } }, []],
    [
      { data: { a: Buffer.from(`${mib}x`).toString("base64") } },
      ['TooLong data = "": may not be more than 1048576 bytes'],
    ],
  ]);
  complainsOver(secret, { data: { a: "MQ==" } }, [
    [{ type: "", data: { a: "Mg==" } }, []],
    [
      { type: type("tls") },
      [
        `Invalid type = "${type("tls")}": field is immutable`,
        "Required data[tls.crt]",
        "Required data[tls.key]",
      ],
    ],
  ]);
  complainsOver(secret, { immutable: true, data: { a: "MQ==" } }, [
    [{ immutable: true, stringData: { a: "1" } }, []],
    [
      { immutable: true, stringData: { a: "9" } },
      ["Forbidden data: field is immutable when `immutable` is set"],
    ],
  ]);

  it("defaults to type Opaque, and merges stringData into data", () => {
    const sketch = JSON.parse('{"data":{"a":"MQ=="},"stringData":{"a":"2","__proto__":"é"}}');
    const { object } = created(secret, sketch);
    assert.equal(object.type, "Opaque");
    assert.equal("stringData" in object, false);
    assert.deepEqual(Object.entries(object.data), [
      ["a", "Mg=="],
      ["__proto__", "w6k="],
    ]);
  });
});

describe("Namespace", () => {
  complains(namespace, [
    [{ spec: { finalizers: ["example.com/own"] } }, []],
    [
      { spec: { finalizers: ["own", "a b"] } },
      [
        'Invalid spec.finalizers = "own": name is neither a standard finalizer name nor is it ' +
          "fully qualified",
        `Invalid spec.finalizers = "a b": ${namePart}`,
        'Invalid spec.finalizers = "a b": name is neither a standard finalizer name nor is it ' +
          "fully qualified",
      ],
    ],
  ]);
  complainsOver(namespace, {}, [
    [
      { status: { phase: "Terminating" } },
      [
        "Invalid status.Phase = \"Terminating\": may only be 'Active' if `deletionTimestamp` is " +
          "empty",
      ],
      { subresource: "status" },
    ],
    [{ status: { phase: "Terminating" } }, []],
  ]);

  it("has finalizer, phase and name label by default", () => {
    const sketch = {
      metadata: { labels: { "kubernetes.io/metadata.name": "liar" } },
      spec: { finalizers: ["example.com/own"] },
      status: { phase: "Terminating" },
    };
    const { object } = created(namespace, sketch);
    assert.deepEqual(object.spec.finalizers, ["example.com/own", "kubernetes"]);
    assert.deepEqual(object.status, { phase: "Active" });
    assert.deepEqual(object.metadata.labels, { "kubernetes.io/metadata.name": "x" });
  });

  it("changes finalizers only by finalize, and status only by status", () => {
    const old = created(namespace, {});
    const sketch = { spec: { finalizers: [] }, status: { phase: "Active", conditions: [] } };
    assert.deepEqual(updated(namespace, old, sketch).object.spec.finalizers, ["kubernetes"]);
    const finalized = updated(namespace, old, sketch, { subresource: "finalize" }).object;
    assert.equal(finalized.spec.finalizers?.length ?? 0, 0);
    const changed = { status: { phase: "Active", conditions: [{ type: "X", status: "True" }] } };
    assert.equal(updated(namespace, old, changed).object.status.conditions, undefined);
    const status = updated(namespace, old, changed, { subresource: "status" }).object;
    assert.equal(status.status.conditions.length, 1);
    assert.deepEqual(status.spec.finalizers, ["kubernetes"]);
  });
});

describe("ServiceAccount", () => {
  it("keeps only names of referenced Secrets", () => {
    const sketch = { secrets: [{ name: "s", kind: "Secret" }, {}], imagePullSecrets: [{}] };
    const { object } = created(serviceAccount, sketch);
    assert.deepEqual(object.secrets, [{ name: "s" }, {}]);
    assert.equal(serviceAccount.row(object, { now: 0 })[1], 2);
  });
});

describe("ResourceQuota", () => {
  const scopes = (hard: Sketch, ...names: string[]) => ({ spec: { hard, scopes: names } });
  const selector = (hard: Sketch, requirement: Sketch) => ({
    spec: { hard, scopeSelector: { matchExpressions: [requirement] } },
  });
  const expressions = "spec.scopeSelector.matchExpressions";
  complains(resourceQuota, [
    [{}, []],
    [
      { spec: { hard: { "count/deployments.apps": "3", "hugepages-2Mi": "4Mi", pods: "1e2" } } },
      [],
    ],
    [
      { spec: { hard: { widgets: "1" } } },
      [
        'Invalid spec.hard[widgets] = "widgets": must be a standard resource type or fully ' +
          "qualified",
        'Invalid spec.hard[widgets] = "widgets": must be a standard resource for quota',
      ],
    ],
    [
      { spec: { hard: { storage: "1" } } },
      ['Invalid spec.hard[storage] = "storage": must be a standard resource for quota'],
    ],
    [
      { spec: { hard: { pods: "-1", "count/pods": "500m" } } },
      [
        'Invalid spec.hard[count/pods] = "500m": must be an integer',
        'Invalid spec.hard[pods] = "-1": must be greater than or equal to 0',
      ],
    ],
    [
      scopes({ pods: "1" }, "Sometimes"),
      ['Invalid spec.scopes = ["Sometimes"]: unsupported scope'],
    ],
    [
      scopes({ pods: "1" }, "BestEffort", "NotBestEffort"),
      ['Invalid spec.scopes = ["BestEffort","NotBestEffort"]: conflicting scopes'],
    ],
    [
      scopes({ cpu: "1" }, "BestEffort"),
      ['Invalid spec.scopes = ["BestEffort"]: unsupported scope applied to resource'],
    ],
    [
      selector({ pods: "1" }, { scopeName: "", operator: "" }),
      [
        `Invalid ${expressions}.scopeName = "": unsupported scope`,
        `Invalid ${expressions}.operator = "": not a valid selector operator`,
      ],
    ],
    [
      selector({ memory: "1" }, { scopeName: "BestEffort", operator: "Exists" }),
      [
        `Invalid ${expressions} = {"MatchExpressions":[{"ScopeName":"BestEffort",` +
          '"Operator":"Exists","Values":null}]}: unsupported scope applied to resource',
      ],
    ],
    [
      selector({ pods: "1" }, { scopeName: "PriorityClass", operator: "In" }),
      [
        `Required ${expressions}.values: must be at least one value when \`operator\` is 'In' or ` +
          "'NotIn' for scope selector",
      ],
    ],
  ]);
  complainsOver(resourceQuota, scopes({ pods: "1" }, "Terminating"), [
    [scopes({ pods: "2" }, "Terminating"), []],
    [scopes({ pods: "1" }), ["Invalid spec.scopes = []: field is immutable"]],
  ]);
  complainsOver(resourceQuota, {}, [
    [
      { status: { used: { pods: "-3" } } },
      ['Invalid status.used[pods] = "-3": must be greater than or equal to 0'],
      { subresource: "status" },
    ],
    [{ status: { used: { pods: "-3" } } }, []],
  ]);

  it("prints usage and limit, with limits in a separate column", () => {
    const hard = { pods: "20", cpu: "2", "limits.memory": "1Gi" };
    const write = { status: { hard, used: { cpu: "500m", pods: "3" } } };
    const old = created(resourceQuota, {});
    const { object } = updated(resourceQuota, old, write, { subresource: "status" });
    const [, request, limit] = resourceQuota.row(object, { now: 0 });
    assert.deepEqual([request, limit], ["cpu: 500m/2, pods: 3/20", "limits.memory: 0/1Gi"]);
  });
});

describe("LimitRange", () => {
  const item = (rest: Sketch, type = "Container") => ({ spec: { limits: [{ type, ...rest }] } });
  const place = "spec.limits[0]";
  const widgets = (field: string) => [
    `Invalid ${place}.${field}[widgets] = "widgets": must be a standard resource type or fully ` +
      "qualified",
    `Invalid ${place}.${field}[widgets] = "widgets": must be a standard resource for containers`,
  ];
  complains(limitRange, [
    [{}, []],
    [item({}, "example.com/thing"), []],
    [
      item({}, "Node"),
      [`Invalid ${place}.type = "Node": must be a standard limit type or fully qualified`],
    ],
    [
      item({}, ""),
      [
        `Invalid ${place}.type = "": name part must be non-empty`,
        `Invalid ${place}.type = "": ${namePart}`,
      ],
    ],
    [
      { spec: { limits: [{ type: "Pod" }, { type: "Pod" }] } },
      ['Duplicate spec.limits[1].type = "Pod"'],
    ],
    [
      item({ min: { cpu: "2" }, max: { cpu: "1" } }),
      [
        `Invalid ${place}.min[cpu] = "2": min value 2 is greater than max value 1`,
        `Invalid ${place}.defaultRequest[cpu] = "1": min value 2 is greater than ` +
          "default request value 1",
        `Invalid ${place}.default[cpu] = "2": min value 2 is greater than default value 1`,
      ],
    ],
    [
      item({ max: { cpu: "1" }, default: { cpu: "2" } }),
      [
        `Invalid ${place}.defaultRequest[cpu] = "2": default request value 2 ` +
          "is greater than max value 1",
        `Invalid ${place}.default[cpu] = "1": default value 2 is greater than max value 1`,
      ],
    ],
    [
      item({ maxLimitRequestRatio: { cpu: "0.5" } }),
      [`Invalid ${place}.maxLimitRequestRatio[cpu] = "500m": ratio 500m is less than 1`],
    ],
    [
      item({ min: { cpu: "1" }, max: { cpu: "2" }, maxLimitRequestRatio: { cpu: "3" } }),
      [
        `Invalid ${place}.maxLimitRequestRatio[cpu] = "3": ratio 3 is greater than max/min = ` +
          "2.000000",
      ],
    ],
    [
      item({ default: { cpu: "1" }, defaultRequest: { cpu: "1" } }, "Pod"),
      [
        `Forbidden ${place}.default: may not be specified when \`type\` is 'Pod'`,
        `Forbidden ${place}.defaultRequest: may not be specified when \`type\` is 'Pod'`,
      ],
    ],
    [
      item({ max: { cpu: "1" } }, "PersistentVolumeClaim"),
      [
        `Required ${place}.limits: either minimum or maximum storage value is required, but ` +
          "neither was provided",
      ],
    ],
    [
      item({ max: { widgets: "1" } }),
      [...widgets("max"), ...widgets("default"), ...widgets("defaultRequest")],
    ],
    [
      item({ default: { "example.com/gpu": "2" }, defaultRequest: { "example.com/gpu": "1" } }),
      [
        `Invalid ${place}.defaultRequest[example.com/gpu] = "1": default value 2 must equal to ` +
          "defaultRequest value 1 in example.com/gpu",
      ],
    ],
  ]);

  it("defaults of containers from max, default and min", () => {
    const { object } = created(
      limitRange,
      item({
        max: { cpu: "2", memory: "1024Mi" },
        min: { cpu: "50m", "ephemeral-storage": "1Ki" },
        default: { cpu: "500m" },
      }),
    );
    const [{ default: limits, defaultRequest }] = object.spec.limits;
    assert.deepEqual(limits, { cpu: "500m", memory: "1Gi" });
    assert.deepEqual(defaultRequest, { cpu: "500m", memory: "1Gi", "ephemeral-storage": "1Ki" });
    assert.deepEqual(created(limitRange, item({}, "Pod")).object.spec.limits, [{ type: "Pod" }]);
  });
});
