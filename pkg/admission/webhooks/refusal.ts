import { type Status, type StatusCause, StatusError } from "#meta";

/** Rejection of a request by a webhook. */
export class WebhookRejection extends StatusError {}

/**
 * Status of a webhook's rejection. Takes only Status fields of its response, and is always a failure.
 */
export function webhookRejection(
  webhook: string,
  result: Readonly<Record<string, unknown>> = {},
  warnings: readonly string[],
): WebhookRejection {
  const { message, reason, code, details } = result;
  const denied = `admission webhook ${JSON.stringify(webhook)} denied the request`;
  const why = [message, reason].find((text) => typeof text === "string" && text !== "");
  const known = detailsOf(details);
  const status: Status = {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message: why === undefined ? `${denied} without explanation` : `${denied}: ${String(why)}`,
    ...(typeof reason === "string" && reason !== "" ? { reason } : {}),
    ...(known === undefined ? {} : { details: known }),
    code: isFailure(code) ? code : 400,
  };
  return new WebhookRejection(status, {}, warnings);
}

/** Whether a code is an HTTP error code. */
function isFailure(code: unknown): code is number {
  return typeof code === "number" && Number.isInteger(code) && code >= 400 && code <= 599;
}

function detailsOf(details: unknown): Status["details"] {
  if (typeof details !== "object" || details === null) return undefined;
  const { causes, retryAfterSeconds, ...texts } = details as Readonly<Record<string, unknown>>;
  const seconds =
    typeof retryAfterSeconds === "number" && Number.isInteger(retryAfterSeconds)
      ? { retryAfterSeconds }
      : {};
  return {
    ...textsIn(texts, ["name", "group", "kind", "uid"]),
    ...(Array.isArray(causes) ? { causes: causes.flatMap(causeOf) } : {}),
    ...seconds,
  };
}

function causeOf(cause: unknown): readonly StatusCause[] {
  if (typeof cause !== "object" || cause === null) return [];
  return [textsIn(cause as Readonly<Record<string, unknown>>, ["reason", "message", "field"])];
}

function textsIn(
  value: Readonly<Record<string, unknown>>,
  keys: readonly string[],
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    keys.flatMap((key) => {
      const text = value[key];
      return typeof text === "string" && text !== "" ? [[key, text] as const] : [];
    }),
  );
}
