import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import protobuf from "protobufjs";
import * as api from "#api";
import { partialObjectMetadata } from "../../pkg/api/meta/index.ts";
import { type RunningServer, startServer } from "../../cmd/keelson/index.ts";
import { listMeta, protoPackage } from "#meta";
import {
  bytes,
  required,
  list,
  string,
  value,
  protoText,
  structs,
  type StructType,
  toProtobuf,
  type Type,
} from "#schema";
import { filesBelow, root } from "./source.ts";

const folder = "proto";

/**
 * Every message of the API, by package: kinds, their lists, what only travels, and all they hold.
 */
function messages(): ReadonlyMap<string, ReadonlyMap<string, StructType<any>>> {
  const found = new Map<string, Map<string, StructType<any>>>();
  const visit = (type: Type): void => {
    switch (type.tag) {
      case "lazy":
        return visit(type.resolve());
      case "list":
        if (type.boxed !== undefined) visit(boxOf(type.boxed, type.element));
        return visit(type.element);
      case "map":
        return visit(type.value);
      case "scalar":
        return visit(type.wire);
      case "struct": {
        const inPackage = found.get(type.package) ?? new Map<string, StructType<any>>();
        found.set(type.package, inPackage);
        if (inPackage.has(type.name)) return;
        inPackage.set(type.name, type);
        for (const field of Object.values<{ number: number; type: Type }>(type.fields)) {
          if (field.number > 0) visit(field.type);
        }
      }
    }
  };
  for (const type of rootTypes()) visit(type);
  return found;
}

/** The message that a list is when it cannot be a repeated field. */
function boxOf(box: { readonly name: string; readonly package: string }, element: Type) {
  return structs(box.package)(box.name, "A list as a message of its own.", {
    items: value(1, list(element), "The elements."),
  });
}

function rootTypes(): readonly StructType<any>[] {
  const travelling = Object.values(api).filter(isStruct);
  const kinds = api.builtinKinds.flatMap((kind) =>
    kind.versions.flatMap(({ struct }) =>
      kind.verbs.includes("list") ? [struct, listOf(struct, kind.listKind)] : [struct],
    ),
  );
  const partials = listOf(partialObjectMetadata, "PartialObjectMetadataList");
  const unserved = api.wireKinds.map(({ struct }) => struct);
  return [...kinds, ...unserved, ...travelling, partials, envelope()];
}

/** The message around every response and request body, after the bytes `k8s\0`. */
function envelope(): StructType<any> {
  const v = structs("apimachinery/pkg/runtime");
  const typeMeta = v("TypeMeta", "Kind of the object in an envelope.", {
    apiVersion: value(1, string, "Group and version, such as `apps/v1`."),
    kind: value(2, string, "Kind, such as `Deployment`."),
  });
  return v("Unknown", "Envelope of an object: its kind, and its bytes.", {
    typeMeta: value(1, typeMeta, "Kind of the object."),
    raw: value(2, bytes, "Message of that kind; JSON if contentType says so."),
    contentEncoding: value(3, string, "Always empty."),
    contentType: value(4, string, "Empty for a Protobuf message."),
  });
}

function isStruct(value: unknown): value is StructType<any> {
  return typeof value === "object" && value !== null && "tag" in value && value.tag === "struct";
}

function listOf(struct: StructType<any>, name: string): StructType<any> {
  return structs(struct.package)(name, `${name} is a list of ${struct.name} objects.`, {
    metadata: value(1, listMeta, "Standard list metadata: resource version and paging."),
    items: required(2, list(struct), "Objects on this page of the list."),
  });
}

/** Text by path, relative to the project. */
function printedFiles(): ReadonlyMap<string, string> {
  return new Map(
    [...messages()].map(([packagePath, inPackage]) => [
      `${folder}/${packagePath}/generated.proto`,
      protoText(packagePath, [...inPackage.values()], { packageName: protoPackage }),
    ]),
  );
}

function existingFiles(): readonly string[] {
  const files = existsSync(path.join(root, folder)) ? filesBelow(folder) : [];
  return files.filter((file) => file !== `${folder}/README.md`);
}

function update(files: ReadonlyMap<string, string>): void {
  for (const file of existingFiles()) rmSync(path.join(root, file));
  for (const [file, text] of files) {
    mkdirSync(path.dirname(path.join(root, file)), { recursive: true });
    writeFileSync(path.join(root, file), text);
  }
}

describe("wire contracts in proto/", () => {
  const printed = printedFiles();
  before(() => {
    if (process.env["UPDATE"] === "1") update(printed);
  });

  it("are those of the declarations (UPDATE=1 regenerates them)", () => {
    assert.deepEqual([...existingFiles()].sort(), [...printed.keys()].sort());
    const stale = [...printed].filter(
      ([file, text]) => readFileSync(path.join(root, file), "utf8") !== text,
    );
    assert.deepEqual(
      stale.map(([file]) => file),
      [],
    );
  });

  it("can be read by another Protobuf implementation, and read what is written here", () => {
    const parsed = new protobuf.Root();
    for (const [file, text] of printed) {
      protobuf.parse(text, parsed, { keepCase: true }).imports?.forEach((needed) => {
        assert.ok(printed.has(`${folder}/${needed}`), `${file} imports ${needed}`);
      });
    }
    parsed.resolveAll();
    const kind = api.builtinKinds.find((candidate) => candidate.kind === "ConfigMap");
    const struct: StructType<any> | undefined = kind?.versions[0]?.struct;
    assert.ok(struct !== undefined);
    const object: any = { metadata: { name: "a" }, data: { key: "value" } };
    const type = parsed.lookupType(`${protoPackage(struct.package)}.ConfigMap`);
    const decoded = type.decode(toProtobuf(struct, object)).toJSON();
    assert.equal(decoded["metadata"].name, "a");
    assert.deepEqual(decoded["data"], { key: "value" });
  });

  describe("decode with nothing else", () => {
    const files = new protobuf.Root();
    files.resolvePath = (_origin, target) => path.join(root, folder, target);
    let server: RunningServer;
    before(async () => {
      files.loadSync(existingFiles().map((file) => file.slice(folder.length + 1)));
      files.resolveAll();
      server = await startServer({ controllers: false });
    });
    after(() => server.close());

    const media = "application/vnd.kubernetes.protobuf";
    const runtime = "k8s.io.apimachinery.pkg.runtime";

    function decodeAs(name: string, message: Uint8Array): any {
      return files.lookupType(name).decode(message).toJSON();
    }

    /** The kind and the fields of an envelope. */
    function opened(body: Uint8Array): { readonly kind: string; readonly value: any } {
      assert.equal(Buffer.from(body.subarray(0, 4)).toString("latin1"), "k8s\0");
      const unknown: any = files.lookupType(`${runtime}.Unknown`).decode(body.subarray(4));
      const { apiVersion, kind } = unknown.typeMeta;
      const isMeta = kind === "Status" || kind.startsWith("PartialObject");
      const packageName = isMeta ? "apimachinery.pkg.apis.meta.v1" : "api.core.v1";
      const object = decodeAs(`k8s.io.${packageName}.${kind}`, unknown.raw);
      return { kind: `${apiVersion} ${kind}`, value: object };
    }

    async function read(at: string, accept = media) {
      const response = await server.fetch(at, { headers: { accept } });
      return opened(new Uint8Array(await response.arrayBuffer()));
    }

    it("an object, a list, their metadata and an error", async () => {
      const one = await read("/api/v1/namespaces/default");
      assert.equal(one.kind, "v1 Namespace");
      assert.equal(one.value.metadata.name, "default");
      const all = await read("/api/v1/namespaces");
      assert.equal(all.kind, "v1 NamespaceList");
      assert.ok(all.value.items.some(({ metadata }: any) => metadata.name === "default"));
      for (const [at, kind] of [
        ["/api/v1/namespaces/default", "PartialObjectMetadata"],
        ["/api/v1/namespaces", "PartialObjectMetadataList"],
      ] as const) {
        const partial = await read(at, `${media};as=${kind};v=v1;g=meta.k8s.io`);
        assert.equal(partial.kind, `meta.k8s.io/v1 ${kind}`);
        assert.ok(partial.value.metadata !== undefined);
      }
      const failure = await read("/api/v1/namespaces/none");
      assert.equal(failure.kind, "v1 Status");
      assert.equal(failure.value.code, 404);
      assert.equal(failure.value.details.name, "none");
    });

    it("frames of a watch", async () => {
      const abort = new AbortController();
      const accept = `${media};stream=watch`;
      const at = "/api/v1/namespaces?watch=true&fieldSelector=metadata.name%3Ddefault";
      const { body } = await server.fetch(at, { headers: { accept }, signal: abort.signal });
      let read = Buffer.alloc(0);
      const complete = () => read.length >= 4 && read.length >= 4 + read.readUInt32BE(0);
      for await (const chunk of body!) {
        read = Buffer.concat([read, chunk as Uint8Array]);
        if (complete()) break;
      }
      abort.abort();
      const frame = read.subarray(4, 4 + read.readUInt32BE(0));
      const event: any = files
        .lookupType("k8s.io.apimachinery.pkg.apis.meta.v1.WatchEvent")
        .decode(frame);
      assert.equal(event.type, "ADDED");
      assert.equal(opened(event.object.raw).value.metadata.name, "default");
    });
  });
});
