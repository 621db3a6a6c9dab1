/** Every way in which kubectl changes objects, on a Deployment. */
import assert from "node:assert/strict";
import { type RunningServer, startServer } from "../../cmd/keelson/index.ts";
import { Kubectl } from "./kubectl.ts";

/** `kubectl apply` without a flag owns fields under this name. */
const clientSide = "kubectl-client-side-apply";
const serverSide = "kubectl";

function manifest(image: string, more: Readonly<Record<string, number>> = {}): string {
  const lines = Object.entries(more).map(([name, value]) => `  ${name}: ${value}`);
  return [
    "apiVersion: apps/v1",
    "kind: Deployment",
    "metadata:",
    "  name: web",
    "  labels: { app: web }",
    "spec:",
    ...lines,
    "  selector: { matchLabels: { app: web } }",
    "  template:",
    "    metadata: { labels: { app: web } }",
    "    spec:",
    "      containers:",
    "      - name: main",
    `        image: ${image}`,
    "      - name: side",
    "        image: side:1",
    "",
  ].join("\n");
}

describe("kubectl, writes", () => {
  let server: RunningServer;
  let kubectl: Kubectl;

  before(async function () {
    if (!Kubectl.isThere) this.skip();
    server = await startServer({ port: 0, controllers: false });
  });
  after(() => server?.close());

  beforeEach(() => {
    // An editor that changes the image: what a user would do by hand.
    const editor = "sed -i s/main:1/main:edited/";
    kubectl = new Kubectl(server.kubeconfig, { EDITOR: editor, KUBE_EDITOR: editor });
  });
  afterEach(async () => {
    await kubectl.ok("delete deployment,replicaset --all");
    kubectl[Symbol.dispose]();
  });

  const images = async () => {
    const { spec } = await kubectl.json("get deployment web");
    return spec.template.spec.containers.map((container: any) => container.image);
  };
  const managers = async (): Promise<readonly string[]> => {
    const { metadata } = await kubectl.json("get deployment web --show-managed-fields");
    const entries: readonly { manager: string; operation: string }[] = metadata.managedFields;
    return entries.map(({ manager, operation }) => `${manager} ${operation}`).sort();
  };

  it("applies on the client's side: changes, removes and leaves alone", async () => {
    assert.match(await kubectl.ok("apply -f -", manifest("main:1", { replicas: 2 })), /created/);
    assert.match(await kubectl.ok("apply -f -", manifest("main:1", { replicas: 2 })), /unchanged/);
    await kubectl.ok("scale deployment web --replicas=5");
    await kubectl.ok("apply -f -", manifest("main:2"));
    const { spec } = await kubectl.json("get deployment web");
    // What the manifest named before and names no more goes back to its default.
    assert.equal(spec.replicas, 1);
    assert.deepEqual(await images(), ["main:2", "side:1"]);
  });

  it("applies on the server's side: conflicts name the owner, force takes over", async () => {
    await kubectl.ok("apply --server-side -f -", manifest("main:1", { replicas: 2 }));
    assert.deepEqual(await managers(), [`${serverSide} Apply`]);
    const other = "apply --server-side --field-manager=other -f -";
    const refused = await kubectl.attempt(other, manifest("main:2", { replicas: 2 }));
    assert.equal(refused.status, 1);
    assert.match(refused.error, /conflict with "kubectl".*containers\[name="main"\]\.image/s);
    await kubectl.ok(`${other} --force-conflicts`, manifest("main:2", { replicas: 2 }));
    assert.deepEqual(await images(), ["main:2", "side:1"]);
    const lost = await kubectl.attempt("apply --server-side -f -", manifest("main:1"));
    assert.match(lost.error, /conflict with "other"/);
    // A field that is dropped from the applied configuration stays while another manager owns it.
    await kubectl.ok(`${other} --force-conflicts`, manifest("main:2"));
    await kubectl.ok("apply --server-side -f -", manifest("main:2", { replicas: 2 }));
    await kubectl.ok("apply --server-side -f -", manifest("main:2"));
    const { spec } = await kubectl.json("get deployment web");
    assert.equal(spec.replicas, 1);
  });

  it("moves from the client's to the server's side without conflicts", async () => {
    await kubectl.ok("apply -f -", manifest("main:1", { replicas: 3 }));
    assert.deepEqual(await managers(), [`${clientSide} Update`]);
    await kubectl.ok("apply --server-side -f -", manifest("main:2", { replicas: 3 }));
    // The annotation of the client's side is given an owner of its own.
    assert.deepEqual(await managers(), [`${serverSide} Apply`, `${serverSide}-last-applied Apply`]);
    await kubectl.ok("apply --server-side -f -", manifest("main:2"));
    const { spec } = await kubectl.json("get deployment web");
    assert.equal(spec.replicas, 1);
  });

  it("patches in every type, and refuses patches that do not fit", async () => {
    await kubectl.ok("apply -f -", manifest("main:1"));
    const template = (containers: string) => `{"spec":{"template":{"spec":${containers}}}}`;
    const strategic = template('{"containers":[{"name":"main","image":"main:strategic"}]}');
    await kubectl.ok(`patch deployment web -p ${strategic}`);
    assert.deepEqual(await images(), ["main:strategic", "side:1"]);
    const removal = template('{"containers":[{"name":"side","$patch":"delete"}]}');
    await kubectl.ok(`patch deployment web --type=strategic -p ${removal}`);
    assert.deepEqual(await images(), ["main:strategic"]);
    const merge = template('{"containers":[{"name":"only","image":"only:merge"}]}');
    await kubectl.ok(`patch deployment web --type=merge -p ${merge}`);
    assert.deepEqual(await images(), ["only:merge"]);
    const pointer = "/spec/template/spec/containers/0/image";
    const operations = (old: string) =>
      `[{"op":"test","path":"${pointer}","value":"${old}"},` +
      `{"op":"replace","path":"${pointer}","value":"only:json"}]`;
    const wrong = await kubectl.attempt(`patch deployment web --type=json -p ${operations("no")}`);
    assert.match(wrong.error, /the server rejected our request due to an error in our request/);
    await kubectl.ok(`patch deployment web --type=json -p ${operations("only:merge")}`);
    assert.deepEqual(await images(), ["only:json"]);
    const bad = await kubectl.attempt('patch deployment web -p {"spec":{"replicas":-1}}');
    assert.match(bad.error, /spec\.replicas: Invalid value: -1: must be greater than or/);
  });

  it("edits, sets images, labels, annotates and scales", async () => {
    await kubectl.ok("apply -f -", manifest("main:1"));
    assert.match(await kubectl.ok("edit deployment web"), /edited/);
    assert.deepEqual(await images(), ["main:edited", "side:1"]);
    await kubectl.ok("set image deployment/web side=side:set");
    assert.deepEqual(await images(), ["main:edited", "side:set"]);
    await kubectl.ok("set env deployment/web MODE=fast");
    await kubectl.ok("label deployment web tier=front");
    const taken = await kubectl.attempt("label deployment web tier=back");
    assert.match(taken.error, /--overwrite is false/);
    await kubectl.ok("annotate deployment web note=short");
    await kubectl.ok("label deployment web tier-");
    const stale = await kubectl.attempt("scale deployment web --current-replicas=9 --replicas=2");
    assert.match(stale.error, /Expected replicas to be 9, was 1/);
    await kubectl.ok("scale deployment web --current-replicas=1 --replicas=4");
    const { metadata, spec } = await kubectl.json("get deployment web");
    assert.deepEqual([spec.replicas, metadata.labels], [4, { app: "web" }]);
    assert.equal(metadata.annotations.note, "short");
    assert.equal(spec.template.spec.containers[0].env[0].value, "fast");
  });

  it("replaces, by force too, and tells what would change", async () => {
    await kubectl.ok("create --save-config -f -", manifest("main:1"));
    const { metadata: before } = await kubectl.json("get deployment web");
    const diff = await kubectl.attempt("diff -f -", manifest("main:2", { replicas: 7 }));
    assert.equal(diff.status, 1);
    assert.match(diff.out, /^-\s+- image: main:1\n\+\s+- image: main:2$/m);
    assert.match(diff.out, /^\+\s+replicas: 7$/m);
    assert.equal((await kubectl.attempt("diff -f -", manifest("main:1"))).status, 0);
    await kubectl.ok("replace -f -", manifest("main:2"));
    const { metadata: after } = await kubectl.json("get deployment web");
    assert.deepEqual([after.uid, after.generation], [before.uid, 2]);
    const moved = manifest("main:3").replaceAll("app: web", "app: moved");
    const refused = await kubectl.attempt("replace -f -", moved);
    assert.match(refused.error, /spec\.selector: .*field is immutable/);
    await kubectl.ok("replace --force -f -", moved);
    const { metadata } = await kubectl.json("get deployment web");
    assert.notEqual(metadata.uid, before.uid);
    assert.equal(metadata.generation, 1);
  });

  it("shows the history of a rollout, and undoes one", async () => {
    await kubectl.ok("apply -f -", manifest("main:2"));
    const { metadata } = await kubectl.json("get deployment web");
    for (const revision of [1, 2]) {
      await kubectl.ok("create -f -", replicaSet(metadata.uid, revision));
    }
    const annotation = "deployment.kubernetes.io/revision=2";
    await kubectl.ok(`annotate deployment web ${annotation}`);
    const history = await kubectl.ok("rollout history deployment/web");
    assert.match(history, /REVISION +CHANGE-CAUSE\n1 +change 1\n2 +change 2/);
    const first = await kubectl.ok("rollout history deployment/web --revision=1");
    assert.match(first, /Image:\s+main:1/);
    await kubectl.ok("rollout undo deployment/web --to-revision=1");
    assert.equal((await images())[0], "main:1");
    await kubectl.ok("rollout pause deployment/web");
    await kubectl.ok("rollout resume deployment/web");
    await kubectl.ok("rollout restart deployment/web");
    const { spec } = await kubectl.json("get deployment web");
    assert.ok(spec.template.metadata.annotations["kubectl.kubernetes.io/restartedAt"]);
  });

  it("writes nothing in a dry run of the server", async () => {
    const created = await kubectl.ok("apply --dry-run=server -f -", manifest("main:1"));
    assert.match(created, /created \(server dry run\)/);
    assert.match((await kubectl.attempt("get deployment web")).error, /NotFound/);
    await kubectl.ok("apply -f -", manifest("main:1"));
    await kubectl.ok("scale deployment web --replicas=3 --dry-run=server");
    await kubectl.ok("delete deployment web --dry-run=server");
    assert.equal((await kubectl.json("get deployment web")).spec.replicas, 1);
  });
});

/** What the controller of deployments leaves behind of a revision. */
function replicaSet(uid: string, revision: number): string {
  const labels = { app: "web", "pod-template-hash": String(revision) };
  return JSON.stringify({
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    metadata: {
      name: `web-${revision}`,
      labels,
      annotations: {
        "deployment.kubernetes.io/revision": String(revision),
        "kubernetes.io/change-cause": `change ${revision}`,
      },
      ownerReferences: [
        { apiVersion: "apps/v1", kind: "Deployment", name: "web", uid, controller: true },
      ],
    },
    spec: {
      replicas: 0,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { containers: [{ name: "main", image: `main:${revision}` }] },
      },
    },
  });
}
