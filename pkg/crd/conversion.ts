import type { CustomResourceDefinition } from "#api";
import { heldDuring, isJsonObject, type JsonObject, randomUuid, TypedFields } from "#base";
import { type ObjectConversion, plainFailure, printJson, resolve } from "#meta";
import { serviceReader } from "#registry";
import { CallFault, callWebhook, noTracer, webhookPlace } from "#request";
import type { DefinitionOptions } from "./options.ts";
import { restoredMetadata } from "./converted-metadata.ts";

type Webhook = NonNullable<NonNullable<CustomResourceDefinition["spec"]["conversion"]>["webhook"]>;

/** The webhook conversion of the definition; undefined for strategy None. */
export function conversionOf(
  { spec }: CustomResourceDefinition,
  options: DefinitionOptions,
): ObjectConversion | undefined {
  const { strategy, webhook } = spec.conversion ?? {};
  if (strategy !== "Webhook" || webhook === undefined) return undefined;
  return new WebhookConversion(webhook, options);
}

const supportedReviewVersions = ["v1", "v1beta1"];
const timeoutMs = 30_000;

/** Converts objects by the definition's webhook and verifies its response. */
class WebhookConversion implements ObjectConversion {
  constructor(
    private readonly webhook: Webhook,
    private readonly options: DefinitionOptions,
  ) {}

  /** Sends only objects that do not have the desired version. */
  async convert(
    objects: readonly JsonObject[],
    apiVersion: string,
    signal: AbortSignal | undefined,
  ): Promise<readonly JsonObject[]> {
    const sent = objects.filter((object) => object["apiVersion"] !== apiVersion);
    const [first] = sent;
    if (first === undefined) return objects;
    const subject = `${String(first["apiVersion"])}, Kind=${String(first["kind"])}`;
    const converted = await this.#convertAll(sent, { apiVersion, subject, signal });
    let next = 0;
    return objects.map((object) =>
      object["apiVersion"] === apiVersion ? object : (converted[next++] as JsonObject),
    );
  }

  async #convertAll(
    objects: readonly JsonObject[],
    { apiVersion, subject, signal }: ConversionRequest,
  ): Promise<readonly JsonObject[]> {
    const prefix = `conversion webhook for ${subject}`;
    let converted: readonly unknown[];
    try {
      converted = await this.#call(objects, apiVersion, signal);
    } catch (error) {
      if (error instanceof Error && !signal?.aborted) {
        throw plainFailure(`${prefix} failed: ${error.message}`);
      }
      throw error;
    }
    if (converted.length !== objects.length) {
      const counts = `${converted.length} objects, expected ${objects.length}`;
      throw plainFailure(`${prefix} returned ${counts}`);
    }
    return objects.map((object, index) => {
      const place = objects.length === 1 ? undefined : index;
      return verifiedObject(object, converted[index], { prefix, index: place, apiVersion });
    });
  }

  /** Returns `response.convertedObjects`. @throws Error with the message for clients */
  async #call(
    objects: readonly JsonObject[],
    desiredAPIVersion: string,
    signal: AbortSignal | undefined,
  ): Promise<readonly unknown[]> {
    const versions = this.webhook.conversionReviewVersions ?? [];
    const version = versions.find((each) => supportedReviewVersions.includes(each));
    if (version === undefined) throw new CallFault("no supported conversion review versions");
    const group = resolve("apiextensions.{api}", this.options.catalog.domain);
    const typeMeta = { kind: "ConversionReview", apiVersion: `${group}/${version}` };
    const uid = randomUuid();
    const review = { ...typeMeta, request: { uid, desiredAPIVersion, objects } };
    const place = webhookPlace(this.webhook.clientConfig ?? {}, {
      reader: serviceReader(this.options),
      dialer: this.options.dialer,
    });
    const body = printJson(review);
    const { tracer = noTracer } = this.options;
    const { origin, pathname } = place.url;
    const attributes = { "http.request.method": "POST", "url.full": `${origin}${pathname}` };
    const call = async () =>
      tracer.call("webhook", attributes, (trace) =>
        callWebhook(place, { body, signal, timeoutMs, headers: trace }),
      );
    const response = await heldDuring(this.options.clock, "calls of conversion webhooks", call);
    return convertedObjects(response, { ...typeMeta, uid: version === "v1" ? uid : undefined });
  }
}

interface ConversionRequest {
  readonly apiVersion: string;
  /** Version and kind of the converted objects, for messages. */
  readonly subject: string;
  readonly signal: AbortSignal | undefined;
}

interface Expected {
  readonly kind: string;
  readonly apiVersion: string;
  /** Undefined for v1beta1, whose response need not repeat it. */
  readonly uid: string | undefined;
}

/** The converted objects of a ConversionReview. @throws CallFault or JsonTypeFault */
export function convertedObjects(review: unknown, expected: Expected): readonly unknown[] {
  if (!isJsonObject(review)) throw new CallFault("no response provided");
  checkTypeMeta(review, expected);
  const fields = TypedFields.of(review, expected.kind);
  if (!fields.has("response")) throw new CallFault("no response provided");
  const response = fields.object("response");
  const [uid, result] = [response.text("uid"), response.object("result")];
  const [status, message] = [result.text("status"), result.text("message")];
  const objects = response.list("convertedObjects");
  if (expected.uid !== undefined && uid !== expected.uid) {
    const got = JSON.stringify(uid);
    throw new CallFault(`expected response.uid=${JSON.stringify(expected.uid)}, got ${got}`);
  }
  if (status !== "Success") {
    throw new CallFault(message || `response.result.status was '${status}', not 'Success'`);
  }
  return objects;
}

/** @throws CallFault if the response is of another kind or version, of client-go's decoder if it knows it */
function checkTypeMeta(review: JsonObject, expected: Expected): void {
  const [kind, apiVersion] = [String(review["kind"] ?? ""), String(review["apiVersion"] ?? "")];
  if (kind === expected.kind && apiVersion === expected.apiVersion) return;
  // Kubernetes does not check a v1beta1 review, whose type may be absent.
  if (kind === "" && apiVersion === "" && expected.uid === undefined) return;
  const [group = "", wanted = ""] = expected.apiVersion.split("/");
  const version = supportedReviewVersions.find((each) => apiVersion === `${group}/${each}`);
  if (kind === expected.kind && version !== undefined) {
    const types = `(${version}.${kind}) to (${wanted}.${kind})`;
    throw new CallFault(`converting ${types}: unknown conversion`);
  }
  throw new CallFault(
    `expected webhook response of ${expected.apiVersion}, Kind=${expected.kind}, ` +
      `got ${apiVersion || "/"}, Kind=${kind}`,
  );
}

interface ConvertedObjectContext {
  readonly prefix: string;
  /** Index of the object; undefined if there is only one. */
  readonly index: number | undefined;
  readonly apiVersion: string;
}

/**
 * Verifies the converted object's version, kind, name, namespace and uid; returns it with the
 * original metadata.
 */
function verifiedObject(
  object: JsonObject,
  converted: unknown,
  place: ConvertedObjectContext,
): JsonObject {
  const { prefix, index, apiVersion } = place;
  const refuse = (why: string, alone = "object"): Error => {
    const what = index === undefined ? alone : `converted object at index ${index}`;
    return plainFailure(`${prefix} returned invalid ${what}: ${why}`);
  };
  if (!isUnstructured(converted)) {
    const why = decodeFault(converted);
    throw index === undefined ? plainFailure(why) : refuse(why);
  }
  for (const [field, what, expected] of [
    ["apiVersion", "groupVersion", apiVersion],
    ["kind", "kind", object["kind"]],
  ] as const) {
    if (converted[field] === expected) continue;
    const received = String(converted[field] ?? "");
    const why = `invalid ${what} (expected ${String(expected)}, received ${received})`;
    throw refuse(why, "object at index 0");
  }
  const [wanted, got] = [metadataOf(object), metadataOf(converted)];
  const same: readonly (readonly [string, unknown, unknown])[] = [
    ["name", wanted["name"], got["name"]],
    ["namespace", wanted["namespace"], got["namespace"]],
    ["UID", wanted["uid"], got["uid"]],
  ];
  for (const [what, before, after] of same) {
    if (before === after) continue;
    throw refuse(`must have the same ${what}: ${String(before ?? "")} != ${String(after ?? "")}`);
  }
  const restored = restoredMetadata(wanted, converted["metadata"]);
  if (typeof restored === "object") return { ...converted, metadata: restored };
  const where = index === undefined ? "" : ` in object at index ${index}`;
  throw plainFailure(`${prefix} returned invalid metadata${where}: ${restored}`);
}

function isUnstructured(value: unknown): value is JsonObject {
  if (!isJsonObject(value)) return false;
  const { kind, apiVersion = "" } = value;
  const isVersion = typeof apiVersion === "string" && apiVersion.split("/").length <= 2;
  return typeof kind === "string" && kind !== "" && isVersion;
}

/** The error of decoding a value as an unstructured object. */
function decodeFault(value: unknown): string {
  if (value === null || value === undefined) return "unexpected end of JSON input";
  if (isJsonObject(value)) return `Object 'Kind' is missing in '${printJson(value)}'`;
  const type = Array.isArray(value) ? "array" : typeof value === "boolean" ? "bool" : typeof value;
  return `json: cannot unmarshal ${type} into Go value of type map[string]interface {}`;
}

function metadataOf({ metadata }: JsonObject): JsonObject {
  return isJsonObject(metadata) ? metadata : {};
}
