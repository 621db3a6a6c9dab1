/** 100,000 ConfigMaps of 1 KB and 10,000 Pods on LMDB, which the server finds at its start. */
import { type BodyClass, dry, json, many } from "../build-body.ts";
import { digits, post, type Scene, serverWithCopies } from "./scene.ts";

const all = "/api/v1/configmaps";
const pods = "/api/v1/namespaces/default/pods";
const table = `${json};as=Table;g=meta.k8s.io;v=v1`;
const protobuf = "application/vnd.kubernetes.protobuf";

const configMap = {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: `c${digits(0)}`, labels: { app: "many", tier: "a" } },
  data: { text: "x".repeat(700) },
};

const pod = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: `p${digits(0)}`, labels: { app: "many" } },
  spec: {
    serviceAccountName: "default",
    automountServiceAccountToken: false,
    containers: many(3, (i) => ({
      name: `c${i}`,
      image: "example.com/image:1",
      env: many(5, (n) => ({ name: `NAME_${n}`, value: `value ${n}` })),
    })),
  },
};

const watchList =
  `${all}?watch=true&sendInitialEvents=true&allowWatchBookmarks=true` +
  "&resourceVersionMatch=NotOlderThan&timeoutSeconds=4";

function get(name: string, path: string, accept = json): BodyClass {
  return { name: `many: ${name}`, path, method: "GET", type: json, body: Buffer.alloc(0), accept };
}

export const objects: Scene = {
  name: "100,000 objects",
  prepare: (start) =>
    serverWithCopies(
      start,
      async (server) => {
        const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default" } };
        await post(server, "/api/v1/namespaces/default/serviceaccounts", account);
        await post(server, "/api/v1/namespaces/default/configmaps", configMap);
        await post(server, pods, pod);
      },
      [
        {
          key: `/registry/configmaps/default/c${digits(0)}`,
          replace: (n) => [[`c${digits(0)}`, `c${digits(n)}`]],
          count: 100_000,
        },
        {
          key: `/registry/pods/default/p${digits(0)}`,
          replace: (n) => [[`p${digits(0)}`, `p${digits(n)}`]],
          count: 10_000,
        },
      ],
    ),
  requests: [
    get("list of 500", `${all}?limit=500`),
    get("list by a label that none has", `${all}?labelSelector=app%3Dnone`),
    get("list by a set of labels", `${all}?labelSelector=app+notin+(many,x),tier+in+(a,b)`),
    get("list by a field", `${all}?fieldSelector=metadata.name%3Dc000500`),
    get("list by a field that is not", `${all}?fieldSelector=metadata.name!%3Dc000500`),
    get("list, JSON", all),
    get("list, Protobuf", all, protobuf),
    get("list, YAML, 2,000", `${all}?limit=2000`, "application/yaml"),
    get("list, indented, 10,000", `${all}?limit=10000&pretty=true`),
    get("list, a table", all, table),
    get("watch-list", watchList),
    get("watch-list, Protobuf", watchList, `${protobuf};stream=watch`),
    get("watch from the oldest", `${all}?watch=true&resourceVersion=0&timeoutSeconds=4`),
    get("pods, first list of 500", `${pods}?limit=500`),
    get("pods, a table of 10,000", pods, table),
    get("pods, JSON", pods),
    get("pods, Protobuf", pods, protobuf),
    get("pods, by node", `${pods}?fieldSelector=spec.nodeName%3Dn`),
    get("pods, by labels", `${pods}?labelSelector=app!%3Dmany`),
    {
      name: "many: dry deletion of 10,000 pods",
      path: pods + dry,
      method: "DELETE",
      type: json,
      body: Buffer.alloc(0),
    },
    {
      name: "many: deletion of 10,000 pods",
      path: pods,
      method: "DELETE",
      type: json,
      body: Buffer.alloc(0),
    },
    {
      name: "many: dry deletion of 100,000",
      path: "/api/v1/namespaces/default/configmaps" + dry,
      method: "DELETE",
      type: json,
      body: Buffer.alloc(0),
    },
    get("metrics", "/metrics"),
  ],
};
