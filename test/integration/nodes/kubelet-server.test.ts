/** The server of simulated kubelets: WebSocket subprotocols through the API server, and documents. */
import assert from "node:assert/strict";
import { request } from "node:https";
import { WebSocket } from "ws";
import { type RunningServer, startServer } from "../../../cmd/keelson/index.ts";
import { Cluster } from "./cluster.ts";

const pods = "/api/v1/namespaces/default/pods";

interface Message {
  readonly channel: number;
  readonly text: string;
  readonly isBinary: boolean;
}

/** A subprotocol of channels, without the domain; undefined = none is offered. */
interface Protocol {
  readonly name: string | undefined;
  readonly isBase64: boolean;
  /** Whether channel 3 has a Status; otherwise the text of a failure. */
  readonly hasStatus: boolean;
}

const protocols: readonly Protocol[] = [
  { name: undefined, isBase64: false, hasStatus: false },
  { name: "channel", isBase64: false, hasStatus: false },
  { name: "base64.channel", isBase64: true, hasStatus: false },
  { name: "v4.channel", isBase64: false, hasStatus: true },
  { name: "v4.base64.channel", isBase64: true, hasStatus: true },
  { name: "v5.channel", isBase64: false, hasStatus: true },
];

describe("simulated kubelets", () => {
  let server: RunningServer;
  let cluster: Cluster;
  let port: number;
  let host: string;

  before(async () => {
    server = await startServer({ port: 0, nodes: { count: 1 } });
    cluster = new Cluster(server);
    const annotations = { "simulated.keelson.dev/log": "one\ntwo\n" };
    const spec = { nodeName: "hollow-0", containers: [{ name: "c", image: "i" }] };
    await cluster.create(pods, { metadata: { name: "web", annotations }, spec });
    await cluster.until(`${pods}/web`, ({ status }) => status.phase === "Running");
    const { status } = await cluster.get("/api/v1/nodes/hollow-0");
    port = status.daemonEndpoints.kubeletEndpoint.Port;
    host = status.addresses.find(({ type }: { type: string }) => type === "InternalIP").address;
  });
  after(() => server?.close());

  function open(path: string, { name }: Pick<Protocol, "name">, pod = "web"): WebSocket {
    const url = `${server.url.replace("https", "wss")}${pods}/${pod}/${path}`;
    const headers = { authorization: `Bearer ${server.token}` };
    const offered = name === undefined ? [] : ["unknown.k8s.io", `${name}.k8s.io`];
    return new WebSocket(url, offered, { headers, rejectUnauthorized: false });
  }

  function messagesOf(socket: WebSocket, isBase64: boolean): Message[] {
    const messages: Message[] = [];
    socket.on("message", (data: Buffer, isBinary) => {
      const [first = 0, ...rest] = data;
      const bytes = Buffer.from(rest);
      const text = isBase64 ? Buffer.from(bytes.toString(), "base64").toString() : bytes.toString();
      messages.push({ channel: isBase64 ? first - 48 : first, text, isBinary });
    });
    return messages;
  }

  function closed(socket: WebSocket): Promise<void> {
    return new Promise((resolve, reject) => {
      socket.once("close", () => resolve());
      socket.once("error", reject);
    });
  }

  const write = (socket: WebSocket, channel: number, text: string, isBase64: boolean) =>
    isBase64
      ? socket.send(`${channel}${Buffer.from(text).toString("base64")}`)
      : socket.send(Buffer.concat([Buffer.of(channel), Buffer.from(text)]));

  const textOn = (messages: readonly Message[], channel: number) =>
    messages
      .filter((each) => each.channel === channel)
      .map(({ text }) => text)
      .join("");

  for (const protocol of protocols) {
    const { name, isBase64, hasStatus } = protocol;
    describe(`with the subprotocol ${name ?? "none"}`, () => {
      it("execute commands", async () => {
        const socket = open("exec?command=echo&command=hi&stdout=1&stderr=1", protocol);
        const messages = messagesOf(socket, isBase64);
        await closed(socket);
        assert.equal(socket.protocol, name === undefined ? "" : `${name}.k8s.io`);
        assert.deepEqual([messages[0]?.channel, messages[0]?.text], [1, ""]);
        assert.ok(messages.every(({ isBinary }) => isBinary !== isBase64));
        assert.equal(textOn(messages, 1), "hi\n");
        const status = textOn(messages, 3);
        if (hasStatus) assert.equal(JSON.parse(status).status, "Success");
        else assert.equal(status, "");
      });

      it("deliver input, and report a failure", async () => {
        const socket = open("exec?command=sh&stdin=1&stdout=1", protocol);
        const messages = messagesOf(socket, isBase64);
        socket.once("open", () => write(socket, 0, "echo in; exit 3\n", isBase64));
        await closed(socket);
        assert.match(textOn(messages, 1), /in\n$/);
        const failure = textOn(messages, 3);
        const message = hasStatus ? JSON.parse(failure).message : failure;
        assert.match(message, /command terminated with non-zero exit code: exit status 3/);
      });

      it("attach", async () => {
        const socket = open("attach?stdout=1", protocol);
        const messages = messagesOf(socket, isBase64);
        await new Promise<void>((resolve, reject) => {
          socket.on("message", () => textOn(messages, 1).includes("two") && resolve());
          socket.once("error", reject);
        });
        socket.close();
        assert.match(textOn(messages, 1), /one\ntwo\n/);
      });
    });
  }

  for (const protocol of protocols.filter(
    ({ name }) => name === undefined || name.startsWith("v4"),
  )) {
    const { name, isBase64 } = protocol;
    it(`forward ports with the subprotocol ${name ?? "none"}`, async () => {
      const socket = open("portforward?ports=80", protocol);
      const messages = messagesOf(socket, isBase64);
      socket.once("open", () => write(socket, 0, "GET / HTTP/1.1\r\n\r\n", isBase64));
      await closed(socket);
      assert.deepEqual(
        messages.slice(0, 2).map(({ channel, text }) => [channel, text]),
        [
          [0, "P\0"],
          [1, "P\0"],
        ],
      );
      assert.match(textOn(messages, 0), /HTTP\/1\.1 200 OK[^]*nothing listens on port 80/);
    });
  }

  it("reject other subprotocols with 403", async () => {
    for (const path of ["exec?command=id&stdout=1", "attach?stdout=1", "portforward?ports=80"]) {
      for (const name of ["v3.channel", "channel.example"]) {
        await assert.rejects(closed(open(path, { name })), /403/, `${path} ${name}`);
      }
    }
  });

  it("execute commands, commands of containers and probes on the same files", async () => {
    const script = "echo up > /tmp/healthy; sleep 3600";
    const readinessProbe = {
      exec: { command: ["cat", "/tmp/healthy"] },
      periodSeconds: 1,
      failureThreshold: 1,
    };
    const container = { name: "c", image: "i", command: ["sh", "-c", script], readinessProbe };
    const spec = { nodeName: "hollow-0", containers: [container] };
    await cluster.create(pods, { metadata: { name: "probed" }, spec });
    const becomes = (isReady: boolean) =>
      cluster.until(
        `${pods}/probed`,
        ({ status }) => status.containerStatuses?.[0]?.ready === isReady,
      );
    const run = async (...command: string[]) => {
      const query = new URLSearchParams();
      for (const word of command) query.append("command", word);
      const socket = open(`exec?stdout=1&${query}`, { name: "v4.channel" }, "probed");
      const messages = messagesOf(socket, false);
      await closed(socket);
      return textOn(messages, 1);
    };
    await becomes(true);
    assert.equal(await run("cat", "/tmp/healthy"), "up\n");
    await run("rm", "/tmp/healthy");
    await becomes(false);
    await run("touch", "/tmp/healthy");
    await becomes(true);
  });

  it("reject commands without a stream", async () => {
    await assert.rejects(closed(open("exec?command=id", { name: "v4.channel" })), /400/);
  });

  function get(
    path: string,
  ): Promise<{ status: number; type: string; location: string; text: string }> {
    return new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${server.token}` };
      const to = { host, port, path, headers, rejectUnauthorized: false };
      const call = request(to, (response) => {
        let text = "";
        response.on("data", (chunk: Buffer) => (text += chunk.toString()));
        response.on("end", () => {
          const { statusCode: status = 0, headers: received } = response;
          const { "content-type": type = "", location = "" } = received;
          resolve({ status, type, location, text });
        });
      });
      call.once("error", reject);
      call.end();
    });
  }

  it("serve their log folder as a file server", async () => {
    const head = '<!doctype html>\n<meta name="viewport" content="width=device-width">\n<pre>\n';
    const { status, type, text } = await get("/logs/");
    assert.deepEqual([status, type], [200, "text/html; charset=utf-8"]);
    const links = ["containers/", "pods/"].map((name) => `<a href="${name}">${name}</a>\n`);
    assert.equal(text, `${head}${links.join("")}</pre>\n`);
    assert.equal((await get("/logs/pods")).location, "pods/");
    const { metadata, status: pod } = await cluster.get(`${pods}/web`);
    const folder = `/logs/pods/default_web_${metadata.uid}/c/`;
    assert.match((await get(folder)).text, /<a href="0\.log">0\.log<\/a>/);
    const lines = /^\d{4}-\S+Z stdout F one\n\d{4}-\S+Z stdout F two\n$/;
    assert.match((await get(`${folder}0.log`)).text, lines);
    const id = pod.containerStatuses[0].containerID.split("//")[1];
    assert.match((await get(`/logs/containers/web_default_c-${id}.log`)).text, lines);
    for (const path of ["/logs", "/logs/none", "/logs/pods/none/", `${folder}1.log`]) {
      assert.equal((await get(path)).status, 404, path);
    }
  });

  it("serve their own metrics", async () => {
    const { text } = await get("/metrics");
    assert.match(text, /^kubelet_node_name\{node="hollow-0"\} 1$/m);
    const { items } = await cluster.get(pods);
    const running = `${items.length}$`;
    assert.match(text, new RegExp(`^kubelet_running_pods ${running}`, "m"));
    const containers = 'kubelet_running_containers\\{container_state="running"\\}';
    assert.match(text, new RegExp(`^${containers} ${running}`, "m"));
    assert.equal((await get("/metrics/probes")).status, 200);
  });
});
