import assert from "node:assert/strict";
import type { RunningServer } from "../../../cmd/keelson/index.ts";
import { eventually, send, startForTests } from "./testing.ts";

describe("pod security", () => {
  let server: RunningServer;
  before(async () => {
    server = await startForTests();
  });
  after(() => server.close());

  async function namespace(name: string, labels: Readonly<Record<string, string>>) {
    const keyed = Object.entries(labels).map(([key, value]) => [
      `pod-security.kubernetes.io/${key}`,
      value,
    ]);
    const metadata = { name, labels: Object.fromEntries(keyed) };
    const made = { apiVersion: "v1", kind: "Namespace", metadata };
    const answer = await send(server, "POST", "/api/v1/namespaces", made);
    const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default" } };
    await send(server, "POST", `/api/v1/namespaces/${name}/serviceaccounts`, account);
    return answer;
  }

  async function pod(where: string, spec: object, container: object = {}) {
    const containers = [{ name: "a", image: "a", ...container }];
    const { status, body, warnings } = await send(
      server,
      "POST",
      `/api/v1/namespaces/${where}/pods?dryRun=All`,
      { apiVersion: "v1", kind: "Pod", metadata: { name: "p" }, spec: { containers, ...spec } },
    );
    const violates = /violates PodSecurity (.*)$/.exec(body.message ?? "")?.[1];
    return { status, violates, warnings, message: body.message };
  }

  const good = {
    allowPrivilegeEscalation: false,
    capabilities: { drop: ["ALL"] },
    runAsNonRoot: true,
    seccompProfile: { type: "RuntimeDefault" },
  };

  it("rejects pods that violate the namespace's level, with Kubernetes' message", async () => {
    await namespace("restricted", { enforce: "restricted" });
    assert.equal((await pod("restricted", {}, { securityContext: good })).status, 201);
    const { status, message } = await pod("restricted", {});
    assert.equal(status, 403);
    assert.equal(
      message,
      'pods "p" is forbidden: violates PodSecurity "restricted:latest": ' +
        'allowPrivilegeEscalation != false (container "a" must set ' +
        "securityContext.allowPrivilegeEscalation=false), unrestricted capabilities " +
        '(container "a" must set securityContext.capabilities.drop=["ALL"]), ' +
        'runAsNonRoot != true (pod or container "a" must set securityContext.runAsNonRoot=true), ' +
        'seccompProfile (pod or container "a" must set securityContext.seccompProfile.type to ' +
        '"RuntimeDefault" or "Localhost")',
    );
  });

  it("applies the checks of the baseline level, and of older versions", async () => {
    await namespace("baseline", { enforce: "baseline" });
    await namespace("old", { enforce: "baseline", "enforce-version": "v1.26" });
    const cases: readonly (readonly [string | undefined, object, object?])[] = [
      [undefined, {}],
      ["host namespaces (hostNetwork=true, hostPID=true)", { hostNetwork: true, hostPID: true }],
      [
        'hostPath volumes (volumes "v", "w")',
        {
          volumes: [
            { name: "v", hostPath: { path: "/" } },
            { name: "w", hostPath: { path: "/" } },
          ],
        },
      ],
      [
        'hostPort (container "a" uses hostPort 80)',
        {},
        { ports: [{ containerPort: 80, hostPort: 80 }] },
      ],
      [
        'non-default capabilities (container "a" must not include "NET_ADMIN", "SYS_TIME" in ' +
          "securityContext.capabilities.add)",
        {},
        { securityContext: { capabilities: { add: ["SYS_TIME", "CHOWN", "NET_ADMIN"] } } },
      ],
      [
        'seccompProfile (pod must not set securityContext.seccompProfile.type to "Unconfined")',
        { securityContext: { seccompProfile: { type: "Unconfined" } } },
      ],
      [
        'seLinuxOptions (container "a" set forbidden securityContext.seLinuxOptions: type "t"; ' +
          "user may not be set)",
        {},
        { securityContext: { seLinuxOptions: { type: "t", user: "u" } } },
      ],
      [
        "forbidden sysctls (kernel.msgmax)",
        {
          securityContext: {
            sysctls: [
              { name: "kernel.msgmax", value: "1" },
              { name: "net.ipv4.ip_local_reserved_ports", value: "1" },
            ],
          },
        },
      ],
    ];
    for (const [wanted, spec, container] of cases) {
      const { violates, message } = await pod("baseline", spec, container);
      const expected = wanted === undefined ? undefined : `"baseline:latest": ${wanted}`;
      assert.equal(violates, expected, message);
    }
    const [, reserved = {}] = cases.at(-1) ?? [];
    assert.equal(
      (await pod("old", reserved)).violates,
      '"baseline:v1.26": forbidden sysctls (kernel.msgmax, net.ipv4.ip_local_reserved_ports)',
    );
  });

  it("warns of workloads whose pods would be rejected, and of pods at the warn level", async () => {
    await namespace("warned", { warn: "baseline" });
    const { status, warnings } = await pod("warned", { hostPID: true });
    assert.equal(status, 201);
    const why = 'would violate PodSecurity \\"baseline:latest\\": host namespaces (hostPID=true)';
    assert(warnings.includes(why), warnings);
    const deployments = "/apis/apps/v1/namespaces/baseline/deployments";
    const deployment = await send(server, "POST", deployments, {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "d" },
      spec: {
        selector: { matchLabels: { a: "b" } },
        template: {
          metadata: { labels: { a: "b" } },
          spec: { hostPID: true, containers: [{ name: "a", image: "a" }] },
        },
      },
    });
    assert.equal(deployment.status, 201, deployment.body.message);
    assert(deployment.warnings.includes(why), deployment.warnings);
  });

  it("applies defaults and exemptions of its configuration", async () => {
    const group = "pod-security.admission.config.k8s.io";
    const exemptions = { namespaces: ["kube-system"], usernames: [], runtimeClasses: [] };
    const kind = "PodSecurityConfiguration";
    const defaults = { enforce: "baseline", "enforce-version": "v1.28" };
    const configuration = { apiVersion: `${group}/v1`, kind, defaults, exemptions };
    const whole = {
      apiVersion: "apiserver.config.k8s.io/v1",
      kind: "AdmissionConfiguration",
      plugins: [{ name: "PodSecurity", configuration }],
    };
    const before = server;
    server = await startForTests({ admissionConfiguration: { text: JSON.stringify(whole) } });
    try {
      for (const where of ["default", "kube-system"]) await namespace(where, {});
      assert.match((await pod("default", { hostPID: true })).violates ?? "", /^"baseline:v1.28": /);
      assert.equal((await pod("kube-system", { hostPID: true })).status, 201);
      const odd = { ...whole, plugins: [{ name: "Other" }] };
      await assert.rejects(
        startForTests({ admissionConfiguration: { text: JSON.stringify(odd) } }),
        /plugin "Other" takes no configuration here/,
      );
    } finally {
      await server.close();
      server = before;
    }
  });

  it("validates namespace labels, and warns of existing pods that violate new ones", async () => {
    const wrong = await namespace("wrong", { enforce: "strict", "warn-version": "1.2" });
    assert.equal(wrong.status, 422);
    assert.match(
      wrong.body.message,
      /enforce\]: Invalid value: "strict": must be one of privileged, baseline, restricted/,
    );
    await namespace("tightened", {});
    const created = await send(server, "POST", "/api/v1/namespaces/tightened/pods", {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "loose" },
      spec: { hostPID: true, containers: [{ name: "a", image: "a" }] },
    });
    assert.equal(created.status, 201);
    const labels = { "pod-security.kubernetes.io/enforce": "baseline" };
    const path = "/api/v1/namespaces/tightened";
    const { warnings } = await send(server, "PATCH", path, { metadata: { labels } });
    const level = 'existing pods in namespace \\"tightened\\" violate the new PodSecurity enforce';
    assert(warnings.includes(level), warnings);
    assert(warnings.includes("loose: host namespaces"), warnings);
    const image = { metadata: { labels: { still: "mine" } } };
    const changed = await send(server, "PATCH", `${path}/pods/loose`, image);
    assert.equal(changed.status, 200);
    const held = () => pod("tightened", { hostPID: true });
    assert.equal((await eventually(held, ({ status }) => status === 403)).status, 403);
  });
});
