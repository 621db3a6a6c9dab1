import assert from "node:assert/strict";
import { type TestRegistry, testRegistry } from "../testing.ts";
import { PortSet } from "./port-set.ts";

const nodePorts = { first: 30_000, last: 32_767 };
const ledger = "/ranges/servicenodeports";

describe("allocation: repair", () => {
  let test: TestRegistry;
  beforeEach(async () => {
    test = await testRegistry({ serviceNetwork: { cidrs: ["10.0.0.0/24"], nodePorts } });
  });
  const repair = () => test.registry.repair!();
  const create = async (name: string, spec: object = {}): Promise<any> => {
    const all = { type: "NodePort", ports: [{ port: 80 }], ...spec };
    return (await test.post("v1/services/ns", { metadata: { name }, spec: all })).item.object;
  };
  const ports = async (): Promise<number[]> => {
    const { entry } = await test.store.get(ledger);
    return PortSet.stored(nodePorts, JSON.parse(Buffer.from(entry!.value).toString())).ports();
  };
  /** As a replica leaves it that dies in the middle. */
  const lose = async (key: string) => {
    const { entry } = await test.store.get(key);
    await test.store.delete(key, entry!.modRevision);
  };

  it("finds nothing to do where all is well", async () => {
    const { spec } = await create("a");
    test.clock.advance(120_000);
    for (let round = 0; round < 4; round++) {
      assert.deepEqual(await repair(), {
        missingAddresses: [],
        leakedAddresses: [],
        missingPorts: [],
        leakedPorts: [],
        conflicts: [],
      });
    }
    assert.deepEqual(await ports(), [spec.ports[0].nodePort]);
  });

  it("releases leaked allocations, but not at once", async () => {
    const { spec } = await create("a");
    await lose("/services/specs/ns/a");
    assert.deepEqual((await repair()).leakedAddresses, []);
    test.clock.advance(61_000);
    assert.deepEqual((await repair()).leakedAddresses, [spec.clusterIP]);
    assert.deepEqual(await ports(), [spec.ports[0].nodePort]);
    assert.deepEqual((await repair()).leakedPorts, [spec.ports[0].nodePort]);
    assert.deepEqual(await ports(), []);
    assert.deepEqual(await test.names("networking.k8s.io/v1/ipaddresses"), []);
  });

  it("takes what services have without its being taken", async () => {
    const { spec } = await create("a");
    await lose(`/ipaddresses/${spec.clusterIP}`);
    await lose(ledger);
    const { missingAddresses, missingPorts } = await repair();
    assert.deepEqual(missingAddresses, [spec.clusterIP]);
    assert.deepEqual(missingPorts, [spec.ports[0].nodePort]);
    assert.deepEqual(await ports(), [spec.ports[0].nodePort]);
  });

  it("tells of an address that two services use, and leaves it", async () => {
    const { spec } = await create("a");
    await lose(`/ipaddresses/${spec.clusterIP}`);
    await create("b", { clusterIP: spec.clusterIP });
    const { conflicts, leakedAddresses } = await repair();
    const users = ["ns/a", "ns/b"].map((user) => `${spec.clusterIP} of ${user}`);
    assert.deepEqual(conflicts, users);
    assert.deepEqual(leakedAddresses, []);
  });
});
