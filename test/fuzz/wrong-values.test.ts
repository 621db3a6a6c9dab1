/**
 * Wrong values of every sort for every field of every kind, against a whole server: decoding rejects a
 * value of a wrong type; others are accepted, or rejected with causes that name fields of the object;
 * null equals absent; and no response is a 5xx. A run draws requests by a seed, which the message of a
 * failure contains; ALL=1 sends all of them.
 */
import assert from "node:assert/strict";
import { builtinKinds } from "#api";
import { seededRandom } from "#base";
import { fieldNamed, resolved, type StructType } from "#schema";
import { type RunningServer, startServer } from "../../cmd/keelson/index.ts";
import {
  type Manifest,
  manifestsOfEveryKind,
  type Site,
  sitesOf,
  withValue,
  type WrongValue,
  wrongValuesFor,
} from "./wrong-values.ts";

const seed = process.env["SEED"] ?? String(Date.now() % 1_000_000);
const perKind = process.env["ALL"] === "1" ? Number.POSITIVE_INFINITY : 40;

interface Row {
  readonly manifest: Manifest;
  readonly struct: StructType;
  readonly collection: string;
}

interface Outcome {
  readonly code: number;
  readonly body: any;
}

function rowOf(manifest: Manifest): Row | undefined {
  const { apiVersion, metadata } = manifest;
  const [group, version] = apiVersion.includes("/") ? apiVersion.split("/") : ["", apiVersion];
  const kind = builtinKinds.find(
    (each) =>
      each.kind === manifest.kind && each.group.replace("{api}", "k8s.io") === (group ?? ""),
  );
  const served = kind?.versions.find((each) => each.version === version);
  if (kind === undefined || served === undefined) return undefined;
  const base = group === "" ? `/api/${version}` : `/apis/${apiVersion}`;
  const within = metadata.namespace === undefined ? "" : `/namespaces/${metadata.namespace}`;
  return { manifest, struct: served.struct, collection: `${base}${within}/${kind.plural}` };
}

const rows = manifestsOfEveryKind().flatMap((manifest) => rowOf(manifest) ?? []);

let server: RunningServer;

const create = (row: Row, object: object, query = ""): Promise<Outcome> =>
  send(row, object, `?dryRun=All${query}`);

async function send({ collection }: Row, object: object, query: string): Promise<Outcome> {
  const response = await server.fetch(`${collection}${query}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(object),
  });
  return { code: response.status, body: await response.json() };
}

/**
 * Fields of causes with other names than in the object: those of internal types, and of the version that
 * Kubernetes validates.
 */
const otherNames = new Set([
  "persistentvolumesource",
  "persistentDisk",
  "validation",
  "version",
  "subresources",
  "selectableFields",
  "additionalPrinterColumns",
  "volumeMode",
  "taints",
  "limits",
  "labels",
  "annotations",
]);

/** Whether the first two elements of a cause's field exist in the kind. */
function isKnownField(struct: StructType, field: string): boolean {
  const [first = "", second] = field.split(/[.[]/);
  const outer = fieldNamed(struct, first);
  if (outer === undefined) return otherNames.has(first) || field === "<nil>" || field === "";
  const type = resolved(outer.type);
  if (second === undefined || type.tag !== "struct" || field[first.length] !== ".") return true;
  const lower = second.toLowerCase();
  return Object.keys(type.fields).some((name) => name.toLowerCase() === lower) ||
    fieldNamed(type, second) !== undefined
    ? true
    : otherNames.has(second);
}

/** How a response violates the rules; undefined if it does not. */
function faultOf(row: Row, { code, body }: Outcome, { sort }: WrongValue): string | undefined {
  if (code >= 500) return `${code}: ${body.message}`;
  if (code < 400) return sort === "wrong type" ? "a wrong type was taken" : undefined;
  if (body.kind !== "Status" || body.code !== code) return "the body is no Status of this code";
  if (sort === "wrong type") {
    const isDecodeError = code === 400 && body.reason === "BadRequest";
    return isDecodeError ? undefined : `${code} instead of 400: ${body.message}`;
  }
  if (code !== 422) return [400, 403, 409].includes(code) ? undefined : `unexpected ${code}`;
  const causes: readonly any[] = body.details?.causes ?? [];
  if (body.reason !== "Invalid" || causes.length === 0) return "an invalid object without causes";
  const unknown = causes.find(({ field }) => !isKnownField(row.struct, field ?? ""));
  if (unknown !== undefined) return `no field ${unknown.field}: ${unknown.message}`;
  return causes.every(({ reason, message }) => reason && message) ? undefined : "an empty cause";
}

/** Removes values that differ between creates of equal objects. */
function withoutChance({ code, body }: Outcome): string {
  const text = JSON.stringify({ code, ...body });
  return text
    .replaceAll(/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, "<uid>")
    .replaceAll(/\bkube-api-access-[a-z0-9]{5}\b/g, "<volume>")
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "<time>")
    .replaceAll(
      /"(clusterIP|clusterIPs|nodePort|healthCheckNodePort|ip)":("[^"]*"|\d+|\[[^\]]*\])/g,
      "",
    );
}

async function faultAt(row: Row, { steps }: Site, wrong: WrongValue): Promise<string | undefined> {
  const { manifest } = row;
  const outcome = await create(row, withValue(manifest, steps, wrong.value));
  const fault = faultOf(row, outcome, wrong);
  if (fault !== undefined || wrong.sort !== "null") return fault;
  if (typeof steps.at(-1) === "number" || steps.at(-1) === "k") return undefined;
  const absent = await create(row, withValue(manifest, steps, undefined));
  const [one, other] = [withoutChance(outcome), withoutChance(absent)];
  return one === other ? undefined : `null gives ${one}, absent ${other}`;
}

describe("wrong values", function () {
  this.timeout(1_200_000);
  before(async () => {
    server = await startServer({ controllers: false });
    // The pod's ServiceAccount, which admission requires before validation.
    const account = rows.find(({ manifest }) => manifest.kind === "ServiceAccount");
    assert(account !== undefined);
    await send(account, account.manifest, "");
  });
  after(() => server.close());

  it("covers every kind that is stored by default", () => {
    assert(rows.length > 50, String(rows.length));
  });

  for (const row of rows) {
    const { apiVersion, kind } = row.manifest;
    it(`${apiVersion} ${kind}: every field rejects wrong values`, async () => {
      const random = seededRandom(`${seed} ${kind}`);
      const cases = sitesOf(row.struct).flatMap((site) =>
        wrongValuesFor(site.type).map((wrong) => ({ site, wrong })),
      );
      const drawn =
        cases.length <= perKind ? cases : Array.from({ length: perKind }, () => random.pick(cases));
      const faults: string[] = [];
      for (const { site, wrong } of drawn) {
        const fault = await faultAt(row, site, wrong);
        const value = JSON.stringify(wrong.value).slice(0, 40);
        if (fault !== undefined) faults.push(`${site.steps.join(".")} = ${value}: ${fault}`);
      }
      assert.deepEqual(faults, [], `seed ${seed}`);
    });

    it(`${apiVersion} ${kind}: reports unknown fields after wrong types, before wrong values`, async () => {
      const strict = "&fieldValidation=Strict";
      const unknown = { ...row.manifest, unknownField: 1 };
      const invalid = withValue(unknown, ["metadata", "name"], "a/b");
      const first = await create(row, invalid, strict);
      assert.equal(first.code, 400);
      assert.match(first.body.message, /strict decoding error: unknown field "unknownField"$/);
      const mistyped = withValue(unknown, ["metadata", "name"], 5);
      const second = await create(row, mistyped, strict);
      assert.equal(second.code, 400);
      assert.match(second.body.message, /cannot unmarshal number/);
      const allowed = await create(row, invalid, "&fieldValidation=Ignore");
      assert.equal(allowed.code, 422, allowed.body.message);
    });
  }
});
