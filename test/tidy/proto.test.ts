import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import protobuf from "protobufjs";
import * as api from "#api";
import { listMeta, protoPackage } from "#meta";
import {
  required,
  list,
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
  const unserved = api.wireKinds.map(({ struct }) => struct);
  return [...kinds, ...unserved, ...travelling];
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
  return existsSync(path.join(root, folder)) ? filesBelow(folder) : [];
}

function update(files: ReadonlyMap<string, string>): void {
  rmSync(path.join(root, folder), { recursive: true, force: true });
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
    const bytes = toProtobuf(struct, object);
    const type = parsed.lookupType(`${protoPackage(struct.package)}.ConfigMap`);
    const decoded = type.decode(bytes).toJSON();
    assert.equal(decoded["metadata"].name, "a");
    assert.deepEqual(decoded["data"], { key: "value" });
  });
});
