/**
 * `node --conditions=source --import=tsx test/bench/parts/structural.ts`: CPU time in microseconds
 * to prune, default and validate custom resources of several sizes.
 */
import { atOnce } from "../../../pkg/base/index.ts";
import {
  applyDefaults,
  checkObject,
  CompiledSchema,
  type JsonSchema,
  pruneObject,
} from "#structural";

const text: JsonSchema = { type: "string", maxLength: 253 };
const name: JsonSchema = { ...text, pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$" };
const amount: JsonSchema = {
  "x-kubernetes-int-or-string": true,
  anyOf: [{ type: "integer" }, { type: "string" }],
  pattern: "^[0-9]+(m|Ki|Mi|Gi)?$",
};

const object = (properties: Readonly<Record<string, JsonSchema>>): JsonSchema => ({
  type: "object",
  properties,
});

const port = object({
  name,
  port: { type: "integer", minimum: 1, maximum: 65_535 },
  protocol: { type: "string", enum: ["TCP", "UDP"], default: "TCP" },
});

const part: JsonSchema = {
  ...object({
    name,
    image: text,
    args: { type: "array", items: text },
    env: { type: "array", items: object({ name: text, value: text }) },
    limits: { type: "object", additionalProperties: amount },
    ports: {
      type: "array",
      items: port,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["port", "protocol"],
    },
  }),
  required: ["name", "image"],
};

const ruled: JsonSchema = {
  ...part,
  "x-kubernetes-validations": [{ rule: "self.name != 'none' && self.args.size() < 10" }],
};

const schemaOf = (items: JsonSchema) =>
  new CompiledSchema(object({ spec: object({ parts: { type: "array", items } }) }));

const partOf = (index: number) => ({
  name: `part-${index}`,
  image: `registry.example.com/team/part:v1.${index}`,
  args: ["--verbose", `--index=${index}`, "--listen=0.0.0.0:8080"],
  env: [
    { name: "HOME", value: "/" },
    { name: "INDEX", value: `${index}` },
  ],
  limits: { cpu: "500m", memory: "1Gi" },
  ports: [
    { name: "web", port: 8080 },
    { name: "metrics", port: 9090, protocol: "TCP" },
  ],
});

const made = (parts: number) => ({
  metadata: { name: "bench" },
  spec: { parts: Array.from({ length: parts }, (_each, index) => partOf(index)) },
});

function microseconds(schema: CompiledSchema, parts: number, rounds: number): number {
  const objects = Array.from({ length: rounds }, () => made(parts));
  const before = process.cpuUsage();
  for (const each of objects) {
    pruneObject(each, schema);
    applyDefaults(each, schema);
    const whole = { apiVersion: "example.com/v1", kind: "Bench", ...each };
    const { problems } = atOnce(checkObject(whole, schema));
    if (!problems.empty) throw new Error(JSON.stringify(problems.list[0]));
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / rounds;
}

for (const [items, title] of [
  [part, "values"],
  [ruled, "values and rules"],
] as const) {
  for (const [parts, rounds] of [
    [15, 2_000],
    [3_000, 20],
  ] as const) {
    const schema = schemaOf(items);
    const bytes = JSON.stringify(made(parts)).length;
    microseconds(schema, parts, rounds);
    const took = Math.round(microseconds(schema, parts, rounds));
    console.log(`${String(took).padStart(8)} µs  ${bytes} bytes, ${title}`);
  }
}
