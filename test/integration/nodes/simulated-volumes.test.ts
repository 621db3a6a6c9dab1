/** Files of simulated containers with admission, authorization and tokens of the server. */
import assert from "node:assert/strict";
import { type RunningServer, startServer } from "../../../cmd/keelson/index.ts";
import { Cluster } from "./cluster.ts";

const namespace = "/api/v1/namespaces/default";
const folder = "/var/run/secrets/kubernetes.io/serviceaccount";

describe("files of simulated containers", () => {
  let server: RunningServer;
  let cluster: Cluster;

  before(async () => {
    server = await startServer({ nodes: { count: 1 } });
    cluster = new Cluster(server);
    await cluster.until("/api/v1/nodes/hollow-0", ({ metadata }) => metadata?.name);
    await cluster.until(`${namespace}/configmaps/kube-root-ca.crt`, ({ data }) => data);
    await cluster.until(`${namespace}/serviceaccounts/default`, ({ metadata }) => metadata?.name);
  });
  after(() => server.close());

  it("have a token of the service account that is bound to the pod", async () => {
    const files = `cat ${folder}/namespace; echo; head -n 1 ${folder}/ca.crt; cat ${folder}/token`;
    await cluster.create(`${namespace}/pods`, {
      metadata: { name: "reader" },
      spec: {
        nodeName: "hollow-0",
        restartPolicy: "Never",
        containers: [
          {
            name: "app",
            image: "busybox",
            command: ["sh", "-c", `(${files}) > /dev/termination-log`],
          },
        ],
      },
    });
    const { metadata, status } = await cluster.until(
      `${namespace}/pods/reader`,
      (pod) => pod.status?.phase === "Succeeded",
    );
    const { message } = status.containerStatuses[0].state.terminated;
    const [name, authority, token] = message.split("\n");
    const { data } = await cluster.get(`${namespace}/configmaps/kube-root-ca.crt`);
    assert.deepEqual([name, authority], ["default", data["ca.crt"].split("\n")[0]]);
    const review = await cluster.create("/apis/authentication.k8s.io/v1/tokenreviews", {
      spec: { token },
    });
    assert.equal(review.status.authenticated, true);
    const { username, extra } = review.status.user;
    assert.equal(username, "system:serviceaccount:default:default");
    assert.deepEqual(extra["authentication.kubernetes.io/pod-uid"], [metadata.uid]);
  });
});
