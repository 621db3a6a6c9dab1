import assert from "node:assert/strict";
import { type AddressRoute, Dialer } from "./dialer.ts";

/** Looks a name up as Node's sockets do. */
function lookedUp(dialer: Dialer, host: string, resolved?: readonly string[]): Promise<unknown> {
  return dialer.targetOf({ host, port: 443, resolved }).then(
    ({ lookup }) =>
      new Promise((resolve, reject) => {
        lookup(host, { all: true }, (error, found) => (error ? reject(error) : resolve(found)));
      }),
  );
}

describe("Dialer", () => {
  const routes: Readonly<Record<string, AddressRoute>> = {
    "10.0.0.1": { kind: "simulated", reason: "nothing is there" },
    "10.0.0.2": { kind: "forwarded", host: "127.0.0.1", port: 3000 },
  };
  const dialer = new Dialer({ route: async ({ host }) => routes[host] ?? { kind: "ordinary" } });

  it("returns the address, or where its connections go", async () => {
    const { host, port } = await dialer.targetOf({ host: "10.0.0.3", port: 80 });
    assert.deepEqual([host, port], ["10.0.0.3", 80]);
    const forwarded = await dialer.targetOf({ host: "10.0.0.2", port: 80 });
    assert.deepEqual([forwarded.host, forwarded.port], ["127.0.0.1", 3000]);
    await assert.rejects(dialer.targetOf({ host: "10.0.0.1", port: 80 }), {
      name: "SimulatedAddress",
      message: "nothing is there",
    });
  });

  it("checks the addresses of a name", async () => {
    const found = await lookedUp(dialer, "a.example", ["10.0.0.1", "10.0.0.2", "10.0.0.3"]);
    assert.deepEqual(found, [{ address: "10.0.0.3", family: 4 }]);
    const none = lookedUp(dialer, "a.example", ["10.0.0.1"]);
    await assert.rejects(none, /^SimulatedAddress: nothing is there$/);
    assert.ok(await lookedUp(dialer, "localhost"));
  });
});
