import { resolved } from "../struct/layout.ts";
import { noWireForm } from "./to-protobuf.ts";
import type { Field, StructType, Type } from "../struct/types.ts";

interface ProtoTextOptions {
  /** The Protobuf package of a struct's package path. By default slashes become dots. */
  readonly packageName?: (packagePath: string) => string;
}

/** The `.proto` file of one package. */
export function protoText(
  packagePath: string,
  structs: readonly StructType<any>[],
  options: ProtoTextOptions = {},
): string {
  const packageName = options.packageName ?? ((path: string) => path.replaceAll("/", "."));
  const context: Context = { packagePath, packageName, imports: new Set() };
  const messages = [...structs]
    .sort((left, right) => (left.name < right.name ? -1 : 1))
    .map((struct) => messageText(struct, context));
  const imports = [...context.imports].sort().map((path) => `import ${JSON.stringify(path)};\n`);
  const head = `syntax = "proto2";\n\npackage ${packageName(packagePath)};\n`;
  return [head, imports.length > 0 ? `\n${imports.join("")}` : "", ...messages].join("");
}

interface Context {
  readonly packagePath: string;
  readonly packageName: (packagePath: string) => string;
  readonly imports: Set<string>;
}

function messageText(struct: StructType<any>, context: Context): string {
  const fields = Object.entries<Field>(struct.fields)
    .filter(([, field]) => field.number > 0)
    .sort(([, left], [, right]) => left.number - right.number)
    .map(([name, field]) => fieldText(name, field, context));
  return `\n// ${struct.doc}\nmessage ${struct.name} {\n${fields.join("\n")}}\n`;
}

function fieldText(name: string, field: Field, context: Context): string {
  const protoName = field.protoName ?? name;
  const type = resolved(field.type);
  return `  // ${field.doc}\n  ${declared(type, context)} ${protoName} = ${field.number};\n`;
}

function declared(type: Type, context: Context): string {
  if (type.tag === "list" && !type.boxed) return `repeated ${typeText(type.element, context)}`;
  if (type.tag === "map") return `map<string, ${typeText(type.value, context)}>`;
  return `optional ${typeText(type, context)}`;
}

function typeText(type: Type, context: Context): string {
  const target = resolved(type);
  switch (target.tag) {
    case "scalar":
    case "struct":
      return messageName(target, context);
    case "list":
      if (!target.boxed) throw noWireForm(target);
      return messageName(target.boxed, context);
    case "map":
      throw noWireForm(target);
    default:
      return target.tag;
  }
}

function messageName(
  type: { readonly name: string; readonly package: string },
  context: Context,
): string {
  if (type.package === context.packagePath) return type.name;
  context.imports.add(`${type.package}/generated.proto`);
  return `.${context.packageName(type.package)}.${type.name}`;
}
