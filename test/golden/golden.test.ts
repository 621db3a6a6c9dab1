import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import * as api from "#api";
import { seededRandom } from "#base";
import { kubernetes, resolve } from "#meta";
import {
  arbitrary,
  fromJson,
  fromProtobuf,
  parseJson,
  type StructType,
  toJson,
  toJsonValue,
  toProtobuf,
  type TypeMeta,
  unwrapEnvelope,
  wrapEnvelope,
} from "#schema";

/**
 * The wire of every kind. `data` holds the project's own files, made once with UPDATE=1 from random
 * objects of fixed seeds: they change only when the wire does. `../shared/golden`, where it is
 * there, holds what Kubernetes itself makes.
 */

interface Subject {
  /** `<group>.<version>.<Kind>`, the name of the files; `core` is the group without a name. */
  readonly name: string;
  readonly struct: StructType<any>;
  readonly typeMeta: TypeMeta;
}

const kinds: readonly Subject[] = api.builtinKinds.flatMap((kind) =>
  kind.versions.map(({ group, version, struct }) =>
    subject(resolve(group ?? kind.group, kubernetes), version, { kind: kind.kind, struct }),
  ),
);

/** Structs that only travel; the reference files show them in the core group. */
const travelling: readonly Subject[] = Object.values<unknown>({ ...api })
  .filter(isStruct)
  .map((struct) => subject("", "v1", { kind: struct.name, struct }));

/** Kinds that no path serves, but that codecs know. */
const unserved: readonly Subject[] = api.wireKinds.map(({ group, version, kind, struct }) =>
  subject(resolve(group, kubernetes), version, { kind, struct }),
);

function subject(
  group: string,
  version: string,
  { kind, struct }: { readonly kind: string; readonly struct: StructType<any> },
): Subject {
  return {
    name: `${group === "" ? "core" : group}.${version}.${kind}`,
    struct,
    typeMeta: { kind, apiVersion: group === "" ? version : `${group}/${version}` },
  };
}

function isStruct(value: unknown): value is StructType<any> {
  return typeof value === "object" && value !== null && "tag" in value && value.tag === "struct";
}

const here = path.dirname(fileURLToPath(import.meta.url));
const own = path.join(here, "data");
const reference = path.resolve(here, "../../../shared/golden");

describe("golden files of this project", () => {
  before(() => {
    if (process.env["UPDATE"] === "1") kinds.forEach(write);
  });

  for (const each of kinds) {
    it(each.name, () => {
      const file = path.join(own, `${each.name}.json`);
      assert.ok(existsSync(file), "run UPDATE=1 npx mocha test/golden");
      check(each, own);
    });
  }

  it("has no file of a kind that is gone", () => {
    const known = new Set(kinds.flatMap(({ name }) => [`${name}.json`, `${name}.pb`]));
    assert.deepEqual(
      readdirSync(own).filter((file) => !known.has(file)),
      [],
    );
  });
});

describe("golden files of Kubernetes", () => {
  if (!existsSync(reference)) {
    it("cannot be checked: the reference data is not here");
    return;
  }
  const files = new Set(readdirSync(reference));
  const present = [...kinds, ...unserved, ...travelling].filter(({ name }) =>
    files.has(`${name}.json`),
  );
  for (const each of present) it(each.name, () => check(each, reference));

  it("are there for most of the kinds", () => assert.ok(present.length >= kinds.length / 2));
});

function write({ name, struct, typeMeta }: Subject): void {
  const object = arbitrary(struct, seededRandom(name));
  mkdirSync(own, { recursive: true });
  const value = toJson(struct, object, typeMeta);
  writeFileSync(path.join(own, `${name}.json`), `${value}\n`);
  writeFileSync(path.join(own, `${name}.pb`), wrapEnvelope(typeMeta, toProtobuf(struct, object)));
}

/** Both ways and round both ways, from the two files of one kind. */
function check({ name, struct }: Subject, folder: string): void {
  const text = readFileSync(path.join(folder, `${name}.json`));
  const bytes = readFileSync(path.join(folder, `${name}.pb`));
  const envelope = unwrapEnvelope(bytes);
  assert.ok(envelope, "no envelope");
  // Objects without a kind of their own (WatchEvent) travel with an empty one, which JSON leaves
  // out.
  const typeMeta = envelope.kind === "" ? undefined : envelope;

  const { value, duplicates } = parseJson(text);
  assert.deepEqual(duplicates, []);
  const unknown: string[] = [];
  const object = fromJson(struct, value, { root: true, unknown });
  assert.deepEqual(unknown, []);

  const decoded = fromProtobuf(struct, envelope.raw);
  assert.deepEqual(decoded, object, "Protobuf and JSON give the same object");
  assert.deepEqual(toJsonValue(struct, decoded, typeMeta), value, "object to JSON");
  assert.equal(
    Buffer.from(wrapEnvelope(envelope, toProtobuf(struct, object))).toString("hex"),
    bytes.toString("hex"),
    "object to Protobuf, byte for byte",
  );
  const printed = toJson(struct, object, typeMeta);
  assert.deepEqual(parseJson(printed).value, value, "JSON round trip");
  const again = fromJson(struct, parseJson(printed).value, { root: true });
  assert.equal(toJson(struct, again, typeMeta), printed);
}
