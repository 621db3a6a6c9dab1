import assert from "node:assert/strict";
import * as api from "#api";
import { resolved, type StructType } from "#schema";
import { defaulted, type Sketch } from "../../testing.ts";

/** The fields from the type down to its pod template. */
function wayToTemplate(type: StructType<any>): readonly string[] | undefined {
  if (type.name === "PodTemplateSpec" || type.name === "Pod") return [];
  for (const name of ["template", "spec", "jobTemplate"]) {
    const field = type.fields[name];
    const inner = field === undefined ? undefined : resolved(field.type);
    const way = inner?.tag === "struct" ? wayToTemplate(inner) : undefined;
    if (way !== undefined) return [name, ...way];
  }
  return undefined;
}

const stages = ["alpha", "beta"];
const former = Object.fromEntries(
  stages.flatMap((stage) => [
    [`pod.${stage}.kubernetes.io/init-containers`, "[]"],
    [`pod.${stage}.kubernetes.io/init-container-statuses`, "[]"],
  ]),
);

describe("annotations of init containers in old versions", () => {
  const kinds = api.builtinKinds.flatMap((kind) => {
    const hub = kind.versions.find(({ convert }) => convert === "hub");
    const way = hub === undefined ? undefined : wayToTemplate(hub.struct);
    return way === undefined ? [] : [{ kind, way }];
  });
  it("are removed from every kind with pod templates", () => {
    const names = kinds.map(({ kind }) => kind.kind).sort();
    const workloads = ["CronJob", "DaemonSet", "Deployment", "Job", "Pod", "PodTemplate"];
    const others = ["ReplicaSet", "ReplicationController", "StatefulSet"];
    assert.deepEqual(names, [...workloads, ...others]);
  });
  for (const { kind, way } of kinds) {
    const annotationsOf = (annotations: Sketch) => {
      const pod: Sketch = { metadata: { annotations }, spec: {} };
      const sketch: any = way.reduceRight<Sketch>((inner, name) => ({ [name]: inner }), pod);
      const inside: any = way.reduce((each, name) => each[name], defaulted(kind, sketch));
      return inside.metadata.annotations;
    };
    it(`are removed from ${kind.kind}, others are kept`, () => {
      const appArmor = { "container.apparmor.security.beta.kubernetes.io/c": "unconfined" };
      assert.deepEqual(annotationsOf({ ...former, ...appArmor }), appArmor);
      assert.equal(annotationsOf(former), undefined);
    });
  }
});
