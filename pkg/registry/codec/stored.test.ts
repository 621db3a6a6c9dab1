import assert from "node:assert/strict";
import { applyConfiguration } from "#fieldmanager";
import { builtinKinds } from "#api";
import { atOnce, type JsonObject, seededRandom } from "#base";
import { Catalog, kubernetes, parseYaml, printYaml, type Resource, StatusError } from "#meta";
import { arbitrary, fromJson, toJson, toJsonValue } from "#schema";
import type { RegistryContext } from "../context.ts";
import { managedWrite, emptyObject } from "../write/managed-fields.ts";
import { encodeStored, StoredItem } from "./stored.ts";

const catalog = new Catalog(builtinKinds, kubernetes, () => true);
const everyGate = () => true;
const clock = { now: () => 0 };

/** Random objects are equal after a round trip through each encoding; seeded per kind and version. */
describe("random objects of every kind", () => {
  for (const resource of catalog.resources) {
    const { struct, groupVersion, kind } = resource;
    const title = `${groupVersion} ${kind.kind}`;
    const objects = (count: number): readonly any[] => {
      const random = seededRandom(title);
      return Array.from({ length: count }, () => arbitrary(struct, random));
    };

    it(`${title} survives a round trip through YAML`, () => {
      for (const object of objects(3)) {
        const { value } = parseYaml(printYaml(toJsonValue(struct, object)));
        // printYaml sorts keys.
        const again = toJson(struct, fromJson(struct, value));
        assert.deepEqual(JSON.parse(again), JSON.parse(toJson(struct, object)));
      }
    });

    it(`${title} survives a round trip through the store`, () => {
      for (const object of objects(3)) {
        const { convert } = resource.served;
        const hub = convert === "hub" ? object : convert.up(object);
        delete hub.metadata.resourceVersion;
        delete hub.metadata.selfLink;
        const [json, protobuf] = (["json", "protobuf"] as const).map((storageMediaType) => {
          const adopted = new Map();
          const registry = { storageMediaType, catalog, clock, adopted, gates: everyGate } as never;
          const read = (written: any) => stored(registry, resource, written);
          const first = read(hub);
          // The first read applies defaults; further ones change nothing.
          assert.equal(textOf(resource, read(first)), textOf(resource, first));
          return first;
        });
        assert.equal(textOf(resource, json), textOf(resource, protobuf));
      }
    });

    it(`${title} is created by server-side apply`, () => {
      const timestamp = () => "2030-01-01T00:00:00Z";
      const registry = { catalog, timestamp } as never;
      const request = { resource, subresource: "" } as never;
      for (const object of objects(4)) {
        delete object.metadata.managedFields;
        const document = toJsonValue(struct, object) as JsonObject;
        const typed = { ...document, apiVersion: groupVersion, kind: kind.kind };
        const zero = () => emptyObject(struct);
        const configuration = {
          document: typed,
          live: zero(),
          zero,
          creation: true,
          entries: [],
          force: false,
        };
        try {
          const write = managedWrite(registry, request, "me");
          const { object: applied } = atOnce(applyConfiguration(write, configuration));
          assert.equal(toJson(struct, fromJson(struct, applied)), toJson(struct, object));
        } catch (error) {
          // Random lists may lack keys, or have one twice.
          if (!(error instanceof StatusError)) throw error;
          assert.match(error.message, /omits all key fields|duplicate entries/);
        }
      }
    });
  }
});

function stored(registry: RegistryContext, resource: Resource, object: any): any {
  const value = encodeStored(registry, resource, object);
  const entry = { key: "/x", value, modRevision: 0 } as never;
  return new StoredItem(registry, { resource } as never, entry).object;
}

function textOf(resource: Resource, object: any): string {
  return toJson(resource.hub.struct, object);
}
