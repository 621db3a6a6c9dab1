import { JsonTypeFault, TypedFields } from "#base";
import { WebhookFault } from "./client.ts";

/** The review that was sent. */
interface SentReview {
  readonly kind: string;
  readonly apiVersion: string;
}

/**
 * Decodes the status of a review that a webhook answered. Null is no answer, although Go would decode it as
 * an empty review.
 * @throws WebhookFault for an answer that is no such review, or has a field of another type
 */
export function decodeReviewStatus<T>(
  answer: unknown,
  { kind, apiVersion }: SentReview,
  decode: (status: TypedFields) => T,
): T {
  if (answer === null) {
    throw new WebhookFault(
      `json: cannot unmarshal null into Go value of type ${kind}`,
      undefined,
      false,
    );
  }
  try {
    const review = TypedFields.of(answer, kind);
    const version = review.text("apiVersion") || apiVersion;
    const name = review.text("kind") || kind;
    if (version !== apiVersion || name !== kind) {
      throw new JsonTypeFault(`no kind "${name}" is registered for version "${version}"`);
    }
    return decode(review.object("status"));
  } catch (error) {
    if (!(error instanceof JsonTypeFault)) throw error;
    throw new WebhookFault(error.message, undefined, false);
  }
}
