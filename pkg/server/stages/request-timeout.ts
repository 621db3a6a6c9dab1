import { badRequest, parseDuration } from "#meta";
import { ScalarFault } from "#schema";

/**
 * Timeout of a request in ms: its `timeout` parameter (a Go duration), at most and by default
 * `maximum`.
 * @throws StatusError 400
 */
export function requestTimeout(parameter: string | undefined, maximum: number): number {
  if (parameter === undefined || parameter === "") return maximum;
  try {
    const milliseconds = Number(parseDuration(parameter) / 1_000_000n);
    return milliseconds <= 0 || milliseconds > maximum ? maximum : milliseconds;
  } catch (fault) {
    if (!(fault instanceof ScalarFault)) throw fault;
    throw badRequest(`invalid timeout specified in the request URL - ${fault.message}`);
  }
}
