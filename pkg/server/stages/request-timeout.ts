import { badRequest, parseDuration } from "#meta";
import { ScalarFault } from "#schema";

/**
 * Milliseconds for a request: what its `timeout` parameter says (a Go duration), at most and by
 * default
 * `longest`.
 * @throws StatusError 400
 */
export function requestTimeout(parameter: string | undefined, longest: number): number {
  if (parameter === undefined || parameter === "") return longest;
  try {
    const milliseconds = Number(parseDuration(parameter) / 1_000_000n);
    return milliseconds <= 0 || milliseconds > longest ? longest : milliseconds;
  } catch (fault) {
    if (!(fault instanceof ScalarFault)) throw fault;
    throw badRequest(`invalid timeout specified in the request URL - ${fault.message}`);
  }
}
