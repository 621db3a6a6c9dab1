/** The test server as a test suite in another language uses it: a process, a line of JSON, HTTP. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { root } from "../../test/tidy/source.ts";
import type { ServerDescription } from "./control-server.ts";

describe("keelson testserver", () => {
  let child: ChildProcess;
  let described: ServerDescription;

  async function start(...flags: readonly string[]): Promise<void> {
    const source = ["--conditions=source", "--import=tsx", "cmd/keelson/main.ts"];
    const words = [...source, "testserver", ...flags];
    child = spawn(process.execPath, words, { cwd: root, stdio: ["pipe", "pipe", "inherit"] });
    const [line] = await once(createInterface(child.stdout!), "line");
    described = JSON.parse(line) as ServerDescription;
  }

  async function control(method: string, path = "", body?: unknown, of = described) {
    const headers = { authorization: `Bearer ${of.controlToken}` };
    const text = typeof body === "string" || body === undefined ? body : JSON.stringify(body);
    const answer = await fetch(of.control + path, { method, headers, body: text ?? null });
    const answered = await answer.text();
    return { code: answer.status, body: answered === "" ? undefined : JSON.parse(answered) };
  }

  describe("in virtual time", () => {
    before(() => start("--virtual-time"));
    after(async () => {
      child.kill("SIGTERM");
      assert.deepEqual(await once(child, "exit"), [0, null]);
    });

    it("prints its description, and requires the token of the control interface", async () => {
      assert.deepEqual((await control("GET")).body, described);
      assert.match(described.ca, /^-----BEGIN CERTIFICATE-----/);
      const stranger = { ...described, controlToken: described.token };
      assert.equal((await control("GET", "", undefined, stranger)).code, 401);
    });

    it("advances the clock, and rejects earlier times", async () => {
      const { now } = (await control("GET", "/clock")).body;
      const to = new Date(Date.parse(now) + 90_000).toISOString();
      assert.deepEqual(await control("POST", "/clock", { to }), { code: 200, body: { now: to } });
      for (const body of [
        { to: now },
        { advanceMs: 1, to },
        { advanceMs: "1s" },
        {},
        [],
        { by: 1 },
      ]) {
        assert.equal((await control("POST", "/clock", body)).code, 400, JSON.stringify(body));
      }
      await control("POST", "/reset");
      assert.equal((await control("GET", "/clock")).body.now < to, true);
    });

    it("forks, and deletes forks", async () => {
      const { code, body: fork } = await control("POST", "/fork");
      assert.equal(code, 201);
      assert.notEqual(fork.url, described.url);
      assert.equal((await control("POST", "/clock", { advanceMs: 1 }, fork)).code, 200);
      assert.equal((await control("DELETE", "", undefined, fork)).code, 204);
      assert.equal((await control("GET", "", undefined, fork)).code, 404);
      assert.equal((await control("DELETE")).code, 405);
    });

    it("accepts faults, and reports what is invalid in others", async () => {
      const fault = { verb: "create", fail: 500, times: 3 };
      assert.equal((await control("POST", "/faults", fault)).code, 204);
      assert.deepEqual((await control("GET", "/faults")).body, { pending: 3 });
      assert.equal((await control("DELETE", "/faults")).code, 204);
      for (const body of [{ fail: 418 }, { fail: 500, often: 1 }, "{", "[]", undefined]) {
        assert.equal((await control("POST", "/faults", body)).code, 400, JSON.stringify(body));
      }
      const cut = await control("POST", "/faults/watches", { action: "cut" });
      assert.deepEqual(cut, { code: 200, body: { watches: 0 } });
      const unknown = await control("POST", "/faults/watches", { action: "break" });
      assert.equal(unknown.code, 400);
    });

    it("rejects large bodies, unknown paths and wrong methods", async () => {
      assert.equal((await control("POST", "/faults", " ".repeat(65_537))).code, 413);
      assert.equal((await control("PUT", "/clock", {})).code, 405);
      assert.equal((await control("GET", "/nothing")).code, 404);
    });
  });

  it("exits when its standard input closes, and uses real time without a flag", async () => {
    await start();
    assert.equal((await control("GET", "/clock")).code, 409);
    child.stdin!.end();
    assert.deepEqual(await once(child, "exit"), [0, null]);
  });

  it("runs the test suite in Python", function () {
    if (spawnSync("python3", ["--version"]).error) this.skip();
    const keelson = `${process.execPath} --conditions=source --import=tsx cmd/keelson/main.ts`;
    const words = ["-m", "unittest", "discover", "-s", "examples/pytest"];
    const env = { ...process.env, KEELSON: keelson, PYTHONDONTWRITEBYTECODE: "1" };
    const { status, stderr } = spawnSync("python3", words, { cwd: root, env, encoding: "utf8" });
    assert.equal(status, 0, stderr);
    assert.match(stderr, /Ran 4 tests/);
  });
});
