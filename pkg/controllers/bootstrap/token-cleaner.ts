import { objectKey } from "#client";
import { secrets } from "#kinds";
import { ignoreNotFound } from "#meta";
import { expiryOf, tokenNamespace, tokenSecrets } from "./bootstrap-tokens.ts";
import { type ControllerContext, enqueueOnChange, newWorkQueue } from "../controller-context.ts";

/** Deletes the Secrets of expired bootstrap tokens. */
export async function runTokenCleaner(context: ControllerContext): Promise<void> {
  const { client, clock } = context;
  const queue = newWorkQueue(context, "token_cleaner");
  const tokens = tokenSecrets(context);
  enqueueOnChange(queue, tokens, ({ type, object }) =>
    type === "deleted" ? [] : [objectKey(object)],
  );
  await queue.run(async (key) => {
    const secret = tokens.get(key);
    if (secret === undefined) return;
    const { name, uid, resourceVersion } = secret.metadata;
    const left = expiryOf(secret) - clock.now();
    if (left === Infinity) return;
    if (left > 0) return queue.addAfter(key, Math.min(left, maxWaitMs));
    const preconditions = { uid, resourceVersion };
    const at = { namespace: tokenNamespace, name };
    await client.delete(secrets, at, { preconditions }).catch(ignoreNotFound);
  });
}

/** Timers are limited to 2^31-1 ms: later expirations are checked daily. */
const maxWaitMs = 86_400_000;
