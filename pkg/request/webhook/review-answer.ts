import { isJsonObject, type JsonObject } from "#base";
import { WebhookFault } from "./client.ts";

/** The review that was sent. */
interface SentReview {
  readonly kind: string;
  readonly apiVersion: string;
}

/**
 * The status of a review that a webhook answered. Unknown fields are ignored, as in Kubernetes.
 * @throws WebhookFault for an answer that is no such review
 */
export function reviewStatus(answer: unknown, { kind, apiVersion }: SentReview): TypedFields {
  if (!isJsonObject(answer)) {
    throw undecodable(`cannot unmarshal ${jsonTypeOf(answer)} into Go value of type ${kind}`);
  }
  const review = new TypedFields(answer, kind);
  const version = review.text("apiVersion") || apiVersion;
  const name = review.text("kind") || kind;
  if (version !== apiVersion || name !== kind) {
    const message = `no kind "${name}" is registered for version "${version}"`;
    throw new WebhookFault(message, undefined, false);
  }
  return review.object("status");
}

/** Fields of an object, of which each has its type; absent and null ones have the zero value. */
export class TypedFields {
  constructor(
    private readonly values: JsonObject,
    private readonly path: string,
  ) {}

  boolean(key: string): boolean {
    const value = this.values[key] ?? false;
    if (typeof value !== "boolean") throw this.wrong(key, value, "bool");
    return value;
  }

  text(key: string): string {
    const value = this.values[key] ?? "";
    if (typeof value !== "string") throw this.wrong(key, value, "string");
    return value;
  }

  texts(key: string): readonly string[] {
    const value = this.values[key] ?? [];
    if (!Array.isArray(value)) throw this.wrong(key, value, "[]string");
    return value.map((each: unknown) => {
      if (typeof each !== "string" && each !== null) throw this.wrong(key, each, "string");
      return each ?? "";
    });
  }

  object(key: string): TypedFields {
    const value = this.values[key] ?? {};
    if (!isJsonObject(value)) throw this.wrong(key, value, "object");
    return new TypedFields(value, `${this.path}.${key}`);
  }

  keys(): readonly string[] {
    return Object.keys(this.values);
  }

  private wrong(key: string, value: unknown, type: string): WebhookFault {
    const field = `Go struct field ${this.path}.${key} of type ${type}`;
    return undecodable(`cannot unmarshal ${jsonTypeOf(value)} into ${field}`);
  }
}

function undecodable(message: string): WebhookFault {
  return new WebhookFault(`json: ${message}`, undefined, false);
}

function jsonTypeOf(value: unknown): string {
  if (value === null || value === undefined) return "null";
  if (Array.isArray(value)) return "array";
  return typeof value === "boolean" ? "bool" : typeof value;
}
